/* SPDX-License-Identifier: Apache-2.0 */
/* Two servers with a tier of their own each and one that they share: what they tell, step by step;
 * and one server alone, for which a shared tier decides as one of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/unit.h"
#include "tests/workloads/kvcache/tiers_look.h"
#include "workloads/kvcache/tiers/tiers.h"

enum { ENTRIES = 64, PENDING = 32 };

/* Events as words: "1w0a" server 1 writes a into tier 0, "r" reads, "d01" demotes, "p10" promotes,
 * "e" evicts, "x" deletes; and "1?1a" server 1 knows that tier 1 has a, "1?-a" that none has. The
 * operations end at once, or are held. */
struct story {
	char text[512];
	struct kv_shared *shared;
	struct kv_tiers tiers[2];
	bool held;
	uint32_t count;
	struct {
		struct kv_id id;
		enum kv_shared_end end;
	} pending[PENDING];
};

struct teller {
	struct story *story;
	uint32_t server;
};

static void story_end(struct story *s, struct kv_id id, enum kv_shared_end end)
{
	if (!s->held) {
		kv_shared_ended(s->shared, id, end);
		return;
	}
	CU_ASSERT_FATAL(s->count < PENDING);
	s->pending[s->count].id = id;
	s->pending[s->count++].end = end;
}

static void story_event(void *argument, const struct kv_event *e)
{
	static const char kinds[] = "wrdpex";
	const struct teller *teller = argument;
	struct story *s = teller->story;
	const struct kv_tiers *t = &s->tiers[teller->server];
	size_t length = strlen(s->text);
	bool moves = e->kind == KV_EVENT_DEMOTE || e->kind == KV_EVENT_PROMOTE;
	char to[2] = {(char)('0' + e->to), 0};

	snprintf(s->text + length, sizeof(s->text) - length, "%s%u%c%u%s%c", length ? " " : "",
		 teller->server + 1, kinds[e->kind], e->from, moves ? to : "", (char)e->id.low);
	if (e->kind == KV_EVENT_READ && kv_tiers_shared(t, e->from))
		story_end(s, e->id, KV_SHARED_READ);
	else if ((e->kind == KV_EVENT_WRITE || e->kind == KV_EVENT_DEMOTE) &&
		 kv_tiers_shared(t, e->to))
		story_end(s, e->id, KV_SHARED_WRITTEN);
	else if ((e->kind == KV_EVENT_EVICT || e->kind == KV_EVENT_DELETE) &&
		 kv_tiers_shared(t, e->from))
		story_end(s, e->id, KV_SHARED_DELETED);
}

static void story_lookup(struct story *s, struct kv_tiers *t, char key)
{
	size_t length = strlen(s->text);
	int tier = tiers_look(t, (struct kv_id){0, (uint64_t)key});

	snprintf(s->text + length, sizeof(s->text) - length, " %u?%c%c", t->server + 1,
		 tier < 0 ? '-' : (char)('0' + tier), key);
}

static struct kv_shared *shared_new(void)
{
	struct kv_shared *s = calloc(1, kv_shared_bytes(ENTRIES));

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	if (s)
		kv_shared_init(s, ENTRIES);
	return s;
}

/* script: "1a" server 1 writes an entry of 40 bytes, "1A" reads it, "1-a" deletes it, "1?a" asks
 * whether it is there; "*": from now on operations are held, ".": these end, and later ones end at
 * once. Returns how many entries server 2 was told to reject from the last tier. */
static uint64_t story_check(const struct kv_policy *policy, const struct kv_tier_rules *rules,
			    uint32_t count, const char *script, const char *wanted)
{
	struct story s = {.text = "", .shared = shared_new()};
	struct teller tellers[] = {{&s, 0}, {&s, 1}};
	struct kv_tiers *t = s.tiers;
	uint64_t rejected;

	for (uint32_t i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&s.tiers[i], policy, rules, count), 0);
		kv_tiers_divide(&s.tiers[i], s.shared, i, 1, 0);
		s.tiers[i].event = story_event;
		s.tiers[i].argument = &tellers[i];
	}
	for (; *script; script++) {
		if (*script == '1' || *script == '2') {
			t = &s.tiers[*script - '1'];
		} else if (*script == '*') {
			s.held = true;
		} else if (*script == '.') {
			s.held = false;
			for (uint32_t i = 0; i < s.count; i++)
				kv_shared_ended(s.shared, s.pending[i].id, s.pending[i].end);
			s.count = 0;
		} else if (*script == '-') {
			kv_tiers_delete(t, (struct kv_id){0, (uint64_t) * ++script});
		} else if (*script == '?') {
			story_lookup(&s, t, *++script);
		} else if (*script >= 'a') {
			kv_tiers_write(t, (struct kv_id){0, (uint64_t)*script}, 40);
		} else {
			kv_tiers_read(t, (struct kv_id){0, (uint64_t)*script - 'A' + 'a'});
		}
	}
	if (strcmp(s.text, wanted) != 0) {
		fprintf(stderr, "told   %s\nwanted %s\n", s.text, wanted);
		CU_FAIL("another story");
	}
	rejected = s.tiers[1].tier[count - 1].counts.count[KV_COUNT_REJECTED];
	for (uint32_t i = 0; i < 2; i++)
		kv_tiers_free(&s.tiers[i]);
	free(s.shared);
	return rejected;
}

#define SERVER .depth = 10, .evictions_min = 1000, .evictions_max = 5000, .sketch_keys = 1000

/* Two entries in a server's own tier, three in the shared one. */
static const struct kv_tier_rules
	own = {.capacity = 100, .high = 1, .low = 1, .largest = 1, .trusted = 0.01},
	shared = {.capacity = 120, .high = 1, .low = 1, .largest = 1, .trusted = 0.01};

static void test_found(void)
{
	static const struct kv_policy lru = {SERVER, .order = KV_LRU},
				      fifo = {SERVER, .order = KV_FIFO};
	const struct kv_tier_rules rules[] = {own, shared};
	struct kv_tier_rules spacious = shared;

	/* What one has demoted, the other one finds and does not write. What one reads stays for
	 * the other one. */
	story_check(&lru, rules, 2, "1a1b1c2A2B2a1d1e1f2A2C1g2B",
		    "1w0a 1w0b 1d01a 1w0c 2r1a 1d01b 1w0d 1d01c 1w0e 1e1a 1d01d 1w0f 2r1c 1e1b "
		    "1d01e 1w0g");
	/* A read makes nothing younger. */
	story_check(&fifo, rules, 2, "1a1b1c1d1e2A1f",
		    "1w0a 1w0b 1d01a 1w0c 1d01b 1w0d 1d01c 1w0e 2r1a 1e1a 1d01d 1w0f");
	/* Deleted for both. */
	story_check(&lru, rules, 2, "1a1b1c2?a2?b2-a2?a2A1A",
		    "1w0a 1w0b 1d01a 1w0c 2?1a 2?-b 2x1a 2?-a");
	/* When it is full, more leave than must. */
	spacious.low = 0.7;
	story_check(&lru, &spacious, 1, "1a2b1c2d1e", "1w0a 2w0b 1w0c 2e0a 2e0b 2w0d 1w0e");
	/* Nothing but the shared tier. */
	story_check(&lru, &shared, 1, "1a1b1c2A1d2B", "1w0a 1w0b 1w0c 2r0a 1e0b 1w0d");
}

static void test_promotion(void)
{
	static const struct kv_policy move = {SERVER, .write = KV_WRITE_MOVE};
	struct kv_tier_rules rules[] = {own, shared};

	rules[1].promote_after = 1;
	/* A copy stays for the others. So what was promoted is dropped later, and not moved. */
	story_check(&move, rules, 2, "1a1b1c2A1A2d2e",
		    "1w0a 1w0b 1d01a 1w0c 2r1a 2p10a 1r1a 1d01b 1p10a 2w0d 2e0a 2w0e");
}

static void test_write_through(void)
{
	static const struct kv_policy through = {SERVER, .write = KV_WRITE_THROUGH};
	const struct kv_tier_rules rules[] = {own, shared};

	story_check(&through, rules, 2, "1a2a2A1b1c", "1w0a 1w1a 2r1a 1w0b 1w1b 1e0a 1w0c 1w1c");
}

/* What is being read is not evicted, and what is being written is found only by its writer. */
static void test_under_way(void)
{
	static const struct kv_policy fifo = {SERVER, .order = KV_FIFO};
	const struct kv_tier_rules rules[] = {own, shared};

	story_check(&fifo, rules, 2, "1a1b1c1d1e*2A1f2D1D2B.2D",
		    "1w0a 1w0b 1d01a 1w0c 1d01b 1w0d 1d01c 1w0e 2r1a 1e1b 1d01d 1w0f 1r1d 2r1d");
	/* Where all are being written, nothing can leave. */
	story_check(&fifo, &shared, 1, "*1a1b1c2d.2d", "1w0a 1w0b 1w0c 2e0a 2w0d");
}

/* What is just being deleted cannot be moved there. */
static void test_rejected(void)
{
	static const struct kv_policy move = {SERVER, .write = KV_WRITE_MOVE};
	struct kv_tier_rules rules[] = {own, shared};

	rules[1].promote_after = 1;
	CU_ASSERT_EQUAL(story_check(&move, rules, 2, "1a1b1c1d1e2A2B*1f1g2h.",
				    "1w0a 1w0b 1d01a 1w0c 1d01b 1w0d 1d01c 1w0e 2r1a 2p10a 2r1b "
				    "2p10b 1e1c 1d01d 1w0f 1e1a 1d01e 1w0g 2e0a 2w0h"),
			1);
}

/* Events of a tier that is shared with nobody and of one that is not shared, as one number. */
struct sum {
	struct kv_shared *shared; /* NULL */
	uint64_t events;
};

static void sum_event(void *argument, const struct kv_event *e)
{
	static const enum kv_shared_end ends[] = {[KV_EVENT_WRITE] = KV_SHARED_WRITTEN,
						  [KV_EVENT_READ] = KV_SHARED_READ,
						  [KV_EVENT_EVICT] = KV_SHARED_DELETED,
						  [KV_EVENT_DELETE] = KV_SHARED_DELETED};
	struct sum *s = argument;

	s->events = mix64(s->events ^ mix64(e->id.low) ^ e->bytes << 8 ^ (uint64_t)e->kind);
	if (s->shared)
		kv_shared_ended(s->shared, e->id, ends[e->kind]);
}

static void test_alone(void)
{
	enum { OPERATIONS = 20000, CAPACITY = 50000, LARGEST = 60000 };
	struct kv_tier_rules rules = kv_tier_mlperf(CAPACITY, true);
	struct kv_policy policy = kv_policy_mlperf();
	struct sum sums[2] = {{.events = 0}, {.events = 0}};
	struct random random = {.key = 14};
	struct kv_tiers t[2];
	uint64_t key = 0;

	sums[1].shared = calloc(1, kv_shared_bytes(OPERATIONS));
	CU_ASSERT_PTR_NOT_NULL_FATAL(sums[1].shared);
	kv_shared_init(sums[1].shared, OPERATIONS);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&t[i], &policy, &rules, 1), 0);
		t[i].event = sum_event;
		t[i].argument = &sums[i];
	}
	kv_tiers_divide(&t[1], sums[1].shared, 0, 1, 0);
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		uint64_t kind = random_next(&random) % 10, back = random_next(&random) % 200;
		uint64_t most = i % 100 ? 2000 : LARGEST;
		uint64_t size = 1 + random_next(&random) % most;
		struct kv_id id = {0, kind < 5 ? ++key : back < key ? key - back : key};
		int rc[2];

		for (int k = 0; k < 2; k++)
			rc[k] = kind < 6   ? kv_tiers_write(&t[k], id, size)
				: kind < 9 ? kv_tiers_read(&t[k], id)
					   : kv_tiers_delete(&t[k], id);
		CU_ASSERT_EQUAL_FATAL(rc[0], rc[1]);
		CU_ASSERT_EQUAL_FATAL(sums[0].events, sums[1].events);
		CU_ASSERT_EQUAL_FATAL(t[0].tier[0].counts.used,
				      kv_shared_state(sums[1].shared).used);
	}
	CU_ASSERT_EQUAL(t[0].hits, t[1].hits);
	CU_ASSERT_TRUE(t[0].hits > 100 && t[0].misses > 100);
	for (int c = 0; c < KV_COUNTS; c++)
		CU_ASSERT_EQUAL(t[0].tier[0].counts.count[c], t[1].tier[0].counts.count[c]);
	CU_ASSERT_EQUAL(t[0].tier[0].counts.used_most, kv_shared_state(sums[1].shared).used_most);
	for (int i = 0; i < 2; i++)
		kv_tiers_free(&t[i]);
	free(sums[1].shared);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"servers find each other's entries", test_found},
		{"promotion", test_promotion},
		{"write-through", test_write_through},
		{"operations under way", test_under_way},
		{"rejected while it is deleted", test_rejected},
		{"one server alone", test_alone},
		CU_TEST_INFO_NULL,
	};

	return unit_main("kvcache_tiers_shared", tests);
}
