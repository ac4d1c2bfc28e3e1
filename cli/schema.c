/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "schema": the JSON Schema of jobs, their reference as text, and what results have of
 * each kind of phase. */
#include <cjson/cJSON.h>
#include <stddef.h>

#include "cli/cli.h"
#include "core/answer.h"
#include "core/json.h"
#include "plan/plan.h"
#include "report/figure.h"
#include "results-schema/record.h"
#include "workloads/workload.h"

struct schema_args {
	bool reference, results;
};

static const struct option schema_options[] = {
	OPT_BOOL("reference", struct schema_args, reference,
		 .help = "prints text for people: every key, its bounds, its default"),
	OPT_BOOL(
		"results", struct schema_args, results,
		.help = "prints JSON: what results have of each kind of phase: measures, figures, latencies, tables"),
	OPT_END,
};

/* Adds an entry to a list, and returns it. unit NULL: it has none. */
static cJSON *schema_entry(cJSON *list, const char *name, const char *unit, const char *help)
{
	cJSON *entry = json_object();

	json_add_text(entry, "name", name);
	if (unit)
		json_add_text(entry, "unit", unit);
	json_add_text(entry, "help", help);
	cJSON_AddItemToArray(list, entry);
	return entry;
}

static void schema_columns(cJSON *to, const struct columns *columns, const struct hist_kind *hists,
			   uint32_t hist_count)
{
	static const char *const merges[] = {
		[MERGE_SUM] = "sum", [MERGE_MAX] = "max", [MERGE_MIN] = "min"};
	cJSON *measures = cJSON_AddArrayToObject(to, "measures"),
	      *figures = cJSON_AddArrayToObject(to, "figures"),
	      *latencies = cJSON_AddArrayToObject(to, "histograms");

	for (uint32_t i = 0; i < columns->measure_count; i++) {
		const struct measure *m = &columns->measures[i];

		json_add_text(schema_entry(measures, m->name, m->unit, m->help), "merge",
			      merges[m->merge]);
	}
	for (uint32_t i = 0; i < columns->figure_count; i++) {
		const struct figure *f = &columns->figures[i];
		char formula[FIGURE_FORMULA_BYTES];

		figure_formula(columns, f, formula);
		json_add_text(schema_entry(figures, f->name, f->unit, f->help), "formula", formula);
	}
	for (uint32_t i = 0; i < hist_count; i++)
		schema_entry(latencies, hists[i].name, NULL, hists[i].help);
}

static void schema_phase(cJSON *kinds, const struct workload *w)
{
	cJSON *kind = schema_entry(kinds, w->section.name, NULL, w->section.help);
	const struct tally_schema *s = w->schema;
	cJSON *tables;

	schema_columns(kind, &s->rank, s->hists, s->hist_count);
	tables = cJSON_AddArrayToObject(kind, "tables");
	for (uint32_t i = 0; i < s->table_count; i++) {
		const struct table_kind *t = s->tables[i];

		schema_columns(schema_entry(tables, t->name, NULL, t->help), &t->columns, t->hists,
			       t->hist_count);
	}
}

/* What outputs show of any phase. */
static void schema_shown(cJSON *list)
{
	for (const struct shown_figure *f = shown_figures; f->name; f++) {
		cJSON *entry = json_object();

		json_add_text(entry, "name", f->name);
		json_add_text(entry, "text", f->text);
		json_add_text(entry, "json", f->json);
		json_add_text(entry, "csv", f->csv);
		json_add_text(entry, "summary", f->summary);
		json_add_text(entry, "counts", f->counts);
		json_add_text(entry, "time", f->time);
		json_add_text(entry, "ranks", f->ranks);
		cJSON_AddItemToArray(list, entry);
	}
}

/* What a run spends on itself. */
static void schema_own(cJSON *list)
{
	for (int i = 0; i < OWN_TIMES; i++)
		schema_entry(list, own_time_members[i].name, "s", own_time_kinds[i].help);
}

/* Members of an answer. */
static void schema_members(cJSON *list, const struct record_shape *shape, const char *const *help)
{
	for (size_t i = 0; i < shape->count; i++)
		schema_entry(list, shape->members[i].name, NULL, help[i]);
}

static void schema_answers(cJSON *list)
{
	for (int i = ANSWER_NONE + 1; i < ANSWERS; i++) {
		const struct answer_kind *kind = &answer_kinds[i];
		cJSON *entry = schema_entry(list, kind->name, NULL, kind->help);

		json_add_text(entry, "rows", kind->rows_name);
		schema_members(cJSON_AddArrayToObject(entry, "attributes"), &kind->head,
			       kind->head_help);
		schema_members(cJSON_AddArrayToObject(entry, "columns"), &kind->rows,
			       kind->rows_help);
	}
}

static char *schema_of_results(void)
{
	cJSON *schema = json_object(), *kinds = cJSON_AddArrayToObject(schema, "phases");
	const struct workload *const *w;
	char *text;

	schema_shown(cJSON_AddArrayToObject(schema, "shown"));
	schema_own(cJSON_AddArrayToObject(schema, "own"));
	schema_answers(cJSON_AddArrayToObject(schema, "answers"));
	for (w = workload_table(); *w; w++)
		schema_phase(kinds, *w);
	text = json_print(schema);
	json_free(schema);
	return text;
}

static int schema_run(const struct call *call)
{
	const struct schema_args *args = call->options;

	if (args->results)
		return cli_print(schema_of_results());
	return cli_print(args->reference ? job_reference(plan_schema())
					 : job_json_schema(plan_schema()));
}

const struct verb schema_verb = {
	.name = "schema",
	.arguments = "",
	.help = "prints the JSON Schema of jobs",
	.example = "haul schema --reference",
	.options = schema_options,
	.options_bytes = sizeof(struct schema_args),
	.run = schema_run,
};
