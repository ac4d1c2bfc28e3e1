/* SPDX-License-Identifier: Apache-2.0 */
/* Entry table and count-min sketch of a key-value cache. */
#include "core/content/random.h"
#include "tests/unit.h"
#include "workloads/kvcache/tiers/entries.h"
#include "workloads/kvcache/tiers/policy.h"

enum { MANY = 1 << 20 };

static struct kv_id id_of(uint64_t n)
{
	return (struct kv_id){n % 7, n / 7};
}

/* A million entries come and go. Each is found by its id as long as it is there, under the same
 * number. */
static void test_find(void)
{
	static uint32_t numbers[MANY];
	struct kv_entries e;
	uint32_t wrong = 0;

	CU_ASSERT_EQUAL_FATAL(kv_entries_init(&e, kv_entry_bytes(3)), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		wrong += kv_entries_find(&e, id_of(i)) != KV_NONE;
		numbers[i] = kv_entries_add(&e, id_of(i));
	}
	for (uint32_t i = 0; i < MANY; i++)
		wrong += kv_entries_find(&e, id_of(i)) != numbers[i];
	for (uint32_t i = 0; i < MANY; i += 2)
		kv_entries_remove(&e, numbers[i]);
	for (uint32_t i = 0; i < MANY; i++)
		wrong += kv_entries_find(&e, id_of(i)) != (i % 2 ? numbers[i] : KV_NONE);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(e.live, MANY / 2);
	/* What was removed makes room for new entries. */
	for (uint32_t i = 0; i < MANY; i += 2)
		kv_entries_add(&e, id_of(MANY + i));
	CU_ASSERT_EQUAL(e.made, MANY);
	kv_entries_free(&e);
}

static void test_new_entry_is_zero(void)
{
	struct kv_entries e;
	struct kv_entry *entry;

	CU_ASSERT_EQUAL_FATAL(kv_entries_init(&e, kv_entry_bytes(KV_TIERS_MAX)), 0);
	entry = kv_entry_at(&e, kv_entries_add(&e, id_of(1)));
	entry->bytes = entry->age = 5;
	entry->link[KV_TIERS_MAX - 1].newer = 5;
	kv_entries_remove(&e, kv_entries_find(&e, id_of(1)));
	entry = kv_entry_at(&e, kv_entries_add(&e, id_of(2)));
	CU_ASSERT(entry->bytes == 0 && entry->age == 0 && entry->tiers == 0 && entry->uses == 0);
	CU_ASSERT_EQUAL(entry->link[KV_TIERS_MAX - 1].newer, 0);
	kv_entries_free(&e);
}

/* At most 128 bytes per entry, with the greatest number of tiers. */
static void test_memory(void)
{
	struct kv_entries e;

	CU_ASSERT_EQUAL_FATAL(kv_entries_init(&e, kv_entry_bytes(KV_TIERS_MAX)), 0);
	for (uint32_t i = 0; i < MANY; i++)
		kv_entries_add(&e, id_of(i));
	CU_ASSERT(kv_entries_memory(&e) <= 128ull * MANY);
	kv_entries_free(&e);
}

static void test_sketch(void)
{
	enum { KEYS = 1000 };
	struct kv_sketch s;
	uint32_t low = 0, high = 0;

	CU_ASSERT_EQUAL_FATAL(kv_sketch_init(&s, 4 * KEYS), 0);
	for (uint64_t i = 0; i < KEYS; i++)
		for (uint64_t n = 0; n <= i % 4; n++)
			kv_sketch_add(&s, mix64(i + 1));
	for (uint64_t i = 0; i < KEYS; i++) {
		uint32_t count = kv_sketch_count(&s, mix64(i + 1));

		low += count < i % 4 + 1;
		high += count > i % 4 + 1;
	}
	CU_ASSERT_EQUAL(low, 0);
	CU_ASSERT(high < KEYS / 50);
	kv_sketch_free(&s);
}

/* What was popular once is forgotten; a counter does not overflow. */
static void test_sketch_forgets(void)
{
	struct kv_sketch s;

	CU_ASSERT_EQUAL_FATAL(kv_sketch_init(&s, 64), 0);
	for (int i = 0; i < 300; i++)
		kv_sketch_add(&s, 1);
	CU_ASSERT_EQUAL(kv_sketch_count(&s, 1), 255);
	for (int i = 300; i < 640; i++)
		kv_sketch_add(&s, 1);
	CU_ASSERT_EQUAL(kv_sketch_count(&s, 1), 127);
	CU_ASSERT_EQUAL(s.added, 0);
	kv_sketch_free(&s);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"entries are found", test_find},
		{"a new entry is zero", test_new_entry_is_zero},
		{"memory per entry", test_memory},
		{"sketch", test_sketch},
		{"sketch forgets", test_sketch_forgets},
		CU_TEST_INFO_NULL,
	};

	return unit_main("entries", tests);
}
