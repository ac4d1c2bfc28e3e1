/* Roles for files of version 1, found by the names of columns. Those files have no roles, but only
 * tables that are known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/account.h"
#include "results-schema/read_phase.h"

static const struct {
	const char *name;
	enum role role;
} old_roles[] = {{"au", ROLE_UTILISATION},
		 {"au_without_skew", ROLE_UTILISATION_WITHOUT_SKEW},
		 {"au_mlperf", ROLE_UTILISATION_MLPERF},
		 {"bytes_rate_last_done", ROLE_BYTE_RATE},
		 {"bytes_rate_first_done", ROLE_BYTE_RATE_FIRST},
		 {"rate_last_done", ROLE_OPERATION_RATE},
		 {"rate_first_done", ROLE_OPERATION_RATE_FIRST},
		 {"write_rate", ROLE_BYTE_RATE},
		 {"samples_per_second", ROLE_ITEM_RATE},
		 {"samples", ROLE_ITEMS},
		 {"cpu_s_per_GB", ROLE_CPU_PER_BYTE},
		 {"au_wall_ns", ROLE_MEASURED_TIME},
		 {"wall_sum_ns", ROLE_ALL_TIME},
		 {"last_done_ns", ROLE_RANK_DONE},
		 {"evaluation", ROLE_EVALUATION},
#define ACCOUNT_OLD_ROLE(id, name, words, sort, help) {#name "_ns", ROLE_ACCOUNT_##sort},
		 ACCOUNT_LIST(ACCOUNT_OLD_ROLE)};

static void table_old_roles(struct results_table *t)
{
	for (uint32_t c = 0; c < t->column_count; c++)
		for (size_t i = 0; i < sizeof(old_roles) / sizeof(*old_roles); i++)
			if (strcmp(t->columns[c].name, old_roles[i].name) == 0)
				t->columns[c].role = old_roles[i].role;
}

/* Only trainings have accounts. Other phases use column names such as queue_ns for other things. */
static bool keeps_accounts(const struct results_table *t)
{
	return results_column(t, "compute_ns") >= 0;
}

static void forget_accounts(struct results_table *t)
{
	for (uint32_t c = 0; c < t->column_count; c++)
		if (t->columns[c].role >= ROLE_ACCOUNT_COMPUTE &&
		    t->columns[c].role <= ROLE_ACCOUNT_OTHER)
			t->columns[c].role = ROLE_NONE;
}

/* Newer files have one figure in place of two measures of old files. */
static void add_starved(struct results_table *t)
{
	double value = results_value(t, 0, "runnable_ns") / results_value(t, 0, "wall_sum_ns");
	struct results_column *columns;
	union results_cell *cells;

	if (isnan(value) || t->row_count != 1)
		return;
	columns = realloc(t->columns, (t->column_count + 1) * sizeof(*columns));
	if (columns)
		t->columns = columns;
	cells = realloc(t->cells, (t->column_count + 1) * sizeof(*cells));
	if (cells)
		t->cells = cells;
	if (!columns || !cells)
		return;
	columns[t->column_count] = (struct results_column){
		.name = "threads_starved", .role = ROLE_STARVED, .real = true};
	cells[t->column_count++].real = value;
}

void read_old_rank_roles(struct results_table *ranks)
{
	table_old_roles(ranks);
	if (!keeps_accounts(ranks))
		forget_accounts(ranks);
}

void read_old_headline(struct results_table *merged)
{
	/* The merged row has the columns of the ranks' rows. */
	read_old_rank_roles(merged);
	add_starved(merged);
}

void read_old_roles(struct results_phase_read *p)
{
	for (uint32_t i = 0; i < p->table_count; i++)
		table_old_roles(&p->tables[i].table);
	for (uint32_t i = 0; i < p->hist_count; i++)
		if (strcmp(p->hists[i].name, "read") == 0)
			p->hists[i].role = ROLE_READ_LATENCY;
}
