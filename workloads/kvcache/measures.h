/* SPDX-License-Identifier: Apache-2.0 */
/* From the main thread of a phase "kvcache" to its tally. */
#ifndef HAUL_WORKLOADS_KVCACHE_MEASURES_H
#define HAUL_WORKLOADS_KVCACHE_MEASURES_H

#include "workloads/kvcache/run.h"

int kv_measure_begin(struct kv_run *r, struct err *err);

/* An operation has ended; times NULL: nothing was done for it. at_once: no thread did it, so it
 * took its time on a bus, if any. */
void kv_measure_operation(struct kv_run *r, const struct kv_operation *op,
			  const struct kv_times *times);
void kv_measure_at_once(struct kv_run *r, const struct kv_operation *op);
/* The step of a request was a read, and the entry was there or not; and a request has been
 * served. */
void kv_measure_found(struct kv_run *r, struct kv_served *s, bool hit);
void kv_measure_request(struct kv_run *r, const struct kv_served *s);

/* Adds what the main thread has counted elsewhere than in the tally of the phase. run: struct
 * kv_run. */
void kv_measure_own(void *run, struct tally *t);
/* Sets the wall time and the accounts, as they are now. */
void kv_measure_time(void *run, struct tally *t);
/* Adds what a thread has counted beside its meter. */
void kv_measure_thread(const struct crew_thread *w, struct tally *t);

#endif
