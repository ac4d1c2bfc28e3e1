/* Directory of a shared tier that is divided among nodes. Each node has a part of it (shared.h) in its memory, with a part of the
 * capacity and lists of its own. The id of an entry says which part knows it. A server asks the part of its own node directly,
 * and those of other nodes by questions, which a server there answers:
 *
 *	tiers ──► question ──► … ──► kv_divided_answer ──► … ──► answer ──► kv_tiers_answered
 *
 * Each question has one answer, of bounded size: where more victims must leave than it can name, it says -EAGAIN, and the same
 * question is asked again. Nothing is sent here. Questions and answers are plain memory, so that they can be. */
#ifndef HAUL_WORKLOADS_KVCACHE_DIVIDED_H
#define HAUL_WORKLOADS_KVCACHE_DIVIDED_H

#include "workloads/kvcache/tiers/policy.h"
#include "workloads/kvcache/tiers/shared.h"

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
	/* What the call of the directory has returned; of KV_ASK_HAS 0 or -ENOENT; -EAGAIN: these victims are not enough, so
	 * ask again. */
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
