/* SPDX-License-Identifier: Apache-2.0 */
/* A phase "load" while it runs: what phase.c and read.c share. */
#ifndef HAUL_WORKLOADS_LOAD_RUN_H
#define HAUL_WORKLOADS_LOAD_RUN_H

#include "core/buffers.h"
#include "core/group/group.h"
#include "workloads/archive/published.h"
#include "workloads/common/cold.h"
#include "workloads/common/crew.h"
#include "workloads/common/piece_reader.h"
#include "workloads/common/repeat.h"
#include "workloads/load/hand.h"
#include "workloads/load/header.h"
#include "workloads/load/load.h"

/* Files of a model: their names, from model.safetensors.index.json in the model's folder or, where
 * there is no index, all *.safetensors of the folder, sorted. Belongs to the main thread; read-only
 * after load_names_find. */
struct load_names {
	uint64_t count;
	const char **names; /* [count], in text */
	struct safetensors_names
		*tensors;             /* [count]: those that the index names; none: it names none */
	struct safetensors_names all; /* of the tensors of all files, as far as an index tells */
	char *text;
};

/* Rank 0 finds them and broadcasts them; q is its queue. What the index or the store says is not
 * trusted: no name leads out of the folder or is too long. Collective. Call load_names_free also
 * after an error. */
int load_names_find(struct load_names *out, struct queue *q, const char *folder,
		    struct group *group, struct err *err);
void load_names_free(struct load_names *n);

/* Whether file i is one that the rank of that number loads, where each has files of its own:
 * "model-rank-3-part-0.safetensors". */
bool load_names_own(const struct load_names *n, uint64_t i, uint64_t rank);
/* Whether the parts of a rank's files, which count from 0, lack one; *part: which. */
bool load_names_lack(const struct load_names *n, uint64_t rank, uint64_t *part);

/* The files of a model that no store has: as it is published. */
int load_names_published(struct load_names *out, const struct published *p, struct err *err);

/* The key of file i. */
void load_names_key(const struct load_names *n, const char *folder, uint64_t i,
		    char key[OBJECT_KEY_BYTES]);

struct load_member {
	struct piece_reader pieces;
	_Atomic uint64_t
		own_piece; /* of a thread that reads files by itself: see piece_reader.next */
	/* Of the load at work. */
	struct load_header_cost cost;
	uint64_t request_ns; /* in opens and closes, beside those of headers */
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
	const struct load_pattern *pattern;
	const struct job_store *described;
	struct job_store
		direct; /* the same store without the page cache, where the pattern goes so */
	struct arena arena;
	struct store store;
	struct queue
		side; /* for what is not the phase's own work: names, looking at what is cached */
	struct crew crew;
	struct repeat repeat;
	struct cold cold;
	struct load_rule rule;
	uint64_t sharers, sharer; /* ranks that share a model, and which of them this one is */
	struct load_hand hand;
	struct load_names names;
	struct buffers ring;
	uint32_t pieces; /* of a thread, all in flight */
	uint64_t window_bytes;
	struct load_member *members; /* [crew.threads] */
	/* Of the load at work. A file's header belongs to the thread that took its number, until
	 * all have met. */
	struct load_header *headers; /* [names.count] */
	_Atomic uint64_t next_header, next_piece, next_ahead;
	_Atomic bool ready; /* all tensors are loaded: nobody needs to read ahead */
	/* [names.count], shared by the ranks of the node on a store that is a model: bytes of each
	 * file that have been read ahead, which are in the node's page cache. NULL: a kernel has one. */
	_Atomic uint64_t *cached;
	struct load_meeting meeting;
	uint64_t number;
	bool known; /* headers are those of the load before, or of the model: none are read */
	bool modelled; /* the store keeps no content: reads of headers are requests, whatever they bring */
	bool dropped; /* caches, once for the phase */
};

/* What a thread has counted in a load. */
enum load_count {
	LOAD_COUNT_BYTES,
	LOAD_COUNT_HEADER_BYTES,
	LOAD_COUNT_STORE_BYTES,
	LOAD_COUNT_NEEDED_BYTES,
	LOAD_COUNT_MODEL_BYTES,
	LOAD_COUNT_FAULTS
};

/* read.c: memory of the threads; before each load; and the body of the crew. */
int load_readers_open(struct load_run *r, struct err *err);
void load_readers_close(struct load_run *r); /* keeps the headers */
void load_headers_free(struct load_run *r);
void load_readers_reset(struct load_run *r);
int load_thread(struct crew_thread *w, uint64_t thread);

/* server.c: what servers would do here, after a load; and what to type to have them do what was done. */
void load_servers_say(struct load_run *r);

#endif
