/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers of a key-value cache: the waterfall against a slow model of it, and what servers do
 * differently, step by step. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/unit.h"
#include "tests/workloads/kvcache/slow_tiers.h"
#include "tests/workloads/kvcache/tiers_look.h"
#include "workloads/kvcache/tiers/tiers.h"

static struct slow_tiers slow; /* too large for a stack */

/* Compares the events of the tiers with those that the slow model has just told. */
struct comparison {
	int next, different;
};

static void compare_event(void *argument, const struct kv_event *e)
{
	static const char kinds[] = {[KV_EVENT_WRITE] = 'W',
				     [KV_EVENT_READ] = 'R',
				     [KV_EVENT_DEMOTE] = 'D',
				     [KV_EVENT_EVICT] = 'E'};
	struct comparison *c = argument;
	const struct slow_event *s = &slow.events[c->next++];

	c->different += c->next > slow.event_count || s->kind != kinds[e->kind] ||
			s->from != (int)e->from || s->to != (int)e->to || s->key != e->id.low ||
			s->size != e->bytes;
}

struct scenario {
	const char *name;
	double gpu, cpu, storage; /* capacities in bytes */
	uint64_t size_most;       /* sizes are uniform from 1 on */
	uint32_t operations, keys_back;
};

/* Half of the operations write the next key; others read, and some write again, one of the last
 * keys_back keys. */
static void compare_scenario(const struct scenario *x)
{
	const double limit[] = {x->gpu, x->cpu, x->storage};
	struct kv_tier_rules rules[SLOW_TIERS];
	struct kv_policy policy = kv_policy_mlperf();
	struct random random = {.key = 14};
	struct comparison c = {0};
	struct kv_tiers t;
	uint64_t key = 0;

	slow = (struct slow_tiers){.count = 0};
	for (int k = 0; k < SLOW_TIERS; k++) {
		slow.limit[k] = limit[k];
		rules[k] = kv_tier_mlperf(isinf(limit[k]) ? KV_UNLIMITED : (uint64_t)limit[k],
					  k == SLOW_TIERS - 1);
	}
	CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&t, &policy, rules, SLOW_TIERS), 0);
	t.event = compare_event;
	t.argument = &c;
	for (uint32_t i = 0; i < x->operations && !c.different; i++) {
		uint64_t kind = random_next(&random) % 20,
			 back = random_next(&random) % x->keys_back;
		uint64_t which = back < key ? key - back : key;
		uint64_t size = 1 + random_next(&random) % x->size_most;

		slow.event_count = c.next = 0;
		if (kind < 10)
			which = ++key;
		if (kind < 12) {
			slow_write(&slow, which, size);
			kv_tiers_write(&t, (struct kv_id){0, which}, size);
		} else {
			slow_read(&slow, which);
			kv_tiers_read(&t, (struct kv_id){0, which});
		}
		c.different += c.next != slow.event_count;
		for (int k = 0; k < SLOW_TIERS; k++)
			c.different += slow.used[k] != (double)t.tier[k].counts.used;
	}
	if (c.different)
		CU_FAIL(x->name);
	for (int k = 0; k < SLOW_TIERS; k++)
		CU_ASSERT_EQUAL(slow_tier_bytes(&slow, k), t.tier[k].counts.used);
	kv_tiers_free(&t);
}

/* Over 100,000 operations. */
static void test_slow_model(void)
{
	static const struct scenario scenarios[] = {
		{"option 1: storage alone", 0, 0, 100e3, 2000, 20000, 200},
		{"option 2: memory and storage", 0, 40e3, 100e3, 2000, 20000, 200},
		{"three tiers", 10007, 30011, 90001, 2000, 30000, 200},
		{"three tiers, storage without limit", 10007, 30011, INFINITY, 2000, 3000, 200},
		{"a small tier below a large one", 30011, 10007, 20011, 2000, 20000, 200},
		{"entries as large as tiers", 10007, 12007, 50021, 16000, 20000, 60},
		{"no processor's memory", 30011, 0, 60013, 3000, 10000, 200},
	};

	for (unsigned i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		compare_scenario(&scenarios[i]);
}

/* More entries than an attempt may evict: the last tier takes what is written nevertheless, others
 * give up. */
static void test_eviction_budget(void)
{
	enum { SMALL = 6000 };
	const struct scenario last = {"", 0, 0, SMALL, 1, SMALL, 1};
	struct kv_policy policy = kv_policy_mlperf();
	struct kv_tier_rules rules[] = {kv_tier_mlperf(SMALL * 2, false),
					kv_tier_mlperf(KV_UNLIMITED, true)};
	struct kv_tiers t;

	compare_scenario(&last);
	CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&t, &policy, rules, 2), 0);
	for (uint64_t i = 0; i < SMALL; i++)
		CU_ASSERT_EQUAL(kv_tiers_write(&t, (struct kv_id){0, i}, 1), 0);
	CU_ASSERT_EQUAL(kv_tiers_write(&t, (struct kv_id){0, SMALL}, SMALL * 2 * 0.75), 1);
	CU_ASSERT_EQUAL(t.tier[0].counts.count[KV_COUNT_DEMOTED_OUT], policy.evictions_max);
	kv_tiers_free(&t);
}

/* Events as words: "w0a" writes a into tier 0, "r1a" reads it, "d01a" demotes, "p10a" promotes,
 * "e1a" evicts, "x1a" deletes. */
struct story {
	char text[256];
};

static void story_event(void *argument, const struct kv_event *e)
{
	static const char kinds[] = "wrdpex";
	struct story *s = argument;
	size_t length = strlen(s->text);
	bool moves = e->kind == KV_EVENT_DEMOTE || e->kind == KV_EVENT_PROMOTE;
	char to[2] = {(char)('0' + e->to), 0};

	snprintf(s->text + length, sizeof(s->text) - length, "%s%c%u%s%c", length ? " " : "",
		 kinds[e->kind], e->from, moves ? to : "", (char)e->id.low);
}

static const struct kv_tier_rules whole = {
	.capacity = 100, .high = 1, .low = 1, .largest = 1, .trusted = 0.01};

/* script: "a" writes an entry of 40 bytes, "A" reads it, "-a" deletes it. Tiers have 100 bytes. */
static void story_check(const struct kv_policy *policy, const struct kv_tier_rules *rules,
			uint32_t tiers, const char *script, const char *wanted)
{
	struct story s = {""};
	struct kv_tiers t;

	CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&t, policy, rules, tiers), 0);
	t.event = story_event;
	t.argument = &s;
	for (; *script; script++) {
		if (*script == '-')
			kv_tiers_delete(&t, (struct kv_id){0, (uint64_t) * ++script});
		else if (*script >= 'a')
			kv_tiers_write(&t, (struct kv_id){0, (uint64_t)*script}, 40);
		else
			kv_tiers_read(&t, (struct kv_id){0, (uint64_t)*script - 'A' + 'a'});
	}
	if (strcmp(s.text, wanted) != 0) {
		fprintf(stderr, "told   %s\nwanted %s\n", s.text, wanted);
		CU_FAIL("another story");
	}
	kv_tiers_free(&t);
}

#define SERVER .depth = 10, .evictions_min = 1000, .evictions_max = 5000, .sketch_keys = 1000

static void test_lru_and_fifo(void)
{
	static const struct kv_policy lru = {SERVER, .order = KV_LRU},
				      fifo = {SERVER, .order = KV_FIFO};
	const struct kv_tier_rules rules[] = {whole, whole};

	story_check(&lru, rules, 2, "abAc", "w0a w0b r0a d01b w0c");
	story_check(&fifo, rules, 2, "abAc", "w0a w0b r0a d01a w0c");
	/* An entry keeps its age when it is demoted: b is older than a, which was read below. */
	story_check(&lru, rules, 2, "abcdAef",
		    "w0a w0b d01a w0c d01b w0d r1a e1b d01c w0e e1c d01d w0f");
	/* Deleted entries are gone; a read of them is a miss, and a second write of one that is
	 * there does nothing. */
	story_check(&lru, rules, 2, "ab-aAbbc", "w0a w0b x0a w0c");
}

static void test_promotion(void)
{
	static const struct kv_policy move = {SERVER, .write = KV_WRITE_MOVE},
				      back = {SERVER, .write = KV_WRITE_BACK};
	struct kv_tier_rules rules[] = {whole, whole, whole};

	rules[1].promote_after = rules[2].promote_after = 1;
	/* Room is made above before a moves up. */
	story_check(&move, rules, 3, "abcA", "w0a w0b d01a w0c r1a d01b p10a");
	/* The copy below stays; when the one above is old again, it is dropped, and not demoted. */
	story_check(&back, rules, 3, "abcAdef",
		    "w0a w0b d01a w0c r1a d01b p10a d12b d01c w0d e0a w0e d12c d01d w0f");
	/* The second access promotes where two are asked for; a write is the first one. */
	rules[1].promote_after = 3;
	story_check(&move, rules, 3, "abcAA", "w0a w0b d01a w0c r1a r1a d01b p10a");
}

static void test_write_through(void)
{
	static const struct kv_policy through = {SERVER, .write = KV_WRITE_THROUGH};
	struct kv_tier_rules rules[] = {whole, whole, whole};

	/* What has a copy below is dropped. The last copy is evicted from the last tier. */
	story_check(&through, rules, 2, "abc", "w0a w1a w0b w1b e0a w0c e1a w1c");
	story_check(&through, rules, 2, "ab-aA", "w0a w1a w0b w1b x0a x1a");
	rules[1].capacity = 1000;
	story_check(&through, rules, 2, "abcA", "w0a w1a w0b w1b e0a w0c w1c r1a");
}

static void test_admission(void)
{
	static const struct kv_policy move = {SERVER, .dropped = true};
	struct kv_tier_rules rules[] = {whole, whole};

	/* Only what was asked for twice is demoted, as it saves a drive's life. */
	rules[1].admit_after = 2;
	story_check(&move, rules, 2, "aAbcd", "w0a r0a w0b d01a w0c e0b w0d");
	/* An entry that was evicted is remembered. */
	story_check(&move, rules, 2, "abcAadBbe",
		    "w0a w0b e0a w0c e0b w0a e0c w0d d01a w0b e0d w0e");
}

static void test_watermarks(void)
{
	static const struct kv_policy lru = {SERVER};
	struct kv_tier_rules rules[] = {whole, whole};

	rules[0].capacity = 200;
	rules[0].high = 0.9;
	rules[0].low = 0.5;
	/* Four entries fill 160 of 180; the fifth evicts until 100 are not exceeded. */
	story_check(&lru, rules, 2, "abcdef", "w0a w0b w0c w0d d01a d01b e1a d01c w0e w0f");
}

/* Without "forced", a tier never holds more than its capacity. */
static void test_refused(void)
{
	struct kv_policy policy = {SERVER};
	struct kv_tier_rules rules[] = {whole, whole};
	struct kv_tiers t;

	CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&t, &policy, rules, 2), 0);
	CU_ASSERT_EQUAL(kv_tiers_write(&t, (struct kv_id){0, 1}, 101), -ENOSPC);
	CU_ASSERT_EQUAL(kv_tiers_write(&t, (struct kv_id){0, 1}, 100), 0);
	CU_ASSERT_EQUAL(kv_tiers_write(&t, (struct kv_id){0, 1}, 100), -EEXIST);
	CU_ASSERT_EQUAL(kv_tiers_write(&t, (struct kv_id){0, 2}, UINT64_MAX), -ENOSPC);
	CU_ASSERT_EQUAL(kv_tiers_read(&t, (struct kv_id){0, 2}), -ENOENT);
	CU_ASSERT_EQUAL(tiers_look(&t, (struct kv_id){0, 1}), 0);
	CU_ASSERT_EQUAL(tiers_look(&t, (struct kv_id){0, 2}), -ENOENT);
	CU_ASSERT_EQUAL(kv_tiers_delete(&t, (struct kv_id){0, 2}), -ENOENT);
	CU_ASSERT_EQUAL(t.refused, 2);
	CU_ASSERT_EQUAL(t.misses, 1);
	CU_ASSERT_EQUAL(t.present, 1);
	CU_ASSERT_EQUAL(t.tier[0].counts.used, 100);
	kv_tiers_free(&t);
}

/* Every policy, at random: lists are sorted, and used bytes and copies agree with them. */
static void check_lists(const struct kv_tiers *t)
{
	for (uint32_t k = 0; k < t->count; k++) {
		uint64_t used = 0, entries = 0;

		for (uint32_t j = 0; j <= k; j++) {
			uint64_t age = 0;

			for (uint32_t n = t->tier[k].lists[j].oldest; n != KV_NONE;) {
				const struct kv_entry *e = kv_entry_at(&t->entries, n);

				CU_ASSERT(t->policy.order == KV_FIFO || e->age > age);
				CU_ASSERT(e->tiers >> k & 1 && e->home[k] == j);
				age = e->age;
				used += e->bytes;
				entries++;
				n = e->link[k].newer;
			}
		}
		CU_ASSERT_EQUAL(used, t->tier[k].counts.used);
		CU_ASSERT_EQUAL(entries, t->tier[k].counts.entries);
		CU_ASSERT(used <= t->tier[k].rules.capacity);
	}
}

static void test_all_policies(void)
{
	enum { TIERS = 4, OPERATIONS = 3000 };

	for (uint32_t variant = 0; variant < 3 * 2 * 2 * 3; variant++) {
		struct kv_policy policy = {SERVER, .write = variant % 3, .order = variant / 3 % 2,
					   .dropped = variant / 6 % 2};
		struct kv_tier_rules rules[TIERS];
		struct random random = {.key = variant};
		struct kv_tiers t;

		for (uint32_t k = 0; k < TIERS; k++) {
			rules[k] = whole;
			rules[k].capacity = 1000 << k;
			rules[k].low = 0.8;
			rules[k].admit_after = rules[k].promote_after = variant / 12;
		}
		CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&t, &policy, rules, TIERS), 0);
		for (uint32_t i = 0; i < OPERATIONS; i++) {
			struct kv_id id = {0, random_next(&random) % (20 + i / 10)};
			uint64_t kind = random_next(&random) % 8;

			if (kind == 0)
				kv_tiers_delete(&t, id);
			else if (kind < 4)
				kv_tiers_read(&t, id);
			else
				kv_tiers_write(&t, id, 1 + random_next(&random) % 300);
			if (i % 100 == 0)
				check_lists(&t);
		}
		CU_ASSERT(t.hits > 100 && t.misses > 100);
		kv_tiers_free(&t);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"a slow model decides the same", test_slow_model},
		{"victims of one attempt", test_eviction_budget},
		{"LRU and FIFO", test_lru_and_fifo},
		{"promotion on a hit", test_promotion},
		{"write-through", test_write_through},
		{"admission by frequency", test_admission},
		{"watermarks", test_watermarks},
		{"refused", test_refused},
		{"all policies", test_all_policies},
		CU_TEST_INFO_NULL,
	};

	return unit_main("tiers", tests);
}
