/* SPDX-License-Identifier: Apache-2.0 */
/* This rank's shard of an operation, which is all of it where the rank is alone.
 *
 * What several ranks of a tensor group hold is in a store once. So for a rank that is not the first
 * of them, a store is nowhere, unless it reads: it does not write there, and does not delete. What
 * moves from a store into its memory is then made, as if it came from the rank that reads it. */
#ifndef HAUL_WORKLOADS_KVCACHE_SHARD_H
#define HAUL_WORKLOADS_KVCACHE_SHARD_H

#include "workloads/kvcache/run.h"

/* An operation with the bytes of this rank's shard. */
struct kv_operation kv_shard_of(const struct kv_run *r, const struct kv_operation *op);
/* Whether an I/O thread has something to do for it. */
bool kv_shard_needs_thread(const struct kv_run *r, const struct kv_operation *op);
/* Gives a task to the I/O thread with the fewest; one must have room. Returns false where there is
 * nothing to do. */
bool kv_shard_give(struct kv_run *r, const struct kv_task *task);
/* The shard of an operation is done: what leaves this rank's memory is gone. */
void kv_shard_done(struct kv_run *r, const struct kv_operation *what);

/* Takes the answers of I/O threads. Those of a rank that is alone end their operations, which
 * `ended` is told (it may be NULL); those of a tensor group are answered on its board. */
typedef void kv_shard_ended(struct kv_run *r, struct kv_operation *op, bool failed);
void kv_shard_collect(struct kv_run *r, kv_shard_ended *ended);

/* A rank that follows: does its shards of what the leader has posted. */
void kv_shard_follow(struct kv_run *r);

#endif
