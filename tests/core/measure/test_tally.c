/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of tallies, tables, timelines and steps. */
#include <CUnit/CUnit.h>
#include <math.h>
#include <string.h>

#include "core/content/random.h"
#include "core/measure/tally.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"

/* clang-format off */
#define OWN_LIST(X) \
	X(OWN_FIRST_NS, "first_ns", "ns", MIN, "when the first sample came") \
	X(OWN_SAMPLES, "samples", "", SUM, "samples read") \
	X(OWN_LARGEST, "largest", "bytes", MAX, "largest sample")
/* clang-format on */
enum { OWN_BEFORE = TALLY_COMMON - 1, OWN_LIST(MEASURE_ENUM) MEASURES };
static const struct measure measures[] = {TALLY_COMMON_LIST(MEASURE_ROW) OWN_LIST(MEASURE_ROW)};

static const struct hist_kind kinds[] = {{.name = "read", .help = "reads"},
					 {.name = "open", .help = "opens"}};
static const struct table_kind epochs = {
	.name = "epochs", .columns = {.measures = measures, .measure_count = 2}, .rows_max = 3};
static const struct table_kind *const tables[] = {&epochs};
static const struct tally_schema schema = {
	.rank = {.measures = measures, .measure_count = MEASURES},
	.hists = kinds,
	.hist_count = 2,
	.tables = tables,
	.table_count = 1,
	.steps = true,
};
static const struct tally_schema bare = {
	.rank = {.measures = measures, .measure_count = TALLY_COMMON}};

static void row_of(uint64_t *row, uint32_t n, uint32_t rank)
{
	for (uint32_t i = 0; i < n; i++)
		row[i] = random_at(5, rank, i) >> 20;
}

static void starts_empty(void)
{
	struct tally t;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(tally_init(&t, &schema, NULL, &err), 0);
	CU_ASSERT_PTR_EQUAL(t.schema, &schema);
	CU_ASSERT_PTR_EQUAL(tally_table(&t, &epochs), &t.tables[0]);
	CU_ASSERT_EQUAL(t.tables[0].rows, 0);
	CU_ASSERT_EQUAL(t.steps->rows, 0);
	for (unsigned i = 0; i < MEASURES; i++)
		CU_ASSERT_EQUAL(t.rank_row[i], 0);
	CU_ASSERT_EQUAL(hist_count(&t.hists[1]), 0);
	CU_ASSERT_EQUAL(t.timeline->interval_ns, 1000000000);
	tally_free(&t);
	CU_ASSERT_EQUAL_FATAL(tally_init(&t, &bare, NULL, &err), 0);
	CU_ASSERT_PTR_NULL(tally_table(&t, &epochs));
	CU_ASSERT_PTR_NULL(t.steps);
	tally_free(&t);
	tally_free(&t);
}

static void processor_time_per_gigabyte(void)
{
	uint64_t row[TALLY_COMMON] = {[TALLY_BYTES_READ] = 3000000000,
				      [TALLY_BYTES_WRITTEN] = 1000000000,
				      [TALLY_CPU_USER_NS] = 1500000000,
				      [TALLY_CPU_SYSTEM_NS] = 500000000};
	const uint64_t none[TALLY_COMMON] = {[TALLY_CPU_USER_NS] = 1500000000};
	const struct figure *f = columns_figure(&tally_common_columns, ROLE_CPU_PER_BYTE);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_DOUBLE_EQUAL(figure_value(f, row), 0.5, 1e-12);
	CU_ASSERT(isnan(figure_value(f, none)));
}

/* Two tallies of one rank, as if one had counted all; and then none. */
static void adding_equals_counting_in_one(void)
{
	struct tally one, other;
	uint64_t *row;
	const uint64_t ns[STEP_PARTS] = {7, 8, 9};

	CU_ASSERT_EQUAL_FATAL(tally_init(&one, &schema, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(tally_init(&other, &schema, NULL, NULL), 0);
	one.rank_row[OWN_SAMPLES] = 3;
	one.rank_row[OWN_LARGEST] = 50;
	other.rank_row[OWN_SAMPLES] = 4;
	other.rank_row[OWN_LARGEST] = 20;
	hist_record(&one.hists[1], 100);
	hist_record(&other.hists[1], 200);
	row = table_numbered(&one.tables[0], 1);
	row[1] = 10;
	row = table_numbered(&other.tables[0], 2);
	row[1] = 30;
	table_row(&other.tables[0], 0)[1] = 20;
	timeline_add(other.timeline, 5000000000, SECOND_OPERATIONS, 6);
	steps_add(other.steps, 2, ns);
	for (int i = 0; i < TALLY_FAILURES + 2; i++)
		tally_fail(&other, &(struct failure){.error = -i});
	tally_fail(&one, &(struct failure){.error = -99});
	tally_add(&one, &other);
	CU_ASSERT_EQUAL(one.rank_row[OWN_SAMPLES], 7);
	CU_ASSERT_EQUAL(one.rank_row[OWN_LARGEST], 50);
	CU_ASSERT_EQUAL(hist_count(&one.hists[1]), 2);
	CU_ASSERT_EQUAL(one.tables[0].rows, 2);
	CU_ASSERT_EQUAL(table_row(&one.tables[0], 0)[1], 30);
	CU_ASSERT_EQUAL(table_row(&one.tables[0], 1)[1], 30);
	CU_ASSERT_EQUAL(one.timeline->row[5][SECOND_OPERATIONS], 6);
	CU_ASSERT_EQUAL(one.steps->rows, 3);
	CU_ASSERT_EQUAL(one.steps->row[2].sum_ns[0], 7);
	CU_ASSERT_EQUAL(one.failure_count, TALLY_FAILURES + 3);
	CU_ASSERT_EQUAL(one.failures[1].error, 0);
	tally_clear(&one, 77);
	CU_ASSERT_EQUAL(one.rank_row[OWN_SAMPLES], 0);
	CU_ASSERT_EQUAL(hist_count(&one.hists[1]), 0);
	CU_ASSERT_EQUAL(one.tables[0].rows, 0);
	CU_ASSERT_EQUAL(table_numbered(&one.tables[0], 2)[1], 0);
	CU_ASSERT_EQUAL(one.timeline->rows, 0);
	CU_ASSERT_EQUAL(one.timeline->start_ns, 77);
	CU_ASSERT_EQUAL(one.steps->rows, 0);
	CU_ASSERT_EQUAL(one.failure_count, 0);
	tally_free(&one);
	tally_free(&other);
}

static void merging_goes_by_the_table(void)
{
	uint64_t into[MEASURES], from[MEASURES], was[MEASURES];

	row_of(into, MEASURES, 1);
	row_of(from, MEASURES, 2);
	memcpy(was, into, sizeof(was));
	columns_merge(&schema.rank, into, from);
	for (unsigned i = 0; i < MEASURES; i++) {
		uint64_t low = was[i] < from[i] ? was[i] : from[i];

		if (measures[i].merge == MERGE_SUM)
			CU_ASSERT_EQUAL(into[i], was[i] + from[i]);
		if (measures[i].merge == MERGE_MAX)
			CU_ASSERT_EQUAL(into[i], was[i] + from[i] - low);
		if (measures[i].merge == MERGE_MIN)
			CU_ASSERT_EQUAL(into[i], low);
	}
}

/* More words than one piece of the reduction has, so that the borders between pieces are tested. */
enum { WIDE = 300 };

static int reduces_rows(struct group *g, void *argument)
{
	struct measure wide[WIDE];
	struct columns columns = {.measures = wide, .measure_count = WIDE};
	uint64_t row[WIDE], merged[WIDE], other[WIDE];
	int rc;

	(void)argument;
	for (unsigned i = 0; i < WIDE; i++)
		wide[i] = (struct measure){.name = "x",
					   .merge = (enum merge)(random_at(1, 0, i) % MERGES)};
	row_of(row, WIDE, g->rank);
	rc = columns_reduce(&columns, g, row);
	if (rc < 0)
		return rc;
	row_of(merged, WIDE, 0);
	for (uint32_t r = 1; r < g->size; r++) {
		row_of(other, WIDE, r);
		columns_merge(&columns, merged, other);
	}
	row_of(other, WIDE, g->rank);
	return memcmp(row, g->rank == 0 ? merged : other, sizeof(row)) ? -1 : 0;
}

static void reducing_equals_merging_rows(void)
{
	struct err err = {0};

	CU_ASSERT_EQUAL(thread_group_run(1, reduces_rows, NULL, &err), 0);
	CU_ASSERT_EQUAL(thread_group_run(7, reduces_rows, NULL, &err), 0);
	CU_ASSERT_EQUAL(thread_group_run(64, reduces_rows, NULL, &err), 0);
}

static uint64_t total(const struct timeline *t, enum tally_second what)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < TIMELINE_ROWS; i++)
		sum += t->row[i][what];
	return sum;
}

static void time_folds_and_keeps_sums(void)
{
	const uint64_t second = 1000000000, start = 7 * second + 5;
	static struct timeline t;
	uint64_t bytes = 0;

	timeline_init(&t, start);
	timeline_add(&t, start - 1, SECOND_BYTES_READ, 1); /* before the start: in the first row */
	bytes++;
	for (uint64_t i = 0; i < 5000; i++) {
		timeline_add(&t, start + i * second + second / 2, SECOND_BYTES_READ, i);
		timeline_add(&t, start + i * second, SECOND_OPERATIONS, 1);
		bytes += i;
		CU_ASSERT_TRUE(t.rows <= TIMELINE_ROWS);
	}
	CU_ASSERT_EQUAL(t.interval_ns, 8 * second);
	CU_ASSERT_EQUAL(t.rows, 625);
	CU_ASSERT_EQUAL(total(&t, SECOND_BYTES_READ), bytes);
	CU_ASSERT_EQUAL(total(&t, SECOND_OPERATIONS), 5000);
	for (uint32_t i = 0; i < t.rows; i++)
		CU_ASSERT_EQUAL(t.row[i][SECOND_OPERATIONS], 8);
	timeline_fold(&t, 64 * second);
	CU_ASSERT_EQUAL(t.interval_ns, 64 * second);
	CU_ASSERT_EQUAL(t.rows, 79);
	CU_ASSERT_EQUAL(t.row[78][SECOND_OPERATIONS], 5000 - 78 * 64);
	CU_ASSERT_EQUAL(total(&t, SECOND_BYTES_READ), bytes);
	timeline_fold(&t, second); /* the timeline is already coarser */
	CU_ASSERT_EQUAL(t.interval_ns, 64 * second);
}

static void the_far_future_has_a_row(void)
{
	static struct timeline t;

	timeline_init(&t, 0);
	timeline_add(&t, UINT64_MAX, SECOND_OPERATIONS, 3);
	CU_ASSERT_EQUAL(total(&t, SECOND_OPERATIONS), 3);
	CU_ASSERT_TRUE(t.rows <= TIMELINE_ROWS);
	timeline_init(&t, 0);
	timeline_add_span(&t, UINT64_MAX - 10, UINT64_MAX, SECOND_STALLED_NS);
	CU_ASSERT_EQUAL(total(&t, SECOND_STALLED_NS), 10);
}

static void spans_are_shared_out(void)
{
	const uint64_t second = 1000000000;
	static struct timeline t, whole;
	uint64_t at = 0, stalled = 0;

	timeline_init(&t, 0);
	timeline_add_span(&t, second / 2, 3 * second + second / 4, SECOND_STALLED_NS);
	CU_ASSERT_EQUAL(t.rows, 4);
	CU_ASSERT_EQUAL(t.row[0][SECOND_STALLED_NS], second / 2);
	CU_ASSERT_EQUAL(t.row[1][SECOND_STALLED_NS], second);
	CU_ASSERT_EQUAL(t.row[2][SECOND_STALLED_NS], second);
	CU_ASSERT_EQUAL(t.row[3][SECOND_STALLED_NS], second / 4);
	timeline_add_span(&t, second, second, SECOND_STALLED_NS);
	timeline_add_span(&t, 2 * second, second, SECOND_STALLED_NS);
	timeline_add_span(&t, 4 * second, 5 * second,
			  SECOND_STALLED_NS); /* ends at the end of a row */
	CU_ASSERT_EQUAL(t.rows, 5);
	CU_ASSERT_EQUAL(t.row[4][SECOND_STALLED_NS], second);

	/* No row contains more than its interval, whatever the pieces. */
	timeline_init(&whole, 3);
	for (uint64_t i = 0; i < 4000; i++) {
		uint64_t length = random_at(1, 0, i) % (2 * second),
			 gap = random_at(2, 0, i) % second;

		timeline_add_span(&whole, 3 + at, 3 + at + length, SECOND_STALLED_NS);
		at += length + gap;
		stalled += length;
	}
	CU_ASSERT_EQUAL(total(&whole, SECOND_STALLED_NS), stalled);
	for (uint32_t i = 0; i < whole.rows; i++)
		CU_ASSERT_TRUE(whole.row[i][SECOND_STALLED_NS] <= whole.interval_ns);
}

/* Merged timelines equal one timeline of everything, also where one ran longer and is coarser. */
static void merging_equals_adding_all(void)
{
	const uint64_t second = 1000000000;
	static struct timeline a, b, both, other;
	static const uint64_t starts[2] = {100, 5555};

	timeline_init(&a, starts[0]);
	timeline_init(&b, starts[1]);
	timeline_init(&both, 0);
	for (uint64_t i = 0; i < 3000; i++) {
		uint64_t bits = random_at(6, 0, i);
		uint64_t now = bits % ((i & 1 ? 5000 : 300) * second);

		timeline_add(i & 1 ? &a : &b, starts[!(i & 1)] + now, SECOND_OPERATIONS,
			     bits >> 60);
		timeline_add(&both, now, SECOND_OPERATIONS, bits >> 60);
	}
	CU_ASSERT_TRUE(a.interval_ns > b.interval_ns);
	other = b;
	timeline_merge(&other, &a);
	timeline_merge(&a, &b);
	CU_ASSERT_EQUAL(a.interval_ns, both.interval_ns);
	CU_ASSERT_EQUAL(a.rows, both.rows);
	CU_ASSERT_EQUAL(memcmp(a.row, both.row, sizeof(a.row)), 0);
	CU_ASSERT_EQUAL(memcmp(other.row, both.row, sizeof(a.row)), 0);
	CU_ASSERT_EQUAL(other.start_ns, starts[1]);
}

static void first_failures_are_kept_all_counted(void)
{
	struct tally t;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(tally_init(&t, &schema, NULL, &err), 0);
	for (uint32_t i = 0; i < 40; i++) {
		struct failure f = {.rank = i, .error = -5};

		tally_fail(&t, &f);
	}
	CU_ASSERT_EQUAL(t.failure_count, 40);
	for (uint32_t i = 0; i < TALLY_FAILURES; i++)
		CU_ASSERT_EQUAL(t.failures[i].rank, i);
	tally_free(&t);
}

/* Rows that are in no use are neither read nor written, so they take no memory. */
static void copies_touch_rows_in_use_alone(void)
{
	static struct timeline t, t_copy;
	static struct steps s, s_copy;

	timeline_init(&t, 5);
	timeline_add(&t, 5, SECOND_OPERATIONS, 7);
	memset(&t_copy, 0xff, sizeof(t_copy));
	timeline_copy(&t_copy, &t, 2);
	CU_ASSERT_EQUAL(t_copy.start_ns, 5);
	CU_ASSERT_EQUAL(t_copy.rows, 2);
	CU_ASSERT_EQUAL(t_copy.interval_ns, t.interval_ns);
	CU_ASSERT_EQUAL(t_copy.row[0][SECOND_OPERATIONS], 7);
	CU_ASSERT_EQUAL(t_copy.row[1][SECOND_OPERATIONS], 0);
	CU_ASSERT_EQUAL(t_copy.row[2][SECOND_OPERATIONS], UINT64_MAX);
	steps_init(&s);
	steps_add(&s, 0, (uint64_t[STEP_PARTS]){1, 2, 3});
	memset(&s_copy, 0xff, sizeof(s_copy));
	steps_copy(&s_copy, &s, 2);
	CU_ASSERT_EQUAL(s_copy.rows, 2);
	CU_ASSERT_EQUAL(s_copy.steps_per_row, 1);
	CU_ASSERT_EQUAL(memcmp(s_copy.row, s.row, 2 * sizeof(s.row[0])), 0);
	CU_ASSERT_EQUAL(s_copy.row[2].count, UINT64_MAX);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"starts empty", starts_empty},
		{"processor time per gigabyte", processor_time_per_gigabyte},
		{"merging goes by the table", merging_goes_by_the_table},
		{"adding equals counting in one", adding_equals_counting_in_one},
		{"reducing equals merging rows", reducing_equals_merging_rows},
		{"time folds and keeps sums", time_folds_and_keeps_sums},
		{"the far future has a row", the_far_future_has_a_row},
		{"spans are shared out", spans_are_shared_out},
		{"merging timelines equals adding all", merging_equals_adding_all},
		{"copies touch the rows in use alone", copies_touch_rows_in_use_alone},
		{"the first failures are kept, all are counted",
		 first_failures_are_kept_all_counted},
		CU_TEST_INFO_NULL,
	};

	return unit_main("tally", tests);
}
