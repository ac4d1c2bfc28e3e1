/* SPDX-License-Identifier: Apache-2.0 */
/* Test rig: a store, opened from options as in a job. */
#ifndef HAUL_TESTS_BACKENDS_RIG_H
#define HAUL_TESTS_BACKENDS_RIG_H

#include "backends/queue/queue.h"
#include "core/arena.h"

struct rig {
	struct arena arena;
	struct job_store described;
	struct clock *clock, own_clock; /* fake, at 1 s, unless the caller gives one */
	struct log log;
	struct rank_place place;
	struct group *all, *node; /* the groups that open the store, or NULL */
	uint64_t seed;
	bool constant;
	const struct stop *stop;       /* NULL: nobody asks for one */
	struct store_process *process; /* NULL: nothing is kept */
	struct store store;
	struct err err;
};

/* Sets every member to zero. The caller may set members between rig_init and rig_open. */
void rig_init(struct rig *r);

/* Opens the store whose JSON object is json ({"uri": "sim://x", …}), and returns what parsing or
 * opening returned. If there is a group `node`, the store's memory on the node is reserved first;
 * the caller frees the list by node_blocks_free. */
int rig_open(struct rig *r, const char *json);
void rig_close(struct rig *r);

/* Does one request on a queue and returns its status. */
int rig_do(struct queue *q, struct object *o, enum request_op op, uint64_t offset, uint64_t length,
	   void *data, uint64_t *done_bytes);

/* rig_put makes an object of these bytes by begin, one write and commit; rig_get reads it whole. */
int rig_put(struct queue *q, const char *key, const void *data, uint64_t length);
int rig_get(struct queue *q, const char *key, void *data, uint64_t length);

/* Histograms for all kinds of requests of a queue. They take about 900 KB, so they are static or on
 * the heap. */
struct rig_latency {
	struct hist service[REQ_OPS], response[REQ_OPS], retried[REQ_OPS], first[REQ_OPS];
};
/* Clears l, and from now on records the latencies of q there. */
void rig_record(struct queue *q, struct rig_latency *l);
/* The histograms of op in l. */
struct queue_latency rig_latency_of(struct rig_latency *l, enum request_op op);

#endif
