/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of ranges whose values are doubled. */
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "plan/series/series.h"
#include "tests/unit.h"

static void ranges(void)
{
	static const struct {
		const char *text, *values; /* NULL: no range */
	} cases[] = {
		{"1..16", "1,2,4,8,16"},
		{"1..12", "1,2,4,8,12"},
		{"3..4", "3,4"},
		{"64 KiB..1 MiB", "64 KiB,128 KiB,256 KiB,512 KiB,1 MiB"},
		{"1 KiB..3000", "1 KiB,2 KiB,3000"},
		{"512..2 KiB", "512,1 KiB,2 KiB"},
		{"4..4", NULL},
		{"8..4", NULL},
		{"0..4", NULL},
		{"-1..4", NULL},
		{"1..x", NULL},
		{"a..b", NULL},
		{"1...4", NULL},
		{"4", NULL},
		{"..4", NULL},
		{"4..", NULL},
		{"1..18446744073709551615", NULL},
		{"1..99999999999999999999", NULL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *text = cases[i].text;
		char value[DOUBLING_TEXT_BYTES], all[512] = "";
		struct doubling d;
		bool range = doubling_begin(&d, text, text + strlen(text));

		CU_ASSERT_EQUAL(range, cases[i].values != NULL);
		while (range && doubling_next(&d, value)) {
			strcat(all, *all ? "," : "");
			strcat(all, value);
		}
		if (cases[i].values)
			CU_ASSERT_STRING_EQUAL(all, cases[i].values);
	}
}

/* The text may go on behind the range. */
static void within(void)
{
	static const char text[] = "1..4,99";
	char value[DOUBLING_TEXT_BYTES];
	struct doubling d;
	unsigned n = 0;

	CU_ASSERT(doubling_begin(&d, text, strchr(text, ',')));
	while (doubling_next(&d, value))
		n++;
	CU_ASSERT_EQUAL(n, 3);
	CU_ASSERT_STRING_EQUAL(value, "4");
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"ranges and what is none", ranges},
		{"a range within a text", within},
		CU_TEST_INFO_NULL,
	};

	return unit_main("doubling", tests);
}
