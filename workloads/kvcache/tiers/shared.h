/* SPDX-License-Identifier: Apache-2.0 */
/* Directory of a shared tier: which entries a tier has that several servers use, in memory that they share.
 *
 *	server a ──┐                        ┌── oldest ◄─► … ◄─► youngest
 *	server b ──┼─► lock ─► hash table ──┤
 *	server c ──┘                        └── bytes in use
 *
 * A server here is whoever decides about tiers: a rank, or the leader of a tensor group. Nothing is moved here. Each call asks
 * or tells one thing, holds the lock for O(1) (kv_shared_evict: also for the entries in use that it passes by), and never
 * calls out. What a server has asked for, it does later, and tells the end of it with kv_shared_ended:
 *
 *	            put                    ended: written                 evict, delete
 *	(absent) ─────────► coming ────────────────────────► there ─────────────────────► leaving ──► (absent)
 *	                      ├─ ended: failed ─► broken ────── evict, delete ─────────────►┘ ended: deleted
 *	                      └─ ended: dropped, once nobody reads it ─► (absent)
 *
 * - What is coming is found only by the server that writes it, whose own operations keep it from reading too early.
 * - Each operation under way pins its entry. What is pinned is not evicted, so no reader loses what it has found.
 * - What is leaving cannot be put again until it has been deleted, so a delete never meets a newer object of that name.
 * - If a process dies while it has the lock, the directory is damaged: from then on nothing is found, put or evicted in it, so
 *   that the other processes do not hang until they end, too.
 *
 * Any thread of any process that shares the memory may call these functions. */
#ifndef HAUL_WORKLOADS_KVCACHE_SHARED_H
#define HAUL_WORKLOADS_KVCACHE_SHARED_H

#include <stdbool.h>

#include "workloads/kvcache/tiers/entries.h"
#include "workloads/kvcache/tiers/policy.h"

struct kv_shared;

/* Bytes of a directory that has room for a number of entries, and for as many that are leaving; and
 * prepares zeroed memory of that size, before anybody uses it. */
uint64_t kv_shared_bytes(uint32_t entries);
void kv_shared_init(struct kv_shared *s, uint32_t entries);

/* When the tier has room: while no more than `full` bytes are in use with the new entry, or less
 * than `trusted` before. */
struct kv_shared_room {
	uint64_t full, trusted;
};

/* The server is going to write an entry. Returns 0; -EEXIST: it is there, or is coming; -EBUSY: it
 * is leaving or broken, or too many others are leaving; or -ENOSPC: there is no room, or there are
 * too many entries. */
int kv_shared_put(struct kv_shared *s, struct kv_id id, uint64_t bytes, uint32_t server,
		  const struct kv_shared_room *room);

/* The server is going to read an entry, which becomes the youngest where `touch` is set. Returns 0
 * or -ENOENT. */
int kv_shared_read(struct kv_shared *s, struct kv_id id, uint32_t server, bool touch,
		   uint64_t *bytes);

/* Whether an entry is there, or is coming. */
bool kv_shared_has(struct kv_shared *s, struct kv_id id);

/* The caller is going to delete the oldest entry that nobody uses. Returns 0, or -ENOENT: all are
 * in use. */
int kv_shared_evict(struct kv_shared *s, struct kv_id *id, uint64_t *bytes);

/* The caller is going to delete that entry. -ENOENT: it is not there; -EBUSY: it is in use, and is
 * now the oldest. */
int kv_shared_delete(struct kv_shared *s, struct kv_id id, uint64_t *bytes);

/* What was announced has come to its end. */
enum kv_shared_end {
	KV_SHARED_READ,
	KV_SHARED_WRITTEN,
	KV_SHARED_FAILED,  /* some of it may be there */
	KV_SHARED_DROPPED, /* none of it was written */
	KV_SHARED_DELETED
};
void kv_shared_ended(struct kv_shared *s, struct kv_id id, enum kv_shared_end end);

/* Entries, and bytes in use: now, and at most. reset: from now on. Entries that leave are not among
 * them. */
struct kv_shared_state {
	uint64_t entries, used, used_most;
};
struct kv_shared_state kv_shared_state(struct kv_shared *s);
void kv_shared_reset(struct kv_shared *s);

/* Goes through all entries when nobody uses them any more: *at is 0 at first. Returns false after
 * the last one. */
bool kv_shared_next(struct kv_shared *s, uint32_t *at, struct kv_id *id, uint64_t *bytes);

/* The directory may be divided among nodes. Each node has a part of it in its memory, with a part of the capacity and lists of its
 * own. The id of an entry says which part knows it. A server asks the part of its own node directly, and those of other nodes by
 * questions, which a server there answers:
 *
 *	tiers ──► question ──► … ──► kv_divided_answer ──► … ──► answer ──► kv_tiers_answered
 *
 * Each question has one answer, of bounded size: where more victims must leave than it can name, it says -EAGAIN, and the same
 * question is asked again. Nothing is sent here. Questions and answers are plain memory, so that they can be. */

enum { KV_VICTIMS = 6 };

/* What is asked, or told. */
enum kv_ask {
	KV_ASK_READ, /* kv_shared_read */
	KV_ASK_HAS, /* kv_shared_has; of an entry that is to be written above, unless it is there */
	KV_ASK_WRITE,  /* kv_shared_put, with victims; of a new entry */
	KV_ASK_COPY,   /* the same, of one that a tier above has taken and keeps */
	KV_ASK_MOVE,   /* the same, of one that leaves a tier above */
	KV_ASK_DELETE, /* kv_shared_delete */
	KV_ASK_ENDED   /* kv_shared_ended */
};

struct kv_question {
	struct kv_id id;
	uint64_t bytes;   /* of the entry, where it is to be put */
	uint32_t kind;    /* enum kv_ask */
	uint32_t server;  /* who asks */
	uint32_t from;    /* KV_ASK_MOVE: the tier that it leaves */
	uint32_t victims; /* that have left for it already, as earlier answers said */
	uint32_t end;     /* KV_ASK_ENDED: enum kv_shared_end */
	uint32_t unused;
};

struct kv_victim {
	struct kv_id id;
	uint64_t bytes;
};

struct kv_answer {
	uint64_t bytes; /* of the entry that is read or deleted */
	/* What the call of the directory has returned; of KV_ASK_HAS 0 or -ENOENT; -EAGAIN: these
	 * victims are not enough, so ask again. */
	int32_t rc;
	uint32_t count;
	struct kv_victim
		victims[KV_VICTIMS]; /* [count], which the server that asks is going to delete */
};

/* Which of the parts knows an entry, by its number; parts: how many there are. */
uint32_t kv_divided_part(struct kv_id id, uint32_t parts);

/* Answers by one part. limits: those of the part. All servers have the same policy. */
void kv_divided_answer(struct kv_shared *s, const struct kv_policy *policy,
		       const struct kv_limits *limits, const struct kv_question *q,
		       struct kv_answer *a);

#endif
