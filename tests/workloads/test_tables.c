/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the tables of every workload: names are unique, also among the columns that results.h5
 * adds to a rank's row; targets name existing columns, and each role occurs once. */
#include <stdio.h>
#include <string.h>

#include "backends/queue/queue.h"
#include "core/measure/quantile.h"
#include "tests/unit.h"
#include "workloads/formats/format.h"
#include "workloads/formats/walk.h"
#include "workloads/workload.h"

static void check_unique(const char *const *names, unsigned count, const char *workload)
{
	for (unsigned i = 0; i < count; i++) {
		CU_ASSERT_PTR_NOT_NULL_FATAL(names[i]);
		for (unsigned k = 0; k < i; k++)
			if (strcmp(names[i], names[k]) == 0) {
				printf("%s: %s occurs twice\n", workload, names[i]);
				CU_FAIL("a name occurs twice");
			}
	}
}

/* Each figure tells how it is computed, and divides at least by something that it names. */
static void check_figure(const struct columns *c, const struct figure *f)
{
	char formula[FIGURE_FORMULA_BYTES];

	CU_ASSERT(f->unit && f->help);
	CU_ASSERT((f->value != NULL) == (f->formula != NULL));
	CU_ASSERT(f->value || (f->times > 0 && (f->above[0] || f->below[0])));
	figure_formula(c, f, formula);
	CU_ASSERT(strlen(formula) > 0 && strlen(formula) < FIGURE_FORMULA_BYTES - 1);
}

static void check_columns(const struct columns *c, const char *workload)
{
	const char *names[256] = {"rank", "node", "present"};
	unsigned seen[ROLES] = {0}, n = 3;

	CU_ASSERT_FATAL(c->measure_count + c->figure_count <= 256 - n);
	for (uint32_t i = 0; i < c->measure_count; i++) {
		names[n++] = c->measures[i].name;
		seen[c->measures[i].role]++;
		CU_ASSERT(c->measures[i].unit && c->measures[i].help);
	}
	for (uint32_t i = 0; i < c->figure_count; i++) {
		names[n++] = c->figures[i].name;
		seen[c->figures[i].role]++;
		check_figure(c, &c->figures[i]);
	}
	check_unique(names, n, workload);
	for (int r = 0; r < ROLES; r++) {
		bool several =
			r == ROLE_NONE || r == ROLE_ACCOUNT_STORAGE || r == ROLE_ACCOUNT_OTHER;

		if (seen[r] > 1 && !several)
			printf("%s: role %s occurs %u times\n", workload, role_name((enum role)r),
			       seen[r]);
		CU_ASSERT(several || seen[r] <= 1);
	}
}

static void columns_are_unique(void)
{
	for (const struct workload *const *w = workload_table(); *w; w++) {
		const struct tally_schema *s = (*w)->schema;
		const char *name = (*w)->section.name, *hists[64], *tables[16];

		check_columns(&s->rank, name);
		for (uint32_t i = 0; i < TALLY_COMMON; i++)
			CU_ASSERT_STRING_EQUAL(s->rank.measures[i].name,
					       tally_common_columns.measures[i].name);
		for (uint32_t i = 0; i < s->hist_count; i++)
			hists[i] = s->hists[i].name;
		check_unique(hists, s->hist_count, name);
		CU_ASSERT_PTR_NOT_NULL(s->main_figures[0]);
		for (int i = 0; i < TALLY_MAIN_FIGURES && s->main_figures[i]; i++)
			CU_ASSERT_PTR_NOT_NULL(columns_figure_named(&s->rank, s->main_figures[i]));
		CU_ASSERT(s->table_count <= TALLY_TABLES_MAX);
		for (uint32_t i = 0; i < s->table_count; i++) {
			tables[i] = s->tables[i]->name;
			check_columns(&s->tables[i]->columns, name);
		}
		check_unique(tables, s->table_count, name);
	}
}

static void check_target(const struct target *t, const struct tally_schema *s)
{
	bool found = t->hist && !*t->hist;

	CU_ASSERT(strncmp(t->name, "target_", 7) == 0 && t->label && t->help && t->unit);
	CU_ASSERT(strlen(t->name) < TARGET_NAME_BYTES && strlen(t->label) < TARGET_LABEL_BYTES);
	CU_ASSERT((t->figure != NULL) != (t->hist != NULL));
	if (t->figure) {
		const struct figure *f = columns_figure_named(&s->rank, t->figure);

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_STRING_EQUAL(f->unit, t->unit);
		return;
	}
	for (uint32_t i = 0; i < s->hist_count; i++)
		found = found || strcmp(s->hists[i].name, t->hist) == 0;
	CU_ASSERT_TRUE(found);
	CU_ASSERT_STRING_EQUAL(t->unit, "ns");
	CU_ASSERT(t->quantile >= 0 && t->quantile < QUANTILES);
}

static void targets_name_existing_columns(void)
{
	for (const struct workload *const *w = workload_table(); *w; w++) {
		const struct target *t = (*w)->section.targets;
		unsigned n = 0;

		for (; t && t->name; t++, n++)
			check_target(t, (*w)->schema);
		CU_ASSERT(n <= TARGETS_MAX);
	}
}

/* A reader has one of each for every sample in flight, and a node has thousands of them. So the
 * state of a format is small, and a queue has only the histograms that its owner requests. */
static void state_is_small(void)
{
	/* A walk has room for a tar head of 512 bytes and the state of another walk. */
	CU_ASSERT(sizeof(struct layout) + sizeof(struct walk) <= 704 + 384);
	CU_ASSERT(sizeof(struct queue) <= 2048);
	CU_ASSERT(sizeof(struct queue) < sizeof(struct hist));
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"state of formats and queues is small", state_is_small},
		{"names and roles of columns are unique", columns_are_unique},
		{"targets name existing columns", targets_name_existing_columns},
		CU_TEST_INFO_NULL,
	};

	return unit_main("tables of workloads", tests);
}
