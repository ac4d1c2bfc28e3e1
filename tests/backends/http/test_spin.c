/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of looking before sleeping: which waits look, as it succeeds always, never, or so often. */
#include "backends/http/native/internal.h"
#include "tests/unit.h"

enum { WAITS = 64000 };

/* How many of the waits look, where so many of each `of` looks succeed, evenly spread. */
static unsigned looks(unsigned succeed, unsigned of)
{
	struct spin s = {0};
	unsigned n = 0;

	for (unsigned i = 0; i < WAITS; i++) {
		if (!spin_now(&s))
			continue;
		spin_said(&s, n % of < succeed);
		n++;
	}
	return n;
}

static void test_shares(void)
{
	const struct {
		unsigned succeed, of, least, most;
	} cases[] = {
		{1, 1, WAITS, WAITS},
		/* After the first looks (3, 15 and 63 waits pass), one wait in 64. */
		{0, 1, WAITS / 64, WAITS / 64 + 3},
		{1, 2, WAITS / 64, WAITS / 40},
		/* In vain three times out of four: the level stays at the top but for one step. */
		{1, 4, WAITS / 64, WAITS / 50},
		/* Each success undoes half of what one in vain does. */
		{9, 10, WAITS / 2, WAITS},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned n = looks(cases[i].succeed, cases[i].of);

		CU_ASSERT(n >= cases[i].least);
		CU_ASSERT(n <= cases[i].most);
	}
}

/* After a slow time, looking is worth it again within six successes. */
static void test_recovers(void)
{
	struct spin s = {0};
	unsigned waits = 0;

	for (int i = 0; i < 1000; i++)
		if (spin_now(&s))
			spin_said(&s, false);
	for (; s.level; waits++)
		if (spin_now(&s))
			spin_said(&s, true);
	CU_ASSERT(waits <= 64 + 32 + 16 + 8 + 4 + 2);
	CU_ASSERT(spin_now(&s));
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"shares of waits", test_shares},
		{"fast again", test_recovers},
		CU_TEST_INFO_NULL,
	};

	return unit_main("spin", tests);
}
