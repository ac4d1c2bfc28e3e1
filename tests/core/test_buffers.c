/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the buffer pool: slots are aligned, do not overlap, and are handed out once. */
#include <CUnit/CUnit.h>
#include <errno.h>
#include <string.h>

#include "core/buffers.h"
#include "core/content/random.h"
#include "tests/unit.h"

static void slots_are_apart_and_aligned(void)
{
	struct buffers b;
	struct err err = {0};
	uint8_t *slots[9];

	CU_ASSERT_EQUAL_FATAL(buffers_init(&b, 9, 300001, &err), 0);
	CU_ASSERT_EQUAL(b.slot_bytes, 303104);
	CU_ASSERT_EQUAL((uintptr_t)b.base % (2 << 20), 0);
	CU_ASSERT_EQUAL(b.mapped_bytes % (2 << 20), 0);
	CU_ASSERT_TRUE(b.mapped_bytes >= 9 * b.slot_bytes);
	for (int i = 0; i < 9; i++) {
		slots[i] = buffers_take(&b);
		CU_ASSERT_PTR_NOT_NULL_FATAL(slots[i]);
		CU_ASSERT_EQUAL((uintptr_t)slots[i] % 4096, 0);
		memset(slots[i], i, b.slot_bytes);
	}
	CU_ASSERT_PTR_NULL(buffers_take(&b));
	for (int i = 0; i < 9; i++) {
		CU_ASSERT_EQUAL(slots[i][0], i);
		CU_ASSERT_EQUAL(slots[i][b.slot_bytes - 1], i);
		buffers_give(&b, slots[i]);
	}
	CU_ASSERT_EQUAL(b.free_count, 9);
	CU_ASSERT_PTR_EQUAL(buffers_take(&b), slots[8]);
	buffers_free(&b);
}

/* A small pool takes no more memory than its slots. */
static void small_pools(void)
{
	struct buffers b;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(buffers_init(&b, 3, 65536, &err), 0);
	CU_ASSERT_EQUAL(b.mapped_bytes, 3 * 65536);
	memset(b.base, 1, b.mapped_bytes);
	buffers_free(&b);
	CU_ASSERT_EQUAL_FATAL(buffers_init(&b, 1, BUFFERS_SMALL_BYTES + 1, &err), 0);
	CU_ASSERT_EQUAL(b.mapped_bytes, 2 << 20);
	buffers_free(&b);
}

/* No slot is handed out twice, in whatever order slots are taken and returned. */
static void no_slot_is_out_twice(void)
{
	enum { SLOTS = 5 };
	struct buffers b;
	struct err err = {0};
	uint8_t *out[SLOTS];
	unsigned count = 0;

	CU_ASSERT_EQUAL_FATAL(buffers_init(&b, SLOTS, 1, &err), 0);
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t bits = random_at(1, 0, i);

		if (bits & 1) {
			uint8_t *slot = buffers_take(&b);

			CU_ASSERT_EQUAL(slot == NULL, count == SLOTS);
			for (unsigned k = 0; k < count; k++)
				CU_ASSERT_PTR_NOT_EQUAL(slot, out[k]);
			if (slot)
				out[count++] = slot;
		} else if (count) {
			unsigned k = (unsigned)(bits >> 8) % count;

			buffers_give(&b, out[k]);
			out[k] = out[--count];
		}
	}
	buffers_free(&b);
}

static void refuses_what_is_too_much(void)
{
	struct buffers b;
	struct err err = {0};

	CU_ASSERT_EQUAL(buffers_init(&b, UINT32_MAX, UINT64_MAX / 8, &err), -ENOMEM);
	CU_ASSERT_TRUE(strlen(err.text) > 10);
	memset(&err, 0, sizeof(err));
	CU_ASSERT_EQUAL(buffers_init(&b, 4, UINT64_C(1) << 50, &err), -ENOMEM);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "4 buffers"));
	buffers_free(&b);
	CU_ASSERT_EQUAL(buffers_init(&b, 0, 4096, &err), 0);
	CU_ASSERT_PTR_NULL(buffers_take(&b));
	buffers_free(&b);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"slots are apart and aligned", slots_are_apart_and_aligned},
		{"small pools", small_pools},
		{"no slot is out twice", no_slot_is_out_twice},
		{"too much is refused in a sentence", refuses_what_is_too_much},
		CU_TEST_INFO_NULL,
	};

	return unit_main("buffers", tests);
}
