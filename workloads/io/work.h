/* SPDX-License-Identifier: Apache-2.0 */
/* A thread of an io phase at work: a slot for each operation in flight, which sends one request
 * after the other (open, read, close). The thread owns all of it; nothing is allocated while it
 * works. The loop is that of common/slots.h; what operations do is in data.c, names.c and whole.c,
 * one table of hooks each. */
#ifndef HAUL_WORKLOADS_IO_WORK_H
#define HAUL_WORKLOADS_IO_WORK_H

#include "core/content/pattern.h"
#include "workloads/common/cold.h"
#include "workloads/common/meter.h"
#include "workloads/common/options.h"
#include "workloads/common/slots.h"
#include "workloads/io/mix.h"
#include "workloads/io/share.h"

struct io_thread;
struct io_handle;

/* Names and what goes with them: of operations on names and on whole objects. */
struct io_name {
	struct object object;
	char target[OBJECT_KEY_BYTES];
	struct listing listing;
	uint64_t entries;
	struct request_key *keys; /* [batch] of a delete of several; NULL: of one */
};

struct io_slot {
	struct slot s; /* its link: in the line of a handle; its live_id: the object */
	struct io_handle *handle;
	struct io_item item;
	uint64_t number; /* of the operation, from 0 */
	uint64_t moved;  /* its bytes, by the share of each request's time after the warm-up */
	bool writes;
	struct io_name *name;    /* NULL where an operation is a block */
	struct io_mix_turn turn; /* of a mix of whole objects */
};

enum io_handle_state { HANDLE_CLOSED, HANDLE_BUSY, HANDLE_OPEN };

/* Handle: an open object. Slots that want it while it is being opened or closed, or while another
 * object is in use in its place, wait in line. */
struct io_handle {
	struct object object;
	uint64_t number; /* of the object */
	uint64_t bytes;  /* written, where it is written whole */
	uint32_t users;
	enum io_handle_state state;
	bool last;           /* nothing more of it will be asked for: closed after its last user */
	struct list waiting; /* slots */
};

/* What all threads of a rank share, read-only while they work. */
struct io_work {
	const struct io_options *options;
	const struct io_set *set;
	struct store *store;
	struct pattern pattern;
	bool whole;   /* operations are whole objects: io_whole */
	bool content; /* the store keeps what is written */
	bool strict; /* ... and can tell that an object is missing, and all objects of the set exist */
	bool in_place; /* writes go into objects that exist */
	bool shared; /* all threads of all ranks write the version that is open in their handles */
	uint64_t objects;           /* of the pattern: of a rank, or 0 where one is shared */
	uint64_t start_ns;          /* of the phase */
	struct slots_warmup warmup; /* what is counted begins at its end */
	uint64_t until_ns;          /* no operation begins from then on; 0: no limit */
	/* For measures: when the first thread of any rank had done its part, from the end of the warm-up on;
	 * UINT64_MAX: none has. Set while no thread works. */
	uint64_t first_ns;
	struct io_thread *threads;
};

/* What the operations of a phase do: on blocks, on names, or on whole objects, of which a mix has
 * some on names. */
typedef void io_step(struct io_thread *t, struct io_slot *slot);
struct io_operations {
	io_step *begin;        /* the slot has its item, its number, and whether it writes */
	io_step *const *steps; /* [slot->s.step], when the slot's request has been answered */
	/* At rest: closes what is still open. A negative errno with member->err. NULL: nothing
	 * is. */
	int (*end)(struct io_thread *t);
};
extern const struct io_operations io_block_operations, io_name_operations, io_object_operations;

struct io_thread {
	struct io_work *work;
	struct crew_thread *member;
	const struct io_operations *operations;
	struct io_share share;
	struct io_mix mix; /* of a mixed phase on whole objects */
	struct pace pace;
	uint64_t limit;       /* operations at most */
	uint64_t mixed_below; /* a draw below reads */
	uint64_t key;

	struct slots slots;
	struct io_name *names;
	struct request_key *keys; /* [depth * batch], of all names; NULL: deletes of one */
	struct io_handle *handles;
	uint32_t handle_count;

	uint64_t issued, issued_bytes; /* bytes: of whole objects */
	bool working;                  /* within io_thread_run */

	struct residency residency; /* its counts: warm-up included */

	/* Results. Times count from the end of the warm-up. */
	struct done_series series;
	struct done_series *moved; /* bytes by when, where operations differ in size; else NULL */
	uint64_t done_parts, done_bytes, first_failed,
		warmup_operations; /* parts: core/measure/window.h */
	uint64_t done;
	uint64_t gets, puts;
	uint64_t mark_ns, end_ns; /* its part done, or its time over; at rest for good */
	uint64_t payload_errors, absent, entries, fill_ns, verify_ns;
};

/* Drops what a thread counted that ended within its warm-up. */
void io_thread_drop(void *thread);

/* Memory for a thread, buffers included. */
uint64_t io_thread_bytes(const struct io_options *o, bool whole, bool content);
/* Bytes of a slot's buffer, and of a thread's. */
uint64_t io_buffer_bytes(const struct io_options *o, const struct store *store);

int io_thread_open(struct io_thread *t, struct io_work *work, struct crew_thread *w,
		   struct err *err);
void io_thread_close(struct io_thread *t);

/* A thread's whole work: the body of a crew that runs once. Called again after a time limit it goes
 * on to t->limit. */
int io_thread_run(struct crew_thread *w, uint64_t number);

/* measures.c. Where the requests of such a phase are counted. */
const struct meter_layout *io_meter(const struct io_options *o);
/* Adds what a thread has counted beside its meter: once it rests, or by itself. */
void io_count_thread(const struct crew_thread *w, struct tally *t);
/* Adds what this rank's threads have done, once they rest. first_ns: when the first thread of any
 * rank had done its part. */
void io_measure(const struct crew *crew, struct io_work *work, uint64_t first_ns, struct tally *t);
/* What of the phase's measures no thread counts, while they work. */
void io_measure_so_far(void *work, struct tally *t);

/* For data.c, names.c and whole.c. */

/* Sends the slot's request with the next ones; when it is answered the slot's step goes on. */
static inline void io_send(struct io_thread *t, struct io_slot *slot, uint32_t step)
{
	slots_send(&t->slots, &slot->s, step);
}
/* One more operation starts with the slot's, which has begun: its item, its number, its turn. */
void io_take(struct io_thread *t, struct io_slot *slot, struct io_item *item);
/* The operation has ended, well where rc is 0, and the slot is free. text NULL: what the answer
 * says. */
void io_end(struct io_thread *t, struct io_slot *slot, int rc, const char *text);
/* The same in parts: it ended well, or it failed, and the slot has something to do yet; now it is
 * free. */
void io_count(struct io_thread *t, struct io_slot *slot);
/* Whether the operation, which has ended, is one of the window that is measured; and what of the amount of its request is, which has
 * been answered (core/measure/window.h). */
bool io_measured(const struct io_thread *t, const struct io_slot *slot);
uint64_t io_inside(const struct io_thread *t, const struct io_slot *slot, uint64_t amount);
void io_fails(struct io_thread *t, struct io_slot *slot, int rc, const char *text);
void io_let_go(struct io_thread *t, struct io_slot *slot);

/* data.c. The object of all, begun by shared_object_begin: from here on it is open, and not the
 * thread's to close. */
void io_data_share(struct io_thread *t, const struct object *object);
/* Makes the bytes of the slot's write. */
void io_data_fill(struct io_thread *t, struct io_slot *slot);
/* A block has moved, an object is closed: whether all of it is as it should be; else text says why
 * not. */
int io_data_check(struct io_thread *t, struct io_slot *slot, char text[FAILURE_TEXT_BYTES]);
int io_data_check_closed(struct io_thread *t, const struct request *req,
			 char text[FAILURE_TEXT_BYTES]);

/* cold.c: reads from the storage and not from this client's page cache. */
/* Before the work: drops the objects that this rank will read, those of rank `from`; or all of the
 * set, which the ranks of each node share. How long it took, and how much stayed, go to row.
 * Collective, main thread. */
int io_cold_drop(struct cold *c, const struct io_set *set, const struct store *store, uint64_t from,
		 uint64_t *row, struct err *err);

/* The slot's object has just been opened; its block is about to be read. For the thread. */
void io_cold_opened(struct io_thread *t, const struct io_slot *slot);
void io_cold_reads(struct io_thread *t, const struct io_slot *slot);

/* names.c. A stat or delete has been answered. */
void io_names_answered(struct io_thread *t, struct io_slot *slot);
/* Asks for the next page of the rank's folder; it is an operation of its own. */
void io_names_list(struct io_thread *t, struct io_slot *slot, uint32_t step);
void io_names_listed_page(struct io_thread *t, struct io_slot *slot);

#endif
