/* SPDX-License-Identifier: Apache-2.0 */
/* A directory that is divided among nodes: beside a slow model where each question is answered at
 * once, and with letters that arrive at any time, where operations of several servers must never
 * meet at an object. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/unit.h"
#include "workloads/kvcache/tiers/operations.h"
#include "workloads/kvcache/tiers/tiers.h"

enum { PARTS = 3, SERVERS = 5, IDS = 80, ENTRIES = 256, LETTERS = 1024, LATE = 1000 };

#define POLICY .depth = 10, .evictions_min = 1000, .evictions_max = 5000, .sketch_keys = 1000

static struct kv_id id_of(uint64_t n)
{
	return (struct kv_id){3, n};
}

static struct kv_shared *part_new(void)
{
	struct kv_shared *s = calloc(1, kv_shared_bytes(ENTRIES));

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	if (s)
		kv_shared_init(s, ENTRIES);
	return s;
}

/* The slow model: what each part has, oldest first. */
struct slow {
	uint64_t id[IDS], bytes[IDS];
	uint32_t count;
};

static uint64_t slow_used(const struct slow *s)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < s->count; i++)
		used += s->bytes[i];
	return used;
}

static uint32_t slow_find(const struct slow *s, uint64_t id)
{
	uint32_t at = 0;

	while (at < s->count && s->id[at] != id)
		at++;
	return at;
}

static void slow_remove(struct slow *s, uint32_t at)
{
	s->count--;
	for (; at < s->count; at++) {
		s->id[at] = s->id[at + 1];
		s->bytes[at] = s->bytes[at + 1];
	}
}

static void slow_append(struct slow *s, uint64_t id, uint64_t bytes)
{
	s->id[s->count] = id;
	s->bytes[s->count++] = bytes;
}

/* Victims leave only when it is full, and then until 70 % are. */
static int slow_write(struct slow *s, uint64_t id, uint64_t bytes, uint64_t capacity)
{
	uint64_t full = capacity;

	if (slow_find(s, id) < s->count)
		return -EEXIST;
	while (s->count && slow_used(s) + bytes > full) {
		full = capacity / 10 * 7;
		slow_remove(s, 0);
	}
	slow_append(s, id, bytes);
	return 0;
}

static int slow_read(struct slow *s, uint64_t id)
{
	uint32_t at = slow_find(s, id);
	uint64_t bytes;

	if (at == s->count)
		return -ENOENT;
	bytes = s->bytes[at];
	slow_remove(s, at);
	slow_append(s, id, bytes);
	return 0;
}

static int slow_delete(struct slow *s, uint64_t id)
{
	uint32_t at = slow_find(s, id);

	if (at == s->count)
		return -ENOENT;
	slow_remove(s, at);
	return 0;
}

/* A server whose questions are answered within `ask`, and whose operations end at once. */
struct prompt_server {
	struct kv_tiers tiers[PARTS]; /* as the servers of each node see it; [0] decides */
	struct kv_question pending;   /* kind KV_ASK_ENDED: none */
	uint64_t asked, agains;
};

static int prompt_ask(void *argument, const struct kv_question *q)
{
	struct prompt_server *v = argument;
	struct kv_answer a;

	v->asked++;
	if (q->kind != KV_ASK_ENDED) {
		v->pending = *q;
		return 0;
	}
	kv_tiers_answer(&v->tiers[kv_divided_part(q->id, PARTS)], q, &a);
	return 0;
}

static void prompt_event(void *argument, const struct kv_event *e)
{
	static const enum kv_shared_end ends[] = {[KV_EVENT_WRITE] = KV_SHARED_WRITTEN,
						  [KV_EVENT_READ] = KV_SHARED_READ,
						  [KV_EVENT_EVICT] = KV_SHARED_DELETED,
						  [KV_EVENT_DELETE] = KV_SHARED_DELETED};
	struct prompt_server *v = argument;

	kv_tiers_ended(&v->tiers[0], e->id, ends[e->kind]);
}

/* What the call returns in the end. */
static int prompt_result(struct prompt_server *v, int rc)
{
	struct kv_question q = v->pending;
	struct kv_answer a;

	if (rc != -EINPROGRESS)
		return rc;
	do {
		kv_tiers_answer(&v->tiers[kv_divided_part(q.id, PARTS)], &q, &a);
		CU_ASSERT(a.count <= KV_VICTIMS);
		rc = kv_tiers_answered(&v->tiers[0], &q, &a);
		q.victims += a.count;
		v->agains += rc == -EAGAIN;
	} while (rc == -EAGAIN);
	return rc;
}

static int prompt_check(struct prompt_server *v, struct slow *slow, struct random *random)
{
	uint64_t n = random_next(random) % IDS, kind = random_next(random) % 8;
	uint64_t bytes = random_next(random) % 16 ? 10 + random_next(random) % 90 : 900;
	struct kv_tiers *t = &v->tiers[0];
	int rc, wanted;

	if (kind < 4) {
		wanted = slow_write(slow, n, bytes, t->tier[0].rules.capacity);
		rc = prompt_result(v, kv_tiers_write(t, id_of(n), bytes));
	} else if (kind < 7) {
		wanted = slow_read(slow, n);
		rc = prompt_result(v, kv_tiers_read(t, id_of(n)));
	} else {
		wanted = slow_delete(slow, n);
		rc = prompt_result(v, kv_tiers_delete(t, id_of(n)));
	}
	return rc == wanted ? 0 : -EINVAL;
}

/* Each part decides as a tier of its own with its capacity, whoever asks it. */
static void test_slow(void)
{
	const struct kv_tier_rules rules = {
		.capacity = 1000, .high = 1, .low = 0.7, .largest = 1, .trusted = 0};
	const struct kv_policy policy = {POLICY, .forced = true};
	struct prompt_server v = {.asked = 0};
	struct slow slow[PARTS] = {{.count = 0}};
	struct random random = {.key = 3};
	struct kv_shared *parts[PARTS];
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < PARTS; i++) {
		parts[i] = part_new();
		CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&v.tiers[i], &policy, &rules, 1), 0);
		kv_tiers_divide(&v.tiers[i], parts[i], i, PARTS, i);
	}
	v.tiers[0].event = prompt_event;
	v.tiers[0].ask = prompt_ask;
	v.tiers[0].argument = &v;
	for (uint32_t i = 0; i < 30000; i++) {
		struct random ahead = random;
		uint32_t part = kv_divided_part(id_of(random_next(&ahead) % IDS), PARTS);

		wrong += prompt_check(&v, &slow[part], &random) < 0;
		for (uint32_t k = 0; k < PARTS; k++)
			wrong += kv_shared_state(parts[k]).used != slow_used(&slow[k]) ||
				 kv_shared_state(parts[k]).entries != slow[k].count;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(v.tiers[0].hits > 1000 && v.tiers[0].misses > 1000);
	CU_ASSERT(v.asked > 10000);
	/* Some made more room than one answer can tell of. */
	CU_ASSERT(v.agains > 10);
	for (uint32_t i = 0; i < PARTS; i++) {
		kv_tiers_free(&v.tiers[i]);
		free(parts[i]);
	}
}

/* Servers whose letters and operations take their time. */

struct letter {
	uint32_t from, to; /* servers */
	bool answers;
	struct kv_question question; /* of an answer: the one it belongs to */
	struct kv_answer answer;
	struct kv_operation *operation; /* KV_ASK_MOVE: the asker's, which waits */
};

struct world;
struct server {
	struct world *world;
	uint32_t number;
	struct kv_operation *chain;
	struct kv_tiers tiers;
	struct kv_operations operations;
	struct kv_operation *running[LETTERS];
	uint32_t running_count;
};

struct world {
	struct server servers[SERVERS];
	struct kv_shared *parts[PARTS];
	struct letter letters[LETTERS]; /* in the order in which they were posted */
	uint32_t letter_count;
	struct random random;
	bool there[IDS];       /* in the store */
	uint32_t readers[IDS]; /* under way */
	bool writer[IDS];
	uint64_t wrong, reads, moves;
};

static void world_post(struct world *w, const struct letter *l)
{
	CU_ASSERT_FATAL(w->letter_count < LETTERS);
	w->letters[w->letter_count++] = *l;
}

static void server_event(void *argument, const struct kv_event *e)
{
	static const enum kv_operation_kind kinds[] = {
		[KV_EVENT_WRITE] = KV_OPERATION_WRITE,  [KV_EVENT_READ] = KV_OPERATION_READ,
		[KV_EVENT_DEMOTE] = KV_OPERATION_MOVE,  [KV_EVENT_PROMOTE] = KV_OPERATION_WRITE,
		[KV_EVENT_EVICT] = KV_OPERATION_DELETE, [KV_EVENT_DELETE] = KV_OPERATION_DELETE,
	};
	struct server *v = argument;
	struct kv_operation op = {.kind = kinds[e->kind],
				  .from = e->from,
				  .to = e->to,
				  .asks = e->asks,
				  .bytes = e->bytes,
				  .id = e->id};

	v->chain = kv_operations_add(&v->operations, &op, v->chain);
	CU_ASSERT_PTR_NOT_NULL_FATAL(v->chain);
}

/* All that a server asks of a part goes to the same server there. */
static int server_ask(void *argument, const struct kv_question *q)
{
	struct server *v = argument;
	uint32_t part = kv_divided_part(q->id, PARTS);
	struct letter l = {.from = v->number, .to = part, .question = *q, .operation = v->chain};

	CU_ASSERT_NOT_EQUAL(part, v->tiers.part);
	world_post(v->world, &l);
	return 0;
}

static void server_admit(struct server *v, struct kv_operation *op, bool moves)
{
	if (!moves) {
		op->kind = KV_OPERATION_DELETE;
		op->to = op->from;
	}
	kv_operations_admit(&v->operations, op);
}

static void letter_arrives(struct world *w, struct letter *l)
{
	struct server *v = &w->servers[l->to];
	int rc;

	if (!l->answers) {
		struct letter reply = *l;

		kv_tiers_answer(&v->tiers, &l->question, &reply.answer);
		reply.answers = true;
		reply.from = l->to;
		reply.to = l->from;
		world_post(w, &reply);
		return;
	}
	v->chain = NULL;
	rc = kv_tiers_answered(&v->tiers, &l->question, &l->answer);
	if (l->question.kind == KV_ASK_MOVE && rc != -EAGAIN)
		server_admit(v, l->operation, rc == 0);
	if (rc != -EAGAIN)
		return;
	l->question.victims += l->answer.count;
	l->answers = false;
	l->to = l->from;
	l->from = v->number;
	world_post(w, l);
}

/* Delivers one that no earlier one of the same two servers and the same kind is before. */
static void world_deliver(struct world *w)
{
	uint32_t at = (uint32_t)(random_next(&w->random) % w->letter_count), i = 0;
	struct letter l = w->letters[at];

	while (w->letters[i].from != l.from || w->letters[i].to != l.to ||
	       w->letters[i].answers != l.answers)
		i++;
	l = w->letters[i];
	w->letter_count--;
	memmove(&w->letters[i], &w->letters[i + 1], (w->letter_count - i) * sizeof(l));
	letter_arrives(w, &l);
}

/* What an operation finds at its object in the shared tier, when it begins (ends: when it ends). */
static void world_touch(struct world *w, const struct kv_operation *op, uint32_t shared, bool ends)
{
	uint64_t n = op->id.low;

	if (op->kind == KV_OPERATION_READ && op->from == shared) {
		w->wrong += !w->there[n] || w->writer[n];
		w->readers[n] += ends ? UINT32_MAX : 1;
		w->reads++;
	} else if (op->kind == KV_OPERATION_DELETE && op->from == shared) {
		w->wrong += !w->there[n] || w->readers[n] || w->writer[n] != ends;
		w->writer[n] = !ends;
		w->there[n] = !ends;
	} else if (op->kind != KV_OPERATION_READ && op->to == shared &&
		   op->kind != KV_OPERATION_DELETE) {
		w->wrong += w->there[n] || w->readers[n] || w->writer[n] != ends;
		w->writer[n] = !ends;
		w->there[n] = ends;
		w->moves += op->kind == KV_OPERATION_MOVE;
	}
}

static void server_begin(struct server *v)
{
	struct kv_operation *op;

	while (v->running_count < LETTERS &&
	       (op = kv_operations_take(&v->operations, KV_PRIORITIES))) {
		world_touch(v->world, op, v->tiers.own, false);
		v->running[v->running_count++] = op;
	}
}

static void server_end(struct server *v)
{
	uint32_t at = (uint32_t)(random_next(&v->world->random) % v->running_count);
	uint32_t own = v->tiers.own;
	struct kv_operation *ended = v->running[at], op = *ended;

	v->running[at] = v->running[--v->running_count];
	world_touch(v->world, &op, own, true);
	if (op.kind == KV_OPERATION_READ && op.from == own)
		kv_tiers_ended(&v->tiers, op.id, KV_SHARED_READ);
	else if (op.kind == KV_OPERATION_DELETE && op.from == own)
		kv_tiers_ended(&v->tiers, op.id, KV_SHARED_DELETED);
	else if (op.kind != KV_OPERATION_READ && op.kind != KV_OPERATION_DELETE && op.to == own)
		kv_tiers_ended(&v->tiers, op.id, KV_SHARED_WRITTEN);
	kv_operations_end(&v->operations, ended);
}

static void server_decide(struct server *v)
{
	uint64_t draw = random_next(&v->world->random), n = draw % IDS, kind = (draw >> 32) % 16;

	v->chain = NULL;
	if (kind < 7)
		kv_tiers_write(&v->tiers, id_of(n), 10 + n % 7);
	else if (kind < 15)
		kv_tiers_read(&v->tiers, id_of(n));
	else
		kv_tiers_delete(&v->tiers, id_of(n));
}

/* Whether anything could go on. */
static bool world_step(struct world *w, bool decides)
{
	struct server *v = &w->servers[random_next(&w->random) % SERVERS];
	uint64_t draw = random_next(&w->random) % 8;
	bool busy = w->letter_count > 0;

	for (uint32_t i = 0; i < SERVERS; i++) {
		server_begin(&w->servers[i]);
		busy = busy || w->servers[i].operations.under_way;
	}
	if (decides && draw == 0 && w->letter_count < LETTERS / 8 &&
	    v->operations.under_way < LETTERS / 32)
		server_decide(v);
	else if (draw < 4 && w->letter_count)
		world_deliver(w);
	else if (v->running_count)
		server_end(v);
	return busy;
}

/* Nothing is under way: the directory has what the store has, beside what the servers have in tiers
 * of their own. */
static void world_check(struct world *w, uint64_t capacity)
{
	uint64_t there = 0, bytes = 0, entries = 0, used = 0;

	for (uint32_t n = 0; n < IDS; n++) {
		there += w->there[n];
		bytes += w->there[n] ? 10 + n % 7 : 0;
		w->wrong += w->readers[n] || w->writer[n];
	}
	for (uint32_t i = 0; i < PARTS; i++) {
		struct kv_shared_state state = kv_shared_state(w->parts[i]);

		entries += state.entries;
		used += state.used;
		CU_ASSERT(state.used <= capacity && state.used_most <= capacity);
	}
	CU_ASSERT_EQUAL(entries, there);
	CU_ASSERT_EQUAL(used, bytes);
	CU_ASSERT_EQUAL(w->wrong, 0);
}

static void world_run(const struct kv_policy *policy, const struct kv_tier_rules *rules,
		      uint32_t count, uint64_t key)
{
	static struct world world;
	struct world *w = &world;

	memset(w, 0, sizeof(*w));
	w->random = (struct random){.key = key};
	for (uint32_t i = 0; i < PARTS; i++)
		w->parts[i] = part_new();
	for (uint32_t i = 0; i < SERVERS; i++) {
		struct server *v = &w->servers[i];

		v->world = w;
		v->number = i;
		CU_ASSERT_EQUAL_FATAL(kv_operations_init(&v->operations), 0);
		CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&v->tiers, policy, rules, count), 0);
		kv_tiers_divide(&v->tiers, w->parts[i % PARTS], i, PARTS, i % PARTS);
		v->tiers.event = server_event;
		v->tiers.ask = server_ask;
		v->tiers.argument = v;
	}
	for (uint32_t round = 0; round < 15; round++) {
		for (uint32_t i = 0; i < LATE; i++)
			world_step(w, true);
		while (world_step(w, false))
			;
		world_check(w, rules[count - 1].capacity);
	}
	CU_ASSERT(w->reads > 100);
	CU_ASSERT(w->moves > 20 || count == 1 || policy->write != KV_WRITE_MOVE);
	for (uint32_t i = 0; i < SERVERS; i++) {
		kv_tiers_free(&w->servers[i].tiers);
		kv_operations_free(&w->servers[i].operations);
	}
	for (uint32_t i = 0; i < PARTS; i++)
		free(w->parts[i]);
}

/* What a server is told and does in its time: an object is never written where there is one, read
 * where there is none, nor deleted while it is read; and no part is ever fuller than it may be. */
static void test_letters(void)
{
	const struct kv_tier_rules own = {.capacity = 60, .high = 1, .low = 1, .largest = 1},
				   spacious = {.capacity = 150, .high = 1, .low = 1, .largest = 1},
				   low = {.capacity = 150, .high = 1, .low = 0.3, .largest = 1};
	const struct kv_tier_rules cases[][2] = {{own, spacious}, {own, low}, {spacious, own}};

	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t write = KV_WRITE_MOVE; write <= KV_WRITE_THROUGH; write++) {
			struct kv_policy policy = {POLICY, .write = (enum kv_write)write};
			struct kv_tier_rules rules[2] = {cases[i][0], cases[i][1]};

			world_run(&policy, rules, 2, 10 * i + write);
			world_run(&policy, &rules[1], 1, 100 + 10 * i + write);
			rules[1].promote_after = 2;
			world_run(&policy, rules, 2, 200 + 10 * i + write);
		}
}

/* All parts are asked about alike. */
static void test_parts(void)
{
	uint32_t counts[PARTS] = {0};

	for (uint64_t n = 0; n < 9000; n++)
		counts[kv_divided_part(id_of(n), PARTS)]++;
	for (uint32_t i = 0; i < PARTS; i++)
		CU_ASSERT(counts[i] > 2800 && counts[i] < 3200);
	CU_ASSERT_EQUAL(kv_divided_part(id_of(7), 1), 0);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"entries per part", test_parts},
		{"beside a slow model", test_slow},
		{"letters and operations at any time", test_letters},
		CU_TEST_INFO_NULL,
	};

	return unit_main("kvcache_divided", tests);
}
