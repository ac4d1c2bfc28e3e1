/* SPDX-License-Identifier: Apache-2.0 */
/* A thread of a phase "replay" at work: it takes the rows of its list in their order, each when it
 * is due, and has a slot for each operation in flight. A slot whose key has an operation that must
 * end first waits in the line of that key. The thread owns all of it; nothing is allocated while it
 * works. */
#ifndef HAUL_WORKLOADS_REPLAY_WORK_H
#define HAUL_WORKLOADS_REPLAY_WORK_H

#include "core/content/pattern.h"
#include "workloads/common/slots.h"
#include "workloads/replay/replay.h"
#include "workloads/replay/rows.h"

struct replay_thread;

/* The bytes of one object that is read or written: made, or compared, while they pass through the
 * buffer of their request. They are a function of the seed and the key, so an object has the same
 * bytes in every tier. One thread. */
struct replay_content {
	struct pattern pattern; /* of the object */
	struct clock *clock;
	enum verify verify;
	uint64_t check_at, check_end; /* bytes of the object that are compared */
	bool wrong;
	uint64_t wrong_at; /* the first byte that differs */
	uint64_t fill_ns, verify_ns;
};

struct replay_slot {
	struct slot s; /* its link: in the line of its key; its live_id: the number of its row */
	struct replay_content content;
	struct object object;
	const struct replay_row *row;
	uint64_t part; /* bytes of a request at most */
};

/* What all threads of a rank share, read-only while they work. */
struct replay_work {
	const struct replay_options *options;
	struct replay_rows *rows;
	struct store *store;
	struct pattern pattern; /* without its key */
	uint64_t seed;
	bool content; /* the store keeps what is written */
	bool timed;   /* rows wait for their times */
	uint64_t start_ns;
	uint64_t until_ns; /* no operation begins from then on; 0: no limit */
	struct replay_thread *threads;
};

struct replay_thread {
	struct replay_work *work;
	struct crew_thread *member;
	struct replay_list *list;
	uint64_t next; /* its row that is taken up next */
	struct slots slots;
	uint64_t key, draws;

	/* Results. */
	struct {
		uint64_t count[TRACE_OPERATION_COUNT], bytes[TRACE_OPERATION_COUNT];
	} tiers[TRACE_TIERS];   /* of the operations that have ended well */
	uint64_t done, dropped; /* dropped: waited for their key when the phase ended */
	uint64_t waited, payload_errors;
};

/* Memory for a thread, buffers included. */
uint64_t replay_thread_bytes(const struct replay_options *o, bool content);
/* Bytes of a slot's buffer. */
uint64_t replay_buffer_bytes(const struct replay_options *o, const struct store *store);

int replay_thread_open(struct replay_thread *t, struct replay_work *work, struct crew_thread *w,
		       struct err *err);

/* A thread's whole work: the body of a crew that runs once. */
int replay_thread_run(struct crew_thread *w, uint64_t number);

/* operation.c: the bytes of another object, of whose key that is the hash; its times go on. And for
 * request.chunk of a write, with the content as request.user: makes them. */
void replay_content_begin(struct replay_content *c, const struct pattern *pattern, uint64_t seed,
			  uint64_t hash);
int replay_content_fill(struct request *req, uint64_t offset, void *data, uint64_t length);

/* operation.c: begins the operation of a slot; goes on with it when its request has come back, and
 * returns whether it has ended, well unless the slot says that it failed. */
void replay_operation_begin(struct replay_thread *t, struct replay_slot *slot);
bool replay_operation_step(struct replay_thread *t, struct replay_slot *slot);

/* make.c: makes the objects that are read before they are written. Collective. *stopped tells why
 * it ended early. A store that keeps no content is asked for nothing. */
int replay_make(struct replay_work *work, struct phase_context *ctx, enum stop_reason *stopped,
		struct err *err);

/* phase.c */
extern const struct meter_layout replay_meter;

#endif
