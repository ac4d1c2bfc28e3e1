/* A phase "load" while it runs: what phase.c and read.c share. */
#ifndef HAUL_WORKLOADS_LOAD_RUN_H
#define HAUL_WORKLOADS_LOAD_RUN_H

#include "core/buffers.h"
#include "workloads/common/crew.h"
#include "workloads/common/piece_reader.h"
#include "workloads/common/repeat.h"
#include "workloads/common/residency.h"
#include "workloads/load/columns.h"
#include "workloads/load/files.h"
#include "workloads/load/hand.h"
#include "workloads/load/header.h"
#include "workloads/load/load.h"

struct load_member {
	struct piece_reader pieces;
	/* Of the load at work. */
	struct load_header_cost cost;
	uint64_t hand_ns, handed_bytes;
};

/* Where the threads of a rank meet when all headers are read. The lock guards what is below it. */
struct load_meeting {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t arrived;
	uint64_t headers_ns; /* when the last of them came */
};

struct load_run {
	struct phase_context *ctx;
	const struct load_options *options;
	const struct job_store *described;
	struct store store;
	struct queue
		side; /* for what is not the phase's own work: names, looking at what is cached */
	struct crew crew;
	struct repeat repeat;
	struct cold cold;
	struct load_part part;
	struct load_hand hand;
	struct load_names names;
	struct buffers ring;
	uint32_t pieces; /* of a thread, all in flight */
	uint64_t window_bytes;
	struct load_member *members; /* [crew.threads] */
	/* Of the load at work. A file's header belongs to the thread that took its number, until all have met. */
	struct load_header *headers; /* [names.count] */
	_Atomic uint64_t next_header, next_piece;
	struct load_meeting meeting;
	uint64_t number;
	bool known;   /* headers are those of the load before: none are read */
	bool dropped; /* caches, once for the phase */
};

/* What a thread has counted in a load. */
enum load_count { LOAD_COUNT_BYTES, LOAD_COUNT_HEADER_BYTES };

/* read.c: memory of the threads; before each load; and the body of the crew. */
int load_readers_open(struct load_run *r, struct err *err);
void load_readers_close(struct load_run *r); /* keeps the headers */
void load_headers_free(struct load_run *r);
void load_readers_reset(struct load_run *r);
int load_thread(struct crew_thread *w, uint64_t thread);

/* cold.c: before a load, in none of its times: drops the model from the page cache where the job asks for it, and looks
 * how much of it is there. Collective. */
int load_cold_before(struct load_run *r, struct err *err);

#endif
