/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what cannot be made since there is no memory: whichever of its allocations fails, it says
 * so, and closing it gives back the others (the address sanitizer looks). The program is linked so
 * that the allocations of haul's own code come here first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/tally.h"
#include "tests/unit.h"
#include "workloads/common/slots.h"
#include "workloads/io/io.h"

/* The allocation that fails, from 0 on (UINT32_MAX: none), and how many there were. */
static uint32_t fails = UINT32_MAX, seen;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static bool allocation_fails(void)
{
	return fails != UINT32_MAX && seen++ == fails;
}

void *__wrap_malloc(size_t bytes)
{
	return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

static struct slots slots;
static struct crew_thread member;
static struct tally tally;

static int open_slots(struct err *err)
{
	slots = (struct slots){.member = &member, .depth = 4, .slot_bytes = sizeof(struct slot)};
	return slots_open(&slots, err);
}

static void close_slots(void)
{
	slots_close(&slots);
}

static int open_tally(struct err *err)
{
	return tally_init(&tally, io_workload.schema, NULL, err);
}

static void close_tally(void)
{
	tally_free(&tally);
}

static const struct {
	unsigned allocations;
	int (*open)(struct err *err);
	void (*close)(void);
	bool closes; /* also after an error */
	const char *says;
} rows[] = {
	{3, open_slots, close_slots, true, "no memory for 4 operations in flight"},
	{4, open_tally, close_tally, false, "no memory for "},
};

static void test_each_allocation(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err err = {0};
		uint32_t n = 0;
		int rc;

		for (;; n++) {
			fails = n;
			seen = 0;
			rc = rows[i].open(&err);
			fails = UINT32_MAX;
			if (rc == 0)
				break;
			CU_ASSERT_EQUAL(rc, -ENOMEM);
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rows[i].says));
			if (rows[i].closes)
				rows[i].close();
		}
		CU_ASSERT(n >= rows[i].allocations);
		rows[i].close();
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"each allocation", test_each_allocation},
		CU_TEST_INFO_NULL,
	};

	return unit_main("no_memory", tests);
}
