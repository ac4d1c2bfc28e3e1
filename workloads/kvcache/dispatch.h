/* SPDX-License-Identifier: Apache-2.0 */
/* What the tiers decide, as operations for the I/O threads, and for the other ranks of a tensor
 * group.
 *
 *	event of the tiers ──► operation ──► may begin ──► an I/O thread ────► answer ──► next step of the request
 *	                                       ├─ board ──► other ranks ──► last one ─┤
 *	                                       └─ nothing to do for it (an accelerator's memory) ─┘   after its time on a bus
 *
 * The tiers note their events and questions (struct kv_decisions). Whoever has called them then
 * calls kv_dispatch_decided, which makes a chain of operations of the events and asks the
 * questions, in the order in which they were noted.
 *
 * When the phase is over, what has not begun is dropped: entries are neither read nor written, and
 * what was to be moved is only deleted, so that nothing stays in a store that its tier does not
 * know. */
#ifndef HAUL_WORKLOADS_KVCACHE_DISPATCH_H
#define HAUL_WORKLOADS_KVCACHE_DISPATCH_H

#include "workloads/kvcache/run.h"

int kv_dispatch_open(struct kv_run *r, struct err *err);
void kv_dispatch_close(struct kv_run *r);

/* For kv_tiers: an event, and a question to the part of another node. decisions: struct
 * kv_decisions. */
void kv_decisions_event(void *decisions, const struct kv_event *e);
int kv_decisions_ask(void *decisions, const struct kv_question *q);

/* After each call of kv_tiers that decides: makes operations of what was noted, for the request
 * that asked; NULL: for none. */
void kv_dispatch_decided(struct kv_run *r, struct kv_served *owner);

/* Takes the answers of I/O threads and of the other ranks of the group; those of other nodes, and
 * their questions; and gives what may begin. */
void kv_dispatch_collect(struct kv_run *r);
void kv_dispatch_poll(struct kv_run *r);
void kv_dispatch(struct kv_run *r);
/* When an operation ends that no I/O thread does; UINT64_MAX: none does, or there is no room to
 * tell other ranks of it. */
uint64_t kv_dispatch_due(const struct kv_run *r);

#endif
