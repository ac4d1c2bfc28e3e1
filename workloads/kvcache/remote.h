/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a shared tier's directory that are on other nodes (tiers/shared.h): what this rank asks
 * of them, and what it answers.
 *
 *	tiers ──► question ──► unsent ──► sent ─ ─ ─ ─ ─ ─► rank of the other node: asks its part
 *	tiers ◄── answer ◄─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─┘
 *
 * On each other node, a rank asks the one that has the same place there as it has on its own, so
 * that all main threads answer alike, and all that a rank says of an entry arrives in order.
 * Nobody waits for an answer: the request's step waits as it does for I/O. Nobody waits for room
 * either: a question that cannot be posted stays where it is, and whoever cannot post an answer
 * takes no more questions until it can. Answers are always taken, so in the end each can be
 * posted. */
#ifndef HAUL_WORKLOADS_KVCACHE_REMOTE_H
#define HAUL_WORKLOADS_KVCACHE_REMOTE_H

#include "workloads/kvcache/run.h"

/* Finds the parts of the directory, and whom to ask; after kv_part_open_servers. */
int kv_remote_open(struct kv_run *r, struct err *err);
void kv_remote_close(struct kv_run *r);

/* Asks the part of another node that knows the entry. Returns 0 or -ENOMEM. */
int kv_remote_ask(struct kv_remote *m, const struct kv_asked *asked);
/* The question that has been answered is asked again, behind the others; or is done with. One of
 * the two for each answer. */
void kv_remote_ask_again(struct kv_remote *m, struct kv_asked *asked);
void kv_remote_done(struct kv_remote *m, struct kv_asked *asked);

/* Takes answers, which it hands on, and answers the questions of other ranks; all of it is done at
 * once. */
typedef void kv_remote_answered(struct kv_run *r, struct kv_asked *asked,
				const struct kv_answer *answer);
void kv_remote_poll(struct kv_run *r, kv_remote_answered *answered);
/* When to look again; UINT64_MAX: there is nobody. */
uint64_t kv_remote_due(const struct kv_run *r);

/* Whether all ranks are drained, and have no question that has not been answered; until then, this
 * one must answer. All ranks call it again and again until it returns true, and go on with
 * kv_remote_poll meanwhile. A rank that is drained stays so. */
bool kv_remote_settled(struct kv_run *r, bool drained);

#endif
