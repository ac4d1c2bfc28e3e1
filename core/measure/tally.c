/* Results of a phase on one rank: see tally.h. */
#include "core/measure/tally.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REDUCE_WORDS = 128 };

static const uint64_t second_ns = 1000000000;

static int reduce_some(const struct measure *measures, uint32_t n, struct group *g, uint64_t *row);
static void fold_to_fit(struct timeline *t, uint64_t offset_ns);

int tally_init(struct tally *t, const struct tally_schema *schema, uint32_t epoch_capacity,
	       struct err *err)
{
	size_t epoch_words = (size_t)epoch_capacity * schema->epoch.measure_count;

	memset(t, 0, sizeof(*t));
	t->schema = schema;
	t->epoch_capacity = epoch_capacity;
	/* One word or histogram more than none, so that NULL always means no memory. */
	t->rank_row = calloc(schema->rank.measure_count + 1, sizeof(*t->rank_row));
	t->epoch_rows = calloc(epoch_words + 1, sizeof(*t->epoch_rows));
	t->hists = calloc(schema->hist_count ? schema->hist_count : 1, sizeof(*t->hists));
	t->timeline = calloc(1, sizeof(*t->timeline));
	if (t->rank_row == NULL || t->epoch_rows == NULL || t->hists == NULL ||
	    t->timeline == NULL) {
		tally_free(t);
		return err_set(err, -ENOMEM, "no memory for %u histograms and %u epochs of results",
			       schema->hist_count, epoch_capacity);
	}
	timeline_init(t->timeline, 0);
	return 0;
}

void tally_free(struct tally *t)
{
	free(t->endpoints);
	free(t->rank_row);
	free(t->epoch_rows);
	free(t->hists);
	free(t->timeline);
	memset(t, 0, sizeof(*t));
}

double tally_cpu_per_gb(const uint64_t *row)
{
	uint64_t bytes = row[TALLY_BYTES_READ] + row[TALLY_BYTES_WRITTEN];

	return bytes ? (double)(row[TALLY_CPU_USER_NS] + row[TALLY_CPU_SYSTEM_NS]) / (double)bytes
		     : NAN;
}

void tally_merge_row(const struct columns *columns, uint64_t *into, const uint64_t *from)
{
	for (uint32_t i = 0; i < columns->measure_count; i++) {
		switch (columns->measures[i].merge) {
		case MERGE_SUM:
			into[i] += from[i];
			break;
		case MERGE_MAX:
			into[i] = from[i] > into[i] ? from[i] : into[i];
			break;
		case MERGE_MIN:
			into[i] = from[i] < into[i] ? from[i] : into[i];
			break;
		case MERGES:
			break;
		}
	}
}

/* On the stack, in pieces that are the same on all ranks: no rank can fail alone. */
int tally_reduce_row(const struct columns *columns, struct group *g, uint64_t *row)
{
	for (uint32_t at = 0; at < columns->measure_count; at += REDUCE_WORDS) {
		uint32_t n = columns->measure_count - at;
		int rc = reduce_some(columns->measures + at, n < REDUCE_WORDS ? n : REDUCE_WORDS, g,
				     row + at);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Sums in one reduction; maxima, and minima as maxima of what they lack, in another. */
static int reduce_some(const struct measure *measures, uint32_t n, struct group *g, uint64_t *row)
{
	uint64_t sums[REDUCE_WORDS], maxima[REDUCE_WORDS];
	uint32_t sum_count = 0, max_count = 0;
	int rc = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (measures[i].merge == MERGE_SUM)
			sums[sum_count++] = row[i];
		else
			maxima[max_count++] = measures[i].merge == MERGE_MIN ? ~row[i] : row[i];
	}
	if (sum_count)
		rc = group_reduce(g, MERGE_SUM, sums, sum_count);
	if (rc == 0 && max_count)
		rc = group_reduce(g, MERGE_MAX, maxima, max_count);
	if (rc < 0 || g->rank != 0)
		return rc;
	sum_count = 0;
	max_count = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (measures[i].merge == MERGE_SUM)
			row[i] = sums[sum_count++];
		else if (measures[i].merge == MERGE_MIN)
			row[i] = ~maxima[max_count++];
		else
			row[i] = maxima[max_count++];
	}
	return 0;
}

void timeline_init(struct timeline *t, uint64_t start_ns)
{
	memset(t, 0, sizeof(*t));
	t->start_ns = start_ns;
	t->interval_ns = second_ns;
}

void timeline_add(struct timeline *t, uint64_t now_ns, enum tally_second what, uint64_t amount)
{
	uint64_t offset = now_ns > t->start_ns ? now_ns - t->start_ns : 0, row;

	fold_to_fit(t, offset);
	row = offset / t->interval_ns;
	t->row[row][what] += amount;
	if (row >= t->rows)
		t->rows = (uint32_t)row + 1;
}

void timeline_add_span(struct timeline *t, uint64_t from_ns, uint64_t to_ns, enum tally_second what)
{
	uint64_t from = from_ns > t->start_ns ? from_ns - t->start_ns : 0;
	uint64_t to = to_ns > t->start_ns ? to_ns - t->start_ns : 0;

	if (from >= to)
		return;
	fold_to_fit(t, to - 1);
	while (from < to) {
		uint64_t row = from / t->interval_ns;
		uint64_t part = t->interval_ns - from % t->interval_ns;

		if (part > to - from)
			part = to - from;
		t->row[row][what] += part;
		if (row >= t->rows)
			t->rows = (uint32_t)row + 1;
		from += part;
	}
}

/* Doubles the interval until the row of offset_ns exists. */
static void fold_to_fit(struct timeline *t, uint64_t offset_ns)
{
	while (offset_ns / t->interval_ns >= TALLY_SECONDS)
		timeline_fold(t, 2 * t->interval_ns);
}

void timeline_fold(struct timeline *t, uint64_t interval_ns)
{
	while (t->interval_ns < interval_ns) {
		uint32_t rows = (t->rows + 1) / 2;

		for (uint32_t i = 0; i < rows; i++) {
			for (unsigned w = 0; w < SECOND_WORDS; w++) {
				uint64_t second = 2 * i + 1 < t->rows ? t->row[2 * i + 1][w] : 0;

				t->row[i][w] = t->row[2 * i][w] + second;
			}
		}
		memset(t->row[rows], 0, (t->rows - rows) * sizeof(t->row[0]));
		t->rows = rows;
		t->interval_ns *= 2;
	}
}

/* Both count from their own start: row i of one is the same time of the phase as of the other. */
void timeline_merge(struct timeline *into, const struct timeline *from)
{
	timeline_fold(into, from->interval_ns);
	for (uint32_t i = 0; i < from->rows; i++) {
		uint32_t row = (uint32_t)(i * from->interval_ns / into->interval_ns);

		for (unsigned w = 0; w < SECOND_WORDS; w++)
			into->row[row][w] += from->row[i][w];
		if (row >= into->rows)
			into->rows = row + 1;
	}
}

void tally_fail(struct tally *t, const struct failure *f)
{
	if (t->failure_count < TALLY_FAILURES)
		t->failures[t->failure_count] = *f;
	t->failure_count++;
}
