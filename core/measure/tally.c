/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a phase on one rank: see tally.h. */
#include "core/measure/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"

static const struct measure common_measures[] = {TALLY_COMMON_LIST(MEASURE_ROW)};
static const struct figure common_figures[] = {TALLY_COMMON_FIGURES};

const struct columns tally_common_columns = {
	.measures = common_measures,
	.measure_count = TALLY_COMMON,
	.figures = common_figures,
	.figure_count = sizeof(common_figures) / sizeof(*common_figures),
};

static int tables_init(struct tally *t, const uint32_t *rows_max, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < t->schema->table_count && rc == 0; i++)
		rc = table_init(&t->tables[i], t->schema->tables[i], rows_max ? rows_max[i] : 0,
				err);
	return rc;
}

int tally_init(struct tally *t, const struct tally_schema *schema, const uint32_t *rows_max,
	       struct err *err)
{
	int rc;

	memset(t, 0, sizeof(*t));
	t->schema = schema;
	t->main_hist = schema->main_hist;
	/* Each has one element more than needed, so that NULL always means that there is no
	 * memory. */
	t->rank_row = calloc(schema->rank.measure_count + 1, sizeof(*t->rank_row));
	t->hists = calloc(schema->hist_count + 1, sizeof(*t->hists));
	t->tables = calloc(schema->table_count + 1, sizeof(*t->tables));
	t->timeline = calloc(1, sizeof(*t->timeline));
	t->steps = schema->steps ? calloc(1, sizeof(*t->steps)) : NULL;
	if (!t->rank_row || !t->hists || !t->tables || !t->timeline || (schema->steps && !t->steps))
		rc = err_set(err, -ENOMEM, "no memory for the results of a phase: %u histograms",
			     schema->hist_count);
	else
		rc = tables_init(t, rows_max, err);
	if (rc < 0) {
		tally_free(t);
		return rc;
	}
	timeline_init(t->timeline, 0);
	if (t->steps)
		t->steps->steps_per_row = 1;
	return 0;
}

int tally_init_like(struct tally *t, const struct tally *other, struct err *err)
{
	uint32_t rows_max[TALLY_TABLES_MAX];
	int rc;

	for (uint32_t i = 0; i < other->schema->table_count; i++)
		rows_max[i] = other->tables[i].rows_max;
	rc = tally_init(t, other->schema, rows_max, err);
	t->main_hist = other->main_hist;
	return rc;
}

void tally_free(struct tally *t)
{
	for (uint32_t i = 0; t->tables && i < t->schema->table_count; i++)
		table_free(&t->tables[i]);
	free(t->rank_row);
	free(t->hists);
	free(t->tables);
	free(t->timeline);
	free(t->steps);
	memset(t, 0, sizeof(*t));
}

void tally_clear(struct tally *t, uint64_t start_ns)
{
	memset(t->rank_row, 0, t->schema->rank.measure_count * sizeof(*t->rank_row));
	memset(t->hists, 0, t->schema->hist_count * sizeof(*t->hists));
	for (uint32_t i = 0; i < t->schema->table_count; i++)
		table_clear(&t->tables[i]);
	timeline_init(t->timeline, start_ns);
	if (t->steps)
		steps_init(t->steps);
	t->failure_count = 0;
}

void tally_add(struct tally *into, const struct tally *from)
{
	uint32_t kept = from->failure_count < TALLY_FAILURES ? from->failure_count : TALLY_FAILURES;

	INVARIANT(into->schema == from->schema, "words are added by their places in the schema");
	columns_merge(&into->schema->rank, into->rank_row, from->rank_row);
	for (uint32_t i = 0; i < into->schema->hist_count; i++)
		hist_merge(&into->hists[i], &from->hists[i]);
	for (uint32_t i = 0; i < into->schema->table_count; i++)
		table_add(&into->tables[i], &from->tables[i]);
	timeline_merge(into->timeline, from->timeline);
	if (from->steps && from->steps->rows)
		steps_copy(into->steps, from->steps, from->steps->rows);
	for (uint32_t i = 0; i < kept; i++)
		tally_fail(into, &from->failures[i]);
	into->failure_count += from->failure_count - kept;
}

const struct figure *tally_main_figure(const struct tally_schema *schema, const uint64_t *row)
{
	for (int i = 0; i < TALLY_MAIN_FIGURES && schema->main_figures[i]; i++) {
		const struct figure *f =
			columns_figure_named(&schema->rank, schema->main_figures[i]);

		/* A figure that is unknown (NaN) is not above 0, either. */
		if (f && figure_value(f, row) > 0)
			return f;
	}
	return NULL;
}

struct table *tally_table(const struct tally *t, const struct table_kind *kind)
{
	for (uint32_t i = 0; i < t->schema->table_count; i++)
		if (t->schema->tables[i] == kind)
			return &t->tables[i];
	return NULL;
}

void tally_fail(struct tally *t, const struct failure *f)
{
	if (t->failure_count < TALLY_FAILURES)
		t->failures[t->failure_count] = *f;
	t->failure_count++;
}
