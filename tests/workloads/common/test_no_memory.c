/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what cannot be made since there is no memory: whichever of its allocations fails, it says
 * so, and closing it gives back the others (the address sanitizer looks). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/tally.h"
#include "tests/libs/doubles/failing_memory.h"
#include "tests/unit.h"
#include "workloads/common/slots.h"
#include "workloads/io/io.h"

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
		bool failed = true;

		for (; failed; n++) {
			int rc;

			failing_memory_begin(n);
			rc = rows[i].open(&err);
			failed = failing_memory_end();
			CU_ASSERT_EQUAL(rc, failed ? -ENOMEM : 0);
			if (failed)
				CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rows[i].says));
			if (!failed || rows[i].closes)
				rows[i].close();
		}
		CU_ASSERT(n > rows[i].allocations);
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
