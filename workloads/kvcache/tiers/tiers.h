/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers of a key-value cache: which entries are in which tier, and what moves when one is written, read or deleted.
 *
 * Nothing is moved here. Each decision is told to the owner by an event, and is in effect at once: the next decision does not
 * wait for the I/O of the last one. The same calls give the same events.
 *
 * Tier 0 is the fastest. An entry is written to the first tier that can make room. To make room, a tier demotes its oldest
 * entries to the next one, which may have to make room first; the last tier deletes its oldest. An entry keeps its age
 * when it is demoted. Tier k has a list per tier j <= k, with the entries that were last used in j:
 *
 *	tier 0   list 0,0   used in 0
 *	tier 1   list 1,0   demoted from list 0,0      list 1,1   used in 1
 *	tier 2   list 2,0   demoted from list 1,0      list 2,1   …          list 2,2   used in 2
 *
 * What is used is appended to its list, as the youngest of all. A list loses its oldest to the list below it, later ones
 * after earlier ones. So each list is sorted by age, and the oldest entry of a tier is at the head of one of its lists.
 *
 * The last tier may be one that other servers use, too (shared.h). Its entries are in the directory and not here, and
 *
 * - what comes into it, or is read there, is its youngest entry, since servers do not know each other's ages;
 * - what is promoted from it leaves a copy for the others, whatever the policy;
 * - an entry that is there, or is coming, is not written again: whoever wants to move it there only deletes its own;
 * - an entry that is just being deleted there cannot be moved there: it is deleted, and counts as rejected;
 * - an entry that others use is not deleted, and will be the first to be evicted.
 *
 * The directory may be divided among nodes (shared.h). What the part of another node must say is asked by `ask`, and the decision
 * goes on when the answer comes, with kv_tiers_answered. Other decisions may be made meanwhile. An entry that is to move there has
 * left its tier when it is asked for. Its event says so; if the answer is no, it is only deleted where it was.
 *
 * Ratios are resolved into whole bytes by kv_tiers_init; no decision computes with floating point. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_TIERS_H
#define HAUL_WORKLOADS_KVCACHE_TIERS_H

#include <stdbool.h>

#include "workloads/kvcache/tiers/entries.h"
#include "workloads/kvcache/tiers/policy.h"
#include "workloads/kvcache/tiers/shared.h"

enum kv_event_kind {
	KV_EVENT_WRITE,  /* into tier `to` */
	KV_EVENT_READ,   /* from tier `from` */
	KV_EVENT_DEMOTE, /* read from `from`, written to `to`, deleted from `from`; see asks */
	KV_EVENT_PROMOTE, /* after its read from `from`: written to `to`; with KV_WRITE_MOVE deleted from `from`, unless
			   * that is the shared tier */
	KV_EVENT_EVICT, /* deleted from `from` to make room */
	KV_EVENT_DELETE /* deleted from `from` as asked for */
};
struct kv_event {
	enum kv_event_kind kind;
	uint32_t from, to;
	uint64_t bytes;
	struct kv_id id;
	bool asks; /* KV_EVENT_DEMOTE: nothing may be done before the question has been answered that is asked next */
};

/* Counts of a tier; bytes beside each. */
enum kv_count {
	KV_COUNT_WRITE,
	KV_COUNT_READ,
	KV_COUNT_DEMOTED_IN,
	KV_COUNT_DEMOTED_OUT,
	KV_COUNT_PROMOTED, /* into the tier */
	KV_COUNT_EVICTED,
	KV_COUNT_DELETED,
	KV_COUNT_REJECTED, /* not admitted yet, or just being deleted from a shared tier */
	KV_COUNTS
};
struct kv_tier_counts {
	uint64_t count[KV_COUNTS], bytes[KV_COUNTS];
	uint64_t entries, used, used_most; /* 0 for a shared tier: its directory knows */
};

struct kv_list {
	uint32_t oldest, youngest;
};

struct kv_tier {
	struct kv_tier_rules rules;
	struct kv_limits limits;
	struct kv_list lists[KV_TIERS_MAX]; /* by home */
	struct kv_tier_counts counts;
};

struct kv_tiers {
	struct kv_policy policy;
	struct kv_entries entries;
	struct kv_sketch sketch; /* counters NULL: nothing asks for it */
	uint64_t age;
	uint32_t count;
	uint32_t own; /* tiers that are not shared: the first ones */
	struct kv_shared *
		shared; /* the directory of the last tier, or this node's part of it; NULL: it is not shared */
	uint32_t server;      /* who this is there */
	uint32_t parts, part; /* of the directory: how many there are, and which one is `shared` */
	uint32_t pinned;      /* the entry that is being promoted: no victim; KV_NONE */
	struct kv_tier tier[KV_TIERS_MAX];
	uint64_t hits, misses;
	uint64_t present; /* writes of entries that were there already */
	uint64_t refused; /* entries that no tier took */
	void (*event)(void *argument, const struct kv_event *e); /* NULL: nobody asks */
	/* Asks the part of another node, which is not waited for. Returns 0 or -ENOMEM. Only where
	 * there are several parts. */
	int (*ask)(void *argument, const struct kv_question *q);
	void *argument;
};

/* rules: [count], fastest first. Returns 0 or -ENOMEM; kv_tiers_free is allowed then, too. */
int kv_tiers_init(struct kv_tiers *t, const struct kv_policy *policy,
		  const struct kv_tier_rules *rules, uint32_t count);
void kv_tiers_free(struct kv_tiers *t);
/* From now on the last tier is one of several servers, of which this is number `server`. Its
 * directory is divided into parts, of which `shared` is the one with the number `part`. Call it
 * before anything is written. The directory must live as long. Whoever gets the events calls
 * kv_tiers_ended for each operation of that tier. */
void kv_tiers_divide(struct kv_tiers *t, struct kv_shared *shared, uint32_t server, uint32_t parts,
		     uint32_t part);
/* Whether tier k is the shared one. */
static inline bool kv_tiers_shared(const struct kv_tiers *t, uint32_t k)
{
	return t->shared && k == t->own;
}
/* Whether this node's part of it knows an entry. */
static inline bool kv_tiers_here(const struct kv_tiers *t, struct kv_id id)
{
	return t->parts == 1 || kv_divided_part(id, t->parts) == t->part;
}

/* Each of these may return -EINPROGRESS: a question has been asked, and kv_tiers_answered returns
 * the result. */

/* Writes an entry, unless it is there. Returns the fastest tier that has it, -EEXIST (nothing
 * happened), -ENOSPC (no tier takes it) or -ENOMEM. */
int kv_tiers_write(struct kv_tiers *t, struct kv_id id, uint64_t bytes);

/* Reads an entry from the fastest tier that has it, which is returned; -ENOENT: a miss. */
int kv_tiers_read(struct kv_tiers *t, struct kv_id id);

/* Deletes all copies of an entry. -ENOENT: there is none. */
int kv_tiers_delete(struct kv_tiers *t, struct kv_id id);

/* An operation of the shared tier that was announced has come to its end. Returns 0, or what `ask`
 * does. */
int kv_tiers_ended(struct kv_tiers *t, struct kv_id id, enum kv_shared_end end);

/* Answers a question of another server about this node's part. */
void kv_tiers_answer(struct kv_tiers *t, const struct kv_question *q, struct kv_answer *a);
/* A question has been answered. Victims are told first. Returns what the call that asked would have
 * returned; -EAGAIN: the same question is to be asked again, with a->count victims more;
 * -EINPROGRESS: another one has been asked, too. Of a question that is no such call: 0, or a
 * negative errno for no. */
int kv_tiers_answered(struct kv_tiers *t, const struct kv_question *q, const struct kv_answer *a);

#endif
