/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts of the profile serving: who asks when, and which blocks of tokens the prompt has.
 *
 *	tokens   | system prompt, which many share | first turn, its answer | second turn …        |
 *	blocks   | 0      | 1      | 2      | 3      | 4      | …                          (the rest)
 *	keys       k0       k1       k2 …      each one follows from the key before it and its own tokens
 *
 * So two prompts that begin with the same tokens have the same first keys. Only full blocks have one. Where a trace names its
 * blocks itself (hash_ids), these are the keys, also of a last block that is not full. Where it names sessions (BurstGPT), a
 * prompt is what was sent: it begins with all that was said before in its session. One with fewer tokens than that cannot, so
 * it shares nothing with it.
 *
 *	closed             a user thinks, asks, waits for the answer, and thinks again
 *	poisson, constant  requests arrive at a rate, whoever waits; each goes on with the conversation of the next user
 *	a file             requests arrive when the trace says
 *
 * All draws are functions of the seed, the user and the number of the draw. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_PROMPTS_H
#define HAUL_WORKLOADS_KVCACHE_PROMPTS_H

#include "core/heap.h"
#include "core/list.h"
#include "workloads/kvcache/requests/arrivals.h"
#include "workloads/kvcache/requests/source_options.h"
#include "workloads/kvcache/tiers/entries.h"

#define KV_PROMPTS_NEVER UINT64_MAX

enum kv_arrival_kind { KV_ARRIVE_CLOSED, KV_ARRIVE_POISSON, KV_ARRIVE_CONSTANT };

/* What the prompts are made of. Lives as long as they. */
struct kv_prompts_how {
	const struct kv_source_options *source;
	enum kv_arrival_kind arrive;
	double rate;           /* requests per second of this part */
	uint64_t block_tokens; /* 0: those of the trace, else KV_BLOCK_TOKENS */
	uint64_t context_max;  /* a conversation ends before its prompt is longer */
	uint64_t seed;
	uint32_t part, parts;
	const char *path; /* that of the options, for messages */
};

enum { KV_BLOCK_TOKENS = 256 };

struct kv_prompt {
	struct list_link link; /* the owner's */
	uint64_t number, due_ns;
	uint64_t context, generate; /* tokens */
	uint32_t user;              /* UINT32_MAX: it is recorded */
	uint32_t prompt;            /* its system prompt, from 1 on; 0: none */
	uint64_t conversation;      /* of the user */
	uint32_t shared;            /* blocks of a system prompt: the first ones */
	uint32_t count, room;       /* blocks */
	uint64_t *keys;
};

struct kv_talker {
	uint64_t due_ns, think_ns, draws;
	uint64_t conversation; /* its number among those of the user */
	uint64_t tokens;       /* said so far in it, by both */
	uint32_t prompt;       /* its system prompt, from 1 on; 0: none */
	uint32_t turn;         /* 0: it has not begun */
	uint8_t template;
};

/* A session of a trace. */
struct kv_session {
	struct kv_item item;
	uint64_t said;  /* tokens so far, by both */
	uint64_t begun; /* how often its prompts have begun anew */
};

struct kv_prompts {
	struct kv_prompts_how how;
	uint64_t block_tokens;
	struct arrivals arrivals;
	bool recorded;
	struct kv_talker *talkers;
	struct heap thinking;    /* closed: by the time of their next request */
	uint64_t number, due_ns; /* open: of the next request */
	uint64_t conversation,
		tokens; /* recorded conversations: the current one, and its tokens so far */
	struct kv_entries sessions; /* of struct kv_session */
};

/* Returns 0, -EINVAL or -ENOMEM with a sentence. kv_prompts_close is allowed in any case, and on
 * zeroed memory. */
int kv_prompts_open(struct kv_prompts *p, const struct kv_prompts_how *how, struct err *err);
void kv_prompts_close(struct kv_prompts *p);

/* When the next one falls due, since the phase has begun; KV_PROMPTS_NEVER: none does, or not
 * before somebody has been answered. And takes it; the prompt's keys grow as needed, and are the
 * owner's to free. Returns 0, -ENOMEM, or an error of the trace's file, whose sentence is in
 * arrivals.err. */
uint64_t kv_prompts_due(const struct kv_prompts *p);
int kv_prompts_next(struct kv_prompts *p, struct kv_prompt *out);
/* The prompt with the tokens of its answer: its further blocks are added to the keys. Not for
 * recorded blocks, of which nobody knows them. */
int kv_prompt_answer(const struct kv_prompts *p, struct kv_prompt *prompt);
/* The user has been answered, or was turned away. */
void kv_prompts_answered(struct kv_prompts *p, const struct kv_prompt *prompt, uint64_t now_ns);

#endif
