/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that an extension of haul is one line in one table. This program's own kind of phase has an
 * option, measures, an account, a figure, histograms, tables, targets and a phase within it. A run
 * with it is complete in results.h5, in the report as JSON and as text, in the schema of jobs, and
 * in the status of --strict, although no file of haul knows the kind. Run by mpiexec; with 4 ranks
 * or more, a target cannot be met. */
#include <cjson/cJSON.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/measure/account.h"
#include "core/measure/quantile.h"
#include "plan/plan.h"
#include "ranks/run/run.h"
#include "report/shapes.h"
#include "results-schema/results_read.h"
#include "workloads/generate/generate.h"
#include "workloads/workload.h"

/* Each option, measure, account, figure, histogram, target and table is declared in one line. */
struct chew_options {
	uint64_t bites;
};
static const struct option chew_option_table[] = {OPT_U64("bites", struct chew_options, bites,
							  .def = 3, .min = 1, .max = 100,
							  .help = "bites of each rank"),
						  OPT_END};

/* clang-format off */
#define CHEW_LIST(X, BLOCK) \
	X(CHEW_BITES, "bites", "", SUM, "bites taken", .role = ROLE_ITEMS) \
	BLOCK(CHEW_ACCOUNTS, ACCOUNTS, ACCOUNT_MEASURES) \
	X(CHEW_SWALLOW_NS, "swallow_hard_ns", "ns", SUM, "an account", .role = ROLE_ACCOUNT_OTHER)
#define TOOTH_LIST(X) \
	X(TOOTH_USED, "used", "", SUM, "bites with it") \
	X(TOOTH_SHARPEST_NS, "sharpest_ns", "ns", MIN, "the quickest of them")
/* clang-format on */
enum chew_measure {
	CHEW_BEFORE = TALLY_COMMON - 1,
	CHEW_LIST(MEASURE_ENUM, MEASURE_BLOCK_ENUM) CHEW_MEASURES
};
enum tooth_measure { TOOTH_LIST(MEASURE_ENUM) TOOTH_MEASURES };

static const struct measure chew_measures[] = {TALLY_COMMON_LIST(MEASURE_ROW)
						       CHEW_LIST(MEASURE_ROW, MEASURE_BLOCK_ROWS)};
static const struct measure tooth_measures[] = {TOOTH_LIST(MEASURE_ROW)};
static const struct figure chew_figures[] = {FIGURE_PER("bite_rate", "1/s", 1e9, OF(CHEW_BITES),
							OF(TALLY_WALL_NS), "bites per second",
							.role = ROLE_OPERATION_RATE)};
static const struct hist_kind chew_hists[] = {{.name = "bite", .help = "a bite"}};
static const struct hist_kind tooth_hists[] = {{.name = "crunch", .help = "a crunch"}};
static const struct target chew_targets[] = {{.name = "target_bites",
					      .label = "rate of bites",
					      .unit = "1/s",
					      .figure = "bite_rate",
					      .help = "bites per second to reach"},
					     {.name = "target_bite",
					      .label = "median bite",
					      .unit = "ns",
					      .hist = "bite",
					      .quantile = QUANTILE_P50,
					      .bound = TARGET_MOST,
					      .help = "median bite to stay below"},
					     {.name = NULL}};
static const struct table_kind teeth = {.name = "teeth",
					.help = "a row per tooth",
					.key = TABLE_TEXT,
					.key_name = "tooth",
					.columns = {tooth_measures, TOOTH_MEASURES, NULL, 0},
					.hists = tooth_hists,
					.hist_count = 1,
					.rows_max = 8};
static const struct table_kind meals = {.name = "meals",
					.help = "a row per meal",
					.key = TABLE_NUMBER,
					.key_name = "meal",
					.columns = {tooth_measures, TOOTH_MEASURES, NULL, 0},
					.rank_rows = "meal_ranks"};

static const struct table_kind *const chew_tables[] = {&meals, &teeth};

static const struct tally_schema chew_schema = {
	.rank = {chew_measures, CHEW_MEASURES, chew_figures, 1},
	.hists = chew_hists,
	.hist_count = 1,
	.main_figures = {"bite_rate"},
	.tables = chew_tables,
	.table_count = 2};
static const struct tally_schema nap_schema = {
	.rank = {.measures = chew_measures, .measure_count = TALLY_COMMON}};

/* The table of meals has as many rows as there are bites. */
static void chew_rows(const struct job_phase *phase, uint32_t rows_max[TALLY_TABLES_MAX])
{
	const struct chew_options *o = phase->options;

	rows_max[0] = (uint32_t)o->bites;
}

/* Rank r takes (r + 1) ms per bite, with the tooth "front" and one of its own. Then it takes a
 * nap. */
struct chew_run {
	struct phase_context *ctx;
};

static int chew_open(void *run, struct phase_context *ctx, struct err *err)
{
	struct chew_run *r = run;

	(void)err;
	r->ctx = ctx;
	return 0;
}

static void chew_close(void *run)
{
	(void)run;
}

static int chew_work(void *run, enum stop_reason *stopped, struct err *err)
{
	struct chew_run *r = run;
	struct phase_context *ctx = r->ctx;
	const struct chew_options *o = ctx->phase->options;
	struct tally *t = ctx->tally, *nap;
	uint64_t bite_ns = (ctx->group->rank + 1) * 1000000ull;
	char own[32];

	(void)stopped;
	snprintf(own, sizeof(own), "back %u", ctx->group->rank);
	for (uint64_t i = 0; i < o->bites; i++) {
		uint64_t *rows[3];

		rows[0] = table_numbered(&t->tables[0], i + 1);
		rows[1] = table_named(&t->tables[1], own);
		rows[2] = table_named(&t->tables[1], "front");
		rows[1] = table_named(&t->tables[1], own); /* adding a row moves the others */
		hist_record(table_hist(&teeth, rows[2], 0), bite_ns);
		hist_record(&t->hists[0], bite_ns);
		for (int k = 0; k < 3; k++) {
			rows[k][TOOTH_USED]++;
			rows[k][TOOTH_SHARPEST_NS] = bite_ns;
		}
	}
	t->rank_row[TALLY_WALL_NS] = 1000000000;
	t->rank_row[CHEW_BITES] = o->bites;
	t->rank_row[CHEW_ACCOUNTS + ACCOUNT_COMPUTE] = 900000000;
	t->rank_row[CHEW_SWALLOW_NS] = 100000000;
	nap = workload_part(ctx, "nap", "siesta", &nap_schema, NULL, err);
	if (!nap)
		return err->code;
	nap->rank_row[TALLY_WALL_NS] = 250000000;
	nap->rank_row[TALLY_OPERATIONS] = 7;
	nap->started_ns = 1700000000000000000ull;
	nap->finished_ns = nap->started_ns + 250000000;
	return 0;
}

static int chew_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		       struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	(void)phase;
	(void)ranks;
	(void)err;
	out[0] = (struct phase_store){.role = "data", .store = &job->stores[0]};
	*count = 1;
	return 0;
}

static int chew_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		      struct err *err)
{
	(void)job;
	(void)phase;
	(void)ranks;
	(void)err;
	return 0;
}

static int chew_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	(void)ranks_per_node;
	memset(out, 0, sizeof(*out));
	return chew_check(job, phase, ranks, err);
}

static const struct workload chew = {
	.section = {.name = "chew",
		    .help = "chews",
		    .tables = {chew_option_table, NULL},
		    .size = sizeof(struct chew_options),
		    .targets = chew_targets,
		    .owner = &chew},
	.schema = &chew_schema,
	.rows = chew_rows,
	.stores = chew_stores,
	.check = chew_check,
	.size = chew_size,
	.run_bytes = sizeof(struct chew_run),
	.open = chew_open,
	.work = chew_work,
	.close = chew_close,
};

/* Replaces workloads/table.c. */
const struct workload *const *workload_table(void)
{
	static const struct workload *const list[] = {&generate_workload, &chew, NULL};

	return list;
}

const struct section *const workload_sections[] = {&generate_workload.section, &chew.section, NULL};

static unsigned failed;

static void expect(bool holds, const char *what)
{
	if (holds)
		return;
	failed++;
	fprintf(stderr, "does not hold: %s\n", what);
}

static double number(const cJSON *o, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static const char *text_of(const cJSON *o, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsString(item) ? item->valuestring : "";
}

static void check_tables(const cJSON *phase, uint32_t ranks)
{
	const cJSON *rows = cJSON_GetObjectItem(phase, "teeth"), *row;
	const cJSON *all = cJSON_GetObjectItem(phase, "meals");

	expect(cJSON_GetArraySize(rows) == (int)ranks + 1, "a row per tooth");
	row = cJSON_GetArrayItem(rows, 1);
	expect(strcmp(text_of(row, "name"), "front") == 0 && number(row, "used") == 3 * ranks &&
		       number(row, "sharpest_ns") == 1e6,
	       "the row of all ranks");
	expect(number(cJSON_GetObjectItem(row, "crunch_ns"), "count") == 3 * ranks,
	       "its histogram");
	row = cJSON_GetArrayItem(rows, (int)ranks);
	expect(number(row, "used") == 3 &&
		       number(row, "sharpest_ns") == (ranks == 1 ? 1e6 : ranks * 1e6),
	       "the row of one rank");
	expect(cJSON_GetArraySize(all) == 3 && number(cJSON_GetArrayItem(all, 2), "meal") == 3 &&
		       number(cJSON_GetArrayItem(all, 2), "used") == ranks,
	       "rows by number");
}

static void check_phase(const cJSON *phase, const cJSON *part, uint32_t ranks, bool met)
{
	const cJSON *targets = cJSON_GetObjectItem(phase, "targets");
	const cJSON *rate = cJSON_GetArrayItem(targets, 0),
		    *median = cJSON_GetArrayItem(targets, 1);
	const cJSON *bite = cJSON_GetObjectItem(cJSON_GetObjectItem(phase, "latency_ns"), "bite");

	expect(strcmp(text_of(phase, "kind"), "chew") == 0, "its kind");
	expect(number(cJSON_GetObjectItem(phase, "measures"), "bites") == 3 * ranks, "its measure");
	expect(number(cJSON_GetObjectItem(phase, "figures"), "bite_rate") == 3 * ranks,
	       "its figure");
	expect(fabs(number(cJSON_GetObjectItem(phase, "accounts"), "swallow_hard") - 0.1) < 1e-9,
	       "its account");
	expect(number(bite, "count") == 3 * ranks, "its histogram");
	expect(cJSON_GetArraySize(targets) == 2 &&
		       strcmp(text_of(rate, "name"), "target_bites") == 0 &&
		       number(rate, "found") == 3 * ranks &&
		       cJSON_IsTrue(cJSON_GetObjectItem(rate, "met")) == met,
	       "its target of a figure");
	expect(strcmp(text_of(median, "bound"), "most") == 0 && number(median, "asked") == 1e9 &&
		       cJSON_IsTrue(cJSON_GetObjectItem(median, "met")),
	       "its target of a quantile");
	check_tables(phase, ranks);
	expect(strcmp(text_of(part, "kind"), "nap") == 0 &&
		       strcmp(text_of(part, "name"), "siesta") == 0,
	       "the phase within it");
	expect(number(part, "within") == number(phase, "number") &&
		       cJSON_IsNull(cJSON_GetObjectItem(phase, "within")),
	       "what it is within");
	expect(number(part, "operations") == 7 * ranks && number(part, "seconds") == 0.25 &&
		       number(part, "started") == 1.7e9,
	       "its figures");
}

static void check_text(const struct results_file *f, uint32_t ranks, bool met)
{
	const struct report_options o = {0};
	char *text = report_text(f, &o), line[128];

	if (!text) {
		expect(false, "a report");
		return;
	}
	snprintf(line, sizeof(line), "rate of bites %u/s %s the target of %s; ", 3 * ranks,
		 met ? "meets" : "misses", met ? "1/s" : "1,000/s");
	expect(strstr(text, line) != NULL, "the target's sentence");
	expect(strstr(text, "\n  siesta ") != NULL, "the phase within it, indented");
	expect(strstr(text, "\nchew, teeth\ntooth ") != NULL && strstr(text, "\nfront ") != NULL,
	       "the table as text");
	if (failed)
		fputs(text, stderr);
	free(text);
}

static void check_schema(void)
{
	char *schema = job_json_schema(plan_schema()), *reference = job_reference(plan_schema());

	expect(strstr(schema, "\"chew\"") && strstr(schema, "\"bites\"") &&
		       strstr(schema, "\"target_bites\"") && strstr(schema, "\"target_bite\""),
	       "the schema of jobs");
	expect(strstr(reference, "/phases/N/chew: chews\n") &&
		       strstr(reference, "\n  target_bite  time, default none"),
	       "the reference of jobs");
	free(schema);
	free(reference);
}

static void check_file(const char *path, uint32_t ranks, bool met)
{
	const struct report_options o = {0};
	struct results_file *f;
	struct err err = {0};
	char *json;
	cJSON *all, *phases;

	if (results_load(&f, path, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		failed++;
		return;
	}
	json = report_json((const struct results_file *const[]){f}, 1, &o);
	all = cJSON_Parse(json);
	phases = cJSON_GetObjectItem(all, "phases");
	expect(cJSON_GetArraySize(phases) == 2, "two phases");
	check_phase(cJSON_GetArrayItem(phases, 0), cJSON_GetArrayItem(phases, 1), ranks, met);
	check_text(f, ranks, met);
	check_schema();
	expect(strstr(f->job_text, "\"target_bites\"") != NULL, "the job in the results");
	cJSON_Delete(all);
	free(json);
	results_unload(f);
}

static const char job[] = "{\"name\": \"extend\", \"stores\": {\"s\": {\"uri\": \"null://n\"}},"
			  " \"phases\": [{\"chew\": {\"target_bite\": \"1 s\"}}]}";

int main(int argc, char **argv)
{
	const char *set = "chew.target_bites=1000";
	char path[64], results[64];
	bool met, speak;
	struct run_options options = {.verb = RUN_ALL,
				      .job = path,
				      .results = results,
				      .force = true,
				      .strict = true,
				      .quiet = true,
				      .sets = &set,
				      .set_count = 1,
				      .command_line = "test",
				      .version = "0",
				      .build = "test"};
	enum exit_status status;
	struct err err = {0};
	struct run *run;
	int ranks;
	FILE *f;

	if (run_begin(&run, &argc, &argv, &err) < 0)
		return 1;
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	met = ranks < 4;
	if (met)
		set = "chew.target_bites=1";
	snprintf(path, sizeof(path), "test_extend_%d.json", ranks);
	snprintf(results, sizeof(results), "test_extend_%d.h5", ranks);
	if (run_rank(run) == 0) {
		f = fopen(path, "w");
		if (f) {
			fputs(job, f);
			fclose(f);
		}
	}
	status = run_job(run, &options, &speak, &err);
	expect(status == (met ? EXIT_DONE : EXIT_TARGET_MISSED), "the status of --strict");
	if (run_rank(run) == 0) {
		if (failed)
			fprintf(stderr, "%s\n", err.text);
		if (!met)
			expect(strstr(err.text, "chew: rate of bites ") != NULL, "its sentence");
		check_file(results, (uint32_t)ranks, met);
		unlink(path);
		unlink(results);
	}
	run_end(run);
	return failed ? 1 : 0;
}
