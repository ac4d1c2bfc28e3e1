/* The main thread of a phase "kvcache". It wakes when a user is due, an answer has come, an operation or a generation ends, or its
 * status round must be looked at; and never waits for storage. */
#ifndef HAUL_WORKLOADS_KVCACHE_LOOP_H
#define HAUL_WORKLOADS_KVCACHE_LOOP_H

#include "core/stop.h"

struct err;
struct kv_run;

/* Writes what is there before the first request. Not collective. */
int kv_fill(struct kv_run *r, struct err *err);
/* From the first request to the last answer. Collective. */
int kv_loop(struct kv_run *r, enum stop_reason *stopped);

#endif
