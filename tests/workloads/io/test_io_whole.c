/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of whole objects: drawn sizes are the same for writing, reading, stat and cleaning; a mix
 * has the requested shares and never requests an object that does not exist. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/unit.h"
#include "tests/workloads/io/io_fixture.h"
#include "workloads/io/mix.h"
#include "workloads/io/set.h"

/* The shares of sizes are exact, even few objects have the mean and the deviation, and the largest
 * size is known. A size does not depend on who asks for it. */
static void test_sizes(void)
{
	static const struct {
		struct io_size_option list[3];
		uint32_t count;
		double mean, stdev;
	} cases[] = {
		{{{4096, 9, 0, 0}, {1 << 20, 1, 0, 0}}, 2, 0.9 * 4096 + 0.1 * 1048576, 313344},
		{{{1000, 1, 3000, 0}}, 1, 2000, 577.35},
		{{{50000, 2, 0, 80000}}, 1, 50000, 80000},
		{{{10, 1, 0, 0}, {70, 0, 0, 0}, {20, 3, 0, 0}}, 3, 17.5, 4.33},
	};
	enum { N = 2000 };

	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		uint64_t largest = 0, small = 0;
		double sum = 0, squares = 0;
		struct io_sizes s, again;

		CU_ASSERT_EQUAL(io_sizes_check(cases[c].list, cases[c].count, "/sizes", NULL), 0);
		io_sizes_init(&s, cases[c].list, cases[c].count, 7, N, 42);
		io_sizes_init(&again, cases[c].list, cases[c].count, 9, N, 42);
		for (uint64_t i = 0; i < N; i++) {
			uint64_t size = io_sizes_at(&s, i);

			CU_ASSERT_EQUAL(size, io_sizes_at(&again, i));
			largest = size > largest ? size : largest;
			small += size == cases[c].list[0].size;
			sum += (double)size;
			squares += (double)size * (double)size;
		}
		CU_ASSERT_DOUBLE_EQUAL(sum / N, cases[c].mean, 0.002 * cases[c].mean);
		CU_ASSERT_DOUBLE_EQUAL(sqrt(squares / N - sum / N * (sum / N)), cases[c].stdev,
				       0.06 * cases[c].stdev);
		CU_ASSERT_EQUAL(io_sizes_largest(&s), largest);
		CU_ASSERT_DOUBLE_EQUAL(io_sizes_mean(cases[c].list, cases[c].count, 7),
				       cases[c].mean, 0.001 * cases[c].mean);
		CU_ASSERT_TRUE(c != 0 || small == N / 10 * 9);
		CU_ASSERT_TRUE(c != 3 || small == N / 4);
	}
}

static void test_sizes_refused(void)
{
	static const struct {
		struct io_size_option list[2];
		const char *says;
	} cases[] = {
		{{{10, 1, 20, 5}}, "/sizes/0/stdev: \"to\" draws sizes evenly"},
		{{{10, 1, 0, 0}, {10, 1, 9, 0}}, "/sizes/1/to: must not be less than size"},
		{{{10, 0, 0, 0}, {10, 0, 0, 0}}, "/sizes/0/share: all shares are 0"},
	};

	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct err err = {0};

		CU_ASSERT_EQUAL(io_sizes_check(cases[c].list, 2 - (c == 0), "/sizes", &err),
				-EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[c].says));
	}
}

/* Operations in flight end in any order. Each operation's object is checked against a list of the
 * existing objects. */
static void run_mix(const struct io_options *o, uint64_t names, uint64_t operations,
		    uint64_t done[IO_KINDS])
{
	struct io_mix_turn *flight = calloc(o->depth, sizeof(*flight));
	unsigned *exists = calloc(names, sizeof(*exists)), *users = calloc(names, sizeof(*users));
	unsigned *changing = calloc(names, sizeof(*changing)), wrong = 0;
	struct random random = {.key = 7};
	uint64_t n = 0, living = names;
	uint32_t count = 0;
	struct io_mix m;

	CU_ASSERT_EQUAL_FATAL(io_mix_open(&m, o, names, 42), 0);
	memset(done, 0, IO_KINDS * sizeof(*done));
	for (uint64_t i = 0; i < names; i++)
		exists[i] = 1;
	while (n < operations || count) {
		if (n < operations && count < o->depth && (!count || random_next(&random) % 3)) {
			struct io_mix_turn t = io_mix_next(&m, n++);

			done[t.kind]++;
			flight[count++] = t;
			if (t.kind == IO_LIST)
				continue;
			wrong += t.name >= names || changing[t.name];
			wrong += t.kind == IO_PUT && t.changes ? exists[t.name] : !exists[t.name];
			wrong += t.kind == IO_DELETE && users[t.name];
			users[t.name]++;
			changing[t.name] += t.changes;
		} else {
			uint32_t i = (uint32_t)(random_next(&random) % count);
			struct io_mix_turn t = flight[i];

			flight[i] = flight[--count];
			io_mix_end(&m, &t, false);
			if (t.kind == IO_LIST)
				continue;
			users[t.name]--;
			changing[t.name] -= t.changes;
			if (t.changes) {
				exists[t.name] = t.kind == IO_PUT;
				living += t.kind == IO_PUT ? 1 : -1ull;
			}
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(io_mix_stands(&m), living == names);
	io_mix_close(&m);
	free(flight);
	free(exists);
	free(users);
	free(changing);
}

static void test_mix(void)
{
	static const struct io_mix_options mixes[] = {
		{45, 15, 30, 10, 0}, {0, 1, 0, 1, 0}, {1, 1, 1, 1, 1},
		{10, 0, 0, 0, 1},    {0, 0, 0, 0, 0},
	};
	static const uint64_t depths[] = {1, 7, 64};
	enum { N = 60000 };

	for (unsigned i = 0; i < 5 * 3 * 2; i++) {
		struct io_options o = {.operation = IO_DO_MIXED,
				       .read_share = 0.25,
				       .mix = mixes[i % 5],
				       .depth = depths[i / 5 % 3],
				       .order = i / 15 ? IO_REPLACEMENT : IO_SEQUENTIAL};
		uint64_t done[IO_KINDS], names = o.depth * MIX_OBJECTS_PER_OPERATION + i;
		double shares[IO_KINDS];

		run_mix(&o, names, N, done);
		io_mix_shares(&o, shares);
		for (unsigned k = 0; k < IO_KINDS; k++)
			CU_ASSERT_DOUBLE_EQUAL((double)done[k] / N, shares[k], 0.015);
	}
}

/* After a failed write, the mix knows that an object may be missing. */
static void test_mix_lost(void)
{
	struct io_options o = {
		.operation = IO_DO_MIXED, .mix = {0, 1, 0, 1, 0}, .depth = 1, .objects = 8};
	struct io_mix m;
	bool made = false;

	CU_ASSERT_EQUAL_FATAL(io_mix_open(&m, &o, 8, 42), 0);
	for (uint64_t n = 0; n < 100 && !made; n++) {
		struct io_mix_turn t = io_mix_next(&m, n);

		made = t.kind == IO_PUT && t.changes;
		CU_ASSERT_FALSE(m.lost);
		io_mix_end(&m, &t, made);
	}
	CU_ASSERT_TRUE(made && m.lost);
	CU_ASSERT_FALSE(io_mix_stands(&m));
	io_mix_close(&m);
}

static const char mem[] = "\"mem://\", \"capacity\": \"256 MiB\"";
static const char varied[] =
	"\"objects\": 20, \"block\": 4096, \"sizes\": [{\"size\": 100, \"share\": 2}, "
	"{\"size\": 9000, \"to\": 30000}, {\"size\": 20000, \"stdev\": 30000}]";

/* Bytes of all objects of all ranks, computed from the options of the test. */
static uint64_t bytes_of_all(const struct fixture *f, uint64_t objects)
{
	const struct io_options *o = f->job.phases[0].options;
	uint64_t sum = 0;
	struct io_set set;

	io_set_of(&set, o, f->job.seed, f->ranks);
	for (uint64_t i = 0; i < objects * f->ranks; i++)
		sum += io_set_bytes(&set, i / objects, i % objects);
	return sum;
}

static void test_written_and_read(void)
{
	static const uint32_t ranks[] = {1, 3, 8};
	static const char *const last[] = {
		"\"operation\": \"read\", \"verify\": \"full\"",
		("\"operation\": \"read\", \"verify\": \"full\", \"order\": \"random\", \"depth\": 5, "
		 "\"threads\": 3, \"shift\": \"rank\""),
		"\"operation\": \"write\"",
		"\"operation\": \"stat\", \"verify\": \"full\"",
		"\"operation\": \"delete\", \"batch\": 7",
	};

	for (unsigned i = 0; i < 3 * 5; i++) {
		const char *phases[] = {"\"operation\": \"write\", \"depth\": 3", last[i % 5]};
		struct fixture *f = io_run(mem, varied, phases, 2, ranks[i / 5], NULL);
		uint64_t bytes = bytes_of_all(f, 20), objects = 20 * f->ranks;

		io_expect_ok(f);
		CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 0);
		CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE), objects);
		CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE_BYTES), i % 5 < 3 ? bytes : 0);
		CU_ASSERT_EQUAL(fixture_sum(f, TALLY_BYTES_READ), i % 5 < 2 ? bytes : 0);
		CU_ASSERT_EQUAL(fixture_sum(f, IO_GETS), i % 5 < 2 ? objects : 0);
		CU_ASSERT_EQUAL(fixture_sum(f, IO_PUTS), i % 5 == 2 ? objects : 0);
		CU_ASSERT_TRUE(fixture_sum(f, IO_FIRST_DONE_BYTES) <=
			       fixture_sum(f, IO_DONE_BYTES));
		fixture_free(f);
	}
}

/* All objects have one size, which is not a multiple of the block. */
static void test_size_no_multiple_of_block(void)
{
	static const char *const common[] = {
		"\"objects\": 5, \"size\": 10001, \"block\": 4096",
		"\"objects\": 5, \"size\": 77, \"block\": 4096",
	};
	static const uint64_t bytes[] = {50005, 385}, blocks[] = {15, 5};
	static const char *const orders[] = {"sequential", "random"};

	for (unsigned i = 0; i < 4; i++) {
		char read[128];
		const char *phases[] = {"\"operation\": \"write\"", read};
		struct fixture *f;

		snprintf(read, sizeof(read),
			 "\"operation\": \"read\", \"verify\": \"full\", \"threads\": 2, "
			 "\"order\": \"%s\"",
			 orders[i / 2]);
		f = io_run(mem, common[i % 2], phases, 2, 2, NULL);
		io_expect_ok(f);
		CU_ASSERT_EQUAL(fixture_sum(f, TALLY_BYTES_READ), 2 * bytes[i % 2]);
		CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE_BYTES), 2 * bytes[i % 2]);
		CU_ASSERT_EQUAL(fixture_sum(f, IO_READS), 2 * blocks[i % 2]);
		CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 0);
		fixture_free(f);
	}
}

/* A store that does not write in place: all kinds of operations are done in their shares, and
 * verified. Afterwards the set can be deleted, and is not read as if it were complete. */
static void test_mixed_on_an_object_store(void)
{
	static const char common[] =
		"\"objects\": 60, \"block\": 4096, \"sizes\": [{\"size\": 3000, \"to\": 20000}]";
	static const char *const mixed[] = {
		"\"operation\": \"mixed\", \"mix\": {\"get\": 45, \"put\": 15, \"stat\": 30, "
		"\"delete\": 10}, \"verify\": \"full\", \"passes\": 50, \"depth\": 3, \"threads\": 2",
		"\"operation\": \"mixed\", \"mix\": {\"get\": 1, \"put\": 2, \"stat\": 1, \"delete\": 1, "
		"\"list\": 1}, \"verify\": \"full\", \"passes\": 50, \"order\": \"replacement\"",
		"\"operation\": \"mixed\", \"read_share\": 0.8, \"verify\": \"full\", \"passes\": 50",
	};
	static const double shares[][IO_KINDS] = {{0.45, 0.15, 0.3, 0.1, 0},
						  {1 / 6., 2 / 6., 1 / 6., 1 / 6., 1 / 6.},
						  {0.8, 0.2, 0, 0, 0}};
	static const unsigned counts[IO_KINDS] = {IO_GETS, IO_PUTS, IO_STATS, IO_DELETES, IO_LISTS};

	for (unsigned i = 0; i < 3; i++) {
		const char *phases[] = {"\"operation\": \"write\"", mixed[i],
					"\"operation\": \"read\""};
		struct fixture *f = io_run(mem, common, phases, 2, 2, NULL);
		double done = (double)fixture_sum(f, IO_DONE);

		io_expect_ok(f);
		CU_ASSERT_EQUAL(done, 2 * 60 * 50);
		CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 0);
		CU_ASSERT_EQUAL(fixture_sum(f, IO_ABSENT), 0);
		for (unsigned k = 0; k < IO_KINDS; k++)
			CU_ASSERT_DOUBLE_EQUAL((double)fixture_sum(f, counts[k]) / done,
					       shares[i][k], 0.03);
		CU_ASSERT_EQUAL(hist_count(&f->tallies[0].hists[IO_HIST_GET]) +
					hist_count(&f->tallies[1].hists[IO_HIST_GET]),
				fixture_sum(f, IO_GETS));
		fixture_free(f);
		f = io_run(mem, common, phases, 3, 2, NULL);
		if (i < 2)
			io_expect_refused(f, -EINVAL, "so there is nothing to read");
		else
			io_expect_ok(f);
		fixture_free(f);
		phases[2] = "\"operation\": \"delete\"";
		f = io_run(mem, common, phases, 3, 2, NULL);
		io_expect_ok(f);
		fixture_free(f);
	}
}

static void test_create_on_an_object_store(void)
{
	static const char *const phases[] = {"\"operation\": \"create\"",
					     "\"operation\": \"stat\", \"verify\": \"full\""};
	struct fixture *f = io_run(mem, "\"objects\": 30, \"depth\": 4", phases, 1, 3, NULL);

	io_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_CREATES), 90);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_CLOSES), 90);
	fixture_free(f);
	f = io_run(mem, "\"objects\": 30, \"depth\": 4", phases, 2, 3, NULL);
	io_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_STATS), 90);
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 0);
	fixture_free(f);
}

/* Errors after the warm-up are reported as such: no operation was done, but the warm-up had
 * ended. */
static void test_errors_alone_are_no_warmup(void)
{
	static const char *const phases[] = {
		"\"operation\": \"write\", \"warmup\": \"1 ns\", \"on_error\": \"count\""};
	struct fixture *f =
		io_run("\"mem://\", \"capacity\": 4096",
		       "\"objects\": 4, \"size\": 65536, \"block\": 65536", phases, 1, 2, NULL);

	io_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE), 0);
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 8);
	CU_ASSERT_PTR_NULL(strstr(f->message, "warm-up"));
	fixture_free(f);
}

static void test_ended_within_the_warmup(void)
{
	static const char *const phases[] = {"\"operation\": \"write\", \"warmup\": \"1 h\""};
	struct fixture *f = io_run(mem, "\"objects\": 4, \"size\": 65536", phases, 1, 2, NULL);

	io_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(f->message, "ended within its warm-up"));
	fixture_free(f);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"sizes", test_sizes},
		{"sizes refused", test_sizes_refused},
		{"mix", test_mix},
		{"mix that loses an object", test_mix_lost},
		{"written and read", test_written_and_read},
		{"a size that is not a multiple of the block", test_size_no_multiple_of_block},
		{"mixed on an object store", test_mixed_on_an_object_store},
		{"create on an object store", test_create_on_an_object_store},
		{"errors alone are no warm-up", test_errors_alone_are_no_warmup},
		{"ended within the warm-up", test_ended_within_the_warmup},
		CU_TEST_INFO_NULL,
	};

	return unit_main("io_whole", tests);
}
