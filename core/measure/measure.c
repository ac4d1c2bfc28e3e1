/* Rows of measures: merged one by one, or reduced over a group. See measure.h. */
#include "core/measure/measure.h"

#include <string.h>

enum { REDUCE_WORDS = 128 };

static int reduce_some(const struct measure *measures, uint32_t n, struct group *g, uint64_t *row);

const struct figure *columns_figure(const struct columns *columns, enum role role)
{
	for (uint32_t i = 0; i < columns->figure_count; i++)
		if (columns->figures[i].role == role)
			return &columns->figures[i];
	return NULL;
}

const struct figure *columns_figure_named(const struct columns *columns, const char *name)
{
	for (uint32_t i = 0; i < columns->figure_count; i++)
		if (strcmp(columns->figures[i].name, name) == 0)
			return &columns->figures[i];
	return NULL;
}

void columns_merge(const struct columns *columns, uint64_t *into, const uint64_t *from)
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

/* Works on the stack, in pieces that are the same on all ranks, so that no rank can fail alone. */
int columns_reduce(const struct columns *columns, struct group *g, uint64_t *row)
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

/* One reduction adds sums. Another takes maxima, and minima as maxima of their complements. */
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
