/* SPDX-License-Identifier: Apache-2.0 */
/* Phase "lookup": asks the store for the size of every file of a data set, as many trainings do
 * before their first epoch. A pass is over when every file has been asked for.
 *
 * This is the example of docs/add-a-workload-example.md. */
#include "backends/endpoint.h"
#include "core/measure/quantile.h"
#include "core/option/option.h"
#include "workloads/common/crew.h"
#include "workloads/common/options.h"
#include "workloads/dataset/dataset.h"
#include "workloads/workload.h"

/* {"lookup": {"passes": 3, "threads": 8, "target_rate": 10000}} */
struct lookup_options {
	char dataset[JOB_NAME_BYTES];
	uint64_t passes, threads;
};

/* A rank's row has the measures of every phase, followed by these. */
/* clang-format off */
#define LOOKUP_COLUMN_LIST(X) \
	X(LOOKUP_FOUND, "found", "", SUM, "files that were there", .role = ROLE_ITEMS) \
	X(LOOKUP_FOUND_BYTES, "found_bytes", "bytes", SUM, "what they hold") \
	X(LOOKUP_ABSENT, "absent", "", SUM, "files that were not there")
#define LOOKUP_HISTOGRAM_LIST(X) X(LOOKUP_HIST_STAT, "stat", "time to ask for one file")

enum lookup_measure { TALLY_ENUM(LOOKUP, LOOKUP_COLUMN_LIST(MEASURE_ENUM)) };
enum lookup_hist { LOOKUP_HISTOGRAM_LIST(HIST_ENUM) LOOKUP_HISTS };

static const struct measure lookup_measures[] = TALLY_ROWS(LOOKUP_COLUMN_LIST(MEASURE_ROW));
static const struct hist_kind lookup_hists[] = {LOOKUP_HISTOGRAM_LIST(HIST_ROW)};
static const struct table_kind *const lookup_tables[] = {&endpoint_table};

static const struct figure lookup_figures[] = {
	FIGURE_PER("lookup_rate", "1/s", 1e9, OF(TALLY_OPERATIONS), OF(TALLY_WALL_NS),
		   "files asked for per second", .role = ROLE_OPERATION_RATE)
	TALLY_COMMON_FIGURES
};

static const struct target lookup_targets[] = {
	TARGET_FIGURE("target_rate", "lookups", "1/s", "lookup_rate",
		      "files per second to reach; 0: none")
	TARGET_QUANTILE("target_p99", "99th percentile of lookups", "stat", QUANTILE_P99,
			"99th percentile not to exceed; 0: none")
	TARGETS_END
};
/* clang-format on */

static const struct tally_schema lookup_schema = {
	TALLY_SCHEMA(lookup_measures, lookup_figures, lookup_hists, lookup_tables),
	.main_figures = {"lookup_rate"},
	.main_hist = LOOKUP_HIST_STAT,
};

static const struct option lookup_options_table[] = {
	OPT_TEXT("dataset", struct lookup_options, dataset, .def_text = "",
		 .help = "which data set; may be left out where there is only one"),
	OPT_U64("passes", struct lookup_options, passes, .def = 1, .min = 1, .max = 1 << 20,
		.help = "how often every file is asked for"),
	OPTION_THREADS(struct lookup_options, threads, 256,
		       "threads of a rank, each of which asks for one file at a time"),
	OPT_END,
};

/* Which requests the threads count, and where. */
static const struct meter_map lookup_maps[] = {
	{REQ_STAT, METER_NONE, LOOKUP_HIST_STAT, METER_NONE, METER_NONE}};
static const struct meter_layout lookup_meter = {METER_MAPS(lookup_schema, lookup_maps),
						 .live_op = REQ_STAT};

static int lookup_dataset(const struct job *job, const struct job_phase *phase,
			  const struct job_store **store, struct dataset *d, struct err *err)
{
	const struct lookup_options *o = phase->options;
	char path[DATASET_PATH_BYTES];

	return dataset_find_init(job, phase, o->dataset, d, store, path, err);
}

static int lookup_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			struct err *err)
{
	const struct job_store *store;
	struct dataset d;
	int rc = lookup_dataset(job, phase, &store, &d, err);

	if (rc == 0 && dataset_objects(&d) < ranks)
		rc = err_set(err, -EINVAL, "%s: there are more ranks than files", phase->path);
	return rc;
}

static int lookup_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			 struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	const struct job_store *store;
	struct dataset d;
	int rc = lookup_dataset(job, phase, &store, &d, err);

	(void)ranks;
	if (rc == 0)
		phase_store_add(out, count, "data", store)->needs = BACKEND_MISSING_IS_ERROR;
	return rc;
}

static int lookup_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		       uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct lookup_options *o = phase->options;
	const struct job_store *store;
	struct dataset d;
	int rc = lookup_dataset(job, phase, &store, &d, err);

	(void)ranks;
	(void)ranks_per_node;
	if (rc < 0)
		return rc;
	out->files = d.options.files;
	out->memory_per_rank = o->threads * crew_thread_bytes(&lookup_meter);
	return 0;
}

static int lookup_tell(const struct job *job, const struct job_phase *phase,
		       const struct rank_place *places, uint32_t ranks, struct arena *arena,
		       struct plan_told *out, struct err *err)
{
	const struct lookup_options *o = phase->options;
	const struct job_store *store;
	struct dataset d;
	int rc = lookup_dataset(job, phase, &store, &d, err);

	(void)places;
	(void)ranks;
	(void)arena;
	if (rc == 0)
		plan_total_add(out, "lookups", "", (double)(o->passes * dataset_objects(&d)));
	return rc;
}

enum lookup_count { COUNT_FOUND, COUNT_FOUND_BYTES, COUNT_ABSENT };

struct lookup {
	struct phase_context *ctx;
	struct dataset dataset;
	struct store store;
	struct crew crew;
};

/* Asks for one object. Called on a thread of the crew. */
static int lookup_one(struct crew_thread *w, uint64_t i)
{
	const struct lookup *l = w->crew->argument;
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o};
	int rc;

	dataset_numbered_key(&l->dataset, i, o.key);
	rc = crew_do(w, &req);
	if (rc == -ENOENT) {
		w->counts[COUNT_ABSENT]++;
		return 0;
	}
	if (rc == 0) {
		w->counts[COUNT_FOUND]++;
		w->counts[COUNT_FOUND_BYTES] += req.answer.done_bytes;
	}
	return rc;
}

/* Collective, like every function of a phase that calls the group: if a rank fails, all return. */
static int lookup_open(void *run, struct phase_context *ctx, struct err *err)
{
	struct lookup *l = run;
	const struct lookup_options *o = ctx->phase->options;
	const struct job_store *described;
	int rc = lookup_dataset(ctx->job, ctx->phase, &described, &l->dataset, err);

	l->ctx = ctx;
	if (rc == 0)
		rc = dataset_open(&l->dataset, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc == 0)
		rc = workload_store_open(ctx, described, &l->store, err);
	if (rc < 0)
		return rc;
	l->crew = crew_of(ctx, &l->store, &lookup_meter, o->threads, 1, "lookup");
	l->crew.files = dataset_objects(&l->dataset);
	l->crew.items = "files";
	l->crew.argument = l;
	return group_agree(ctx->group, crew_open(&l->crew, err), err);
}

static int lookup_work(void *run, enum stop_reason *stopped, struct err *err)
{
	struct lookup *l = run;
	const struct lookup_options *o = l->ctx->phase->options;
	int rc = 0;

	crew_start(&l->crew, workload_begin(l->ctx));
	for (uint64_t pass = 0; rc == 0 && !*stopped && pass < o->passes; pass++)
		rc = crew_run(&l->crew, lookup_one, stopped, err);
	return rc;
}

/* Finished requests count, also after an error or a stop. */
static void lookup_measure(void *run)
{
	struct lookup *l = run;
	uint64_t *row = l->ctx->tally->rank_row;

	row[LOOKUP_FOUND] = crew_count(&l->crew, COUNT_FOUND);
	row[LOOKUP_FOUND_BYTES] = crew_count(&l->crew, COUNT_FOUND_BYTES);
	row[LOOKUP_ABSENT] = crew_count(&l->crew, COUNT_ABSENT);
	crew_merge(&l->crew, l->ctx->tally);
	row[TALLY_WALL_NS] = clock_now(l->ctx->clock) - l->crew.start_ns;
}

static void lookup_say(void *run)
{
	struct lookup *l = run;
	uint64_t absent = crew_count(&l->crew, COUNT_ABSENT);

	if (group_allreduce(l->ctx->group, MERGE_SUM, &absent, 1) == 0 && absent)
		workload_say(l->ctx, "%llu lookups found no file", (unsigned long long)absent);
}

static void lookup_close(void *run)
{
	struct lookup *l = run;

	crew_close(&l->crew);
	store_close(&l->store);
	dataset_close(&l->dataset);
}

const struct workload lookup_workload = {
	.section = SECTION_OF(lookup, "asks for the size of every file of a data set",
			      lookup_targets, lookup_options_table),
	.schema = &lookup_schema,
	.stores = lookup_stores,
	.check = lookup_check,
	.size = lookup_size,
	.tell = lookup_tell,
	.run_bytes = sizeof(struct lookup),
	.open = lookup_open,
	.work = lookup_work,
	.measure = lookup_measure,
	.say = lookup_say,
	.close = lookup_close,
};
