/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of an entry that an I/O thread moves: stat, open, begin, its pieces, close, commit, delete. Each but that of the pieces is
 * one request. transfer.c has the loop. All functions are the I/O thread's. */
#ifndef HAUL_WORKLOADS_KVCACHE_STAGES_H
#define HAUL_WORKLOADS_KVCACHE_STAGES_H

#include "workloads/kvcache/pieces.h"

/* The first stage that applies to a transfer; and the next one. */
void kv_stage_first(const struct kv_worker *w, struct kv_transfer *t);
void kv_transfer_advance(const struct kv_worker *w, struct kv_transfer *t);
/* Asks for what its stage is about. A store that answers at once needs no window; else one must be free. */
void kv_stage_ask(struct kv_worker *w, struct kv_transfer *t);
/* The request of a stage has been answered. */
void kv_stage_answered(struct kv_worker *w, struct kv_transfer *t, const struct queue *q,
		       const struct request *req);

#endif
