/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of splitting the names of a folder into parts: each name is in exactly one part, whatever
 * the names are. Numbered names are divided evenly, with few probes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/slot.h"
#include "core/content/random.h"
#include "tests/unit.h"

enum { NAMES_MAX = 100000, PROBES_MAX = 48 };

static char (*names)[64];
static unsigned count;

static int by_bytes(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void sort_names(void)
{
	unsigned kept = 0;

	qsort(names, count, sizeof(names[0]), by_bytes);
	for (unsigned i = 0; i < count; i++) {
		if (!kept || strcmp(names[i], names[kept - 1]) != 0)
			memmove(names[kept++], names[i], sizeof(names[0]));
	}
	count = kept;
}

/* Answers a probe as a store does, with the smallest name that follows. */
static const char *follows(const char *after)
{
	unsigned low = 0, high = count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (strcmp(names[middle], after) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count ? names[low] : NULL;
}

static unsigned probe(struct split *s)
{
	char after[SPLIT_NAME_BYTES];
	unsigned probes = 0;

	split_begin(s);
	while (split_probe(s, after) && probes++ < PROBES_MAX)
		split_answer(s, follows(after));
	CU_ASSERT(probes <= PROBES_MAX);
	return probes;
}

/* Checks that each name is in exactly one part and that the names of a part are consecutive.
 * Returns the number of names in the largest part. */
static unsigned check_parts(uint32_t parts)
{
	char after[SPLIT_NAME_BYTES], until[SPLIT_NAME_BYTES], last[SPLIT_NAME_BYTES] = "";
	unsigned in_all = 0, largest = 0;
	struct split s;

	probe(&s);
	for (uint32_t part = 0; part < parts; part++) {
		unsigned in = 0;

		CU_ASSERT_EQUAL(split_range(&s, part, parts, after, until), count > 0);
		CU_ASSERT_STRING_EQUAL(after, last);
		CU_ASSERT(part + 1 == parts ? until[0] == '\0' : count == 0 || until[0]);
		strcpy(last, until);
		for (unsigned i = 0; i < count; i++)
			in += split_has(after, until, names[i]);
		in_all += in;
		largest = in > largest ? in : largest;
	}
	CU_ASSERT_EQUAL(in_all, count);
	return largest;
}

static void test_numbers(void)
{
	static const struct {
		const char *format;
		unsigned count, step; /* a step spreads names over their range, as hashes are */
	} sets[] = {
		{"img_%07u.npz", 600, 1},
		{"img_%07u_of_0050000.npz", 50000, 1},
		{"%06u/", 400, 1},
		{"part-%05u", 12, 1},
		{"sha/%08x.bin", 50000, 2654435769u},
		{"a/b/%04u", 5000, 1},
	};
	static const uint32_t parts[] = {2, 3, 7, 12, 64};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		count = sets[i].count;
		for (unsigned k = 0; k < count; k++)
			snprintf(names[k], sizeof(names[k]), sets[i].format, k * sets[i].step);
		sort_names();
		for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
			unsigned even = (count + parts[p] - 1) / parts[p];

			/* The bounds are estimates, so a part may be a fifth larger than an even
			 * one and have two more names. */
			CU_ASSERT(check_parts(parts[p]) <= even + even / 5 + 2);
		}
	}
}

/* Names without any order, similar or not, with bytes beyond ASCII. */
static void test_anything(void)
{
	static const char *const letters[] = {"ab", "0123456789",
					      "abcdefghijklmnopqrstuvwxyzABC/-_.",
					      "\xc3\xa9\xe6\x96\x87\xf0\x9f\x98\x80 ~!", "/"};
	struct random r = {.key = 7};

	for (unsigned round = 0; round < 200; round++) {
		const char *of = letters[random_next(&r) % 5];
		unsigned stem = (unsigned)(random_next(&r) % 20);

		count = (unsigned)(random_next(&r) % 40);
		for (unsigned i = 0; i < count; i++) {
			unsigned n = stem + 1 + (unsigned)(random_next(&r) % 8);

			for (unsigned k = 0; k < n; k++)
				names[i][k] = k < stem ? 's' : of[random_next(&r) % strlen(of)];
			names[i][n] = '\0';
		}
		sort_names();
		check_parts(1 + (uint32_t)(random_next(&r) % 20));
	}
}

static void test_few(void)
{
	static const char *const few[] = {"", "one", "one/", "a\0b", "\xf4\x8f\xbf\xbf"};
	char after[SPLIT_NAME_BYTES], until[SPLIT_NAME_BYTES];
	struct split s;

	for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
		count = few[i][0] != '\0';
		strcpy(names[0], few[i]);
		CU_ASSERT(probe(&s) <= 12);
		CU_ASSERT_EQUAL(split_range(&s, 0, 4, after, until), count);
		check_parts(4);
	}
	/* A name that is longer than any key cannot be used, but does no harm. */
	split_begin(&s);
	memset(after, 'x', sizeof(after) - 1);
	after[sizeof(after) - 1] = '\0';
	split_answer(&s, after);
	CU_ASSERT_FALSE(split_probe(&s, until));
}

/* A store whose answers are arbitrary: the probes still end. */
static void test_liar(void)
{
	struct random r = {.key = 9};
	char after[SPLIT_NAME_BYTES], name[16];
	struct split s;

	for (unsigned round = 0; round < 1000; round++) {
		unsigned probes = 0;

		split_begin(&s);
		while (split_probe(&s, after) && probes++ < 1000) {
			for (unsigned i = 0; i < sizeof(name); i++)
				name[i] = (char)(random_next(&r) % 256);
			name[sizeof(name) - 1] = '\0';
			split_answer(&s, random_next(&r) % 4 ? name : NULL);
		}
		CU_ASSERT(probes < 1000);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"numbers", test_numbers}, {"anything", test_anything}, {"few", test_few},
		{"liar", test_liar},       CU_TEST_INFO_NULL,
	};
	int rc;

	names = calloc(NAMES_MAX, sizeof(names[0]));
	rc = names ? unit_main("split", tests) : 1;
	free(names);
	return rc;
}
