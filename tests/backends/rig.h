/* A store as a job would describe it, opened for a test. */
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
	struct group *all, *node; /* NULL, or the groups that open it */
	uint64_t seed;
	struct store store;
	struct err err;
};

/* Every member zero or as the caller sets it between rig_init and rig_open. */
void rig_init(struct rig *r);

/* json: the store's object ({"uri": "sim://x", …}). Returns what parsing or opening returned. Where
 * there is a group `node`, the store's memory on the node is reserved first; the caller frees the
 * list by node_blocks_free. */
int rig_open(struct rig *r, const char *json);
void rig_close(struct rig *r);

/* One request done on a queue; returns its status. */
int rig_do(struct queue *q, struct object *o, enum request_op op, uint64_t offset, uint64_t length,
	   void *data, uint64_t *done_bytes);

/* Puts an object with these bytes, by begin, one write, commit; and reads it whole. */
int rig_put(struct queue *q, const char *key, const void *data, uint64_t length);
int rig_get(struct queue *q, const char *key, void *data, uint64_t length);

/* Histograms for all kinds of requests of a queue. About 900 KB: static or on the heap. */
struct rig_latency {
	struct hist service[REQ_OPS], response[REQ_OPS], retried[REQ_OPS], first[REQ_OPS];
};
/* Clears l, and keeps the latencies of q there from now on. */
void rig_record(struct queue *q, struct rig_latency *l);
/* Where l has those of op. */
struct queue_latency rig_latency_of(struct rig_latency *l, enum request_op op);

#endif
