/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "simulate": runs a job in virtual time, on a model of its storage. */
#include "simulate/calibrate.h"
#include "simulate/find.h"
#include "simulate/output.h"
#include "simulate/storage.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/stores.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/edition.h"
#include "core/units.h"
#include "haul_build.h"
#include "plan/phase_filter.h"
#include "plan/plan.h"
#include "plan/scaling.h"
#include "ranks/run/run.h"
#include "report/report.h"

enum { SIMULATE_NODES_MAX = 64, SIMULATE_SEEDS_USUAL = 3, SIMULATE_PATH_BYTES = 4096 };

struct simulate_args {
	const char *nodes, *results, *html, *find, *until;
	uint64_t ranks_per_node, seeds, threads;
	struct word_list storage, sets, only, skip;
	bool json, force;
};

static const struct option simulate_options[] = {
	CLI_NODE_COUNTS(struct simulate_args),
	CLI_RANKS_PER_NODE(struct simulate_args),
	OPT_WORDS(
		"storage", struct simulate_args, storage, .value = "[STORE:]KEY=VALUE,...|FILE",
		.help = "what the storage does: \"bandwidth=10 TB/s, opens=500k/s, latency=1 ms, "
			"p99=20 ms\", with the keys of sim://; or results of haul assess or io, from which "
			"it is calibrated. May be repeated; of one store: \"data: bandwidth=1 GB/s\""),
	OPT_U64("seeds", struct simulate_args, seeds, .value = "N", .min = 1,
		.max = SIMULATE_SEEDS_MAX,
		.help = "simulates the job N times with other draws; default 3"),
	CLI_SET(struct simulate_args),
	CLI_ONLY(struct simulate_args),
	CLI_SKIP(struct simulate_args),
	OPT_WORD(
		"find", struct simulate_args, find, .value = "KEY[=LOW..HIGH]",
		.help = "searches for the least bandwidth, node, stream or opens, or the greatest latency, p99 "
			"or number of nodes, that keeps the target AU: bandwidth=1 GB/s..10 TB/s, nodes=1..512"),
	OPT_WORD("until", struct simulate_args, until, .value = "AU",
		 .help = "the target of --find: 0.9; default: that of the job"),
	OPT_WORD(
		"results", struct simulate_args, results, .value = "FILE",
		.help = "keeps the results, which say that they were simulated; of several numbers of "
			"nodes a file for each, FILE.n8.h5"),
	OPT_BOOL("force", struct simulate_args, force, .help = "replaces a results file"),
	OPT_U64("threads", struct simulate_args, threads, .value = "N", .min = 1, .max = 256,
		.help = "seeds and numbers of nodes at once; default: as many as there are cores"),
	OPT_BOOL("json", struct simulate_args, json, .help = "prints JSON, for programs"),
	OPT_WORD("html", struct simulate_args, html, .value = "OUT",
		 .help = "writes one page with charts to the file OUT, for a browser"),
	OPT_END,
};

/* What a call simulates: a job for each number of nodes. */
struct simulate_source {
	const struct simulate_args *args;
	char path[SIMULATE_PATH_BYTES];
	char *text;
	size_t bytes;
	uint32_t node_counts[SIMULATE_NODES_MAX], count;
	struct job *jobs; /* [count] */
	struct simulate_case *cases;
	char storage[STORAGE_TEXT_BYTES];
	char (*files)[SIMULATE_PATH_BYTES];
	const struct find
		*find; /* what is searched for, and the value that is tried; NULL: nothing is */
	double value;
	struct calibration calibration; /* of the store that was last calibrated */
	bool keeps;                     /* the files of results */
};

static int simulate_source_read(struct simulate_source *s, const struct call *call, struct err *err)
{
	int rc = scaling_parse_nodes(s->args->nodes ? s->args->nodes : "1", s->node_counts,
				     SIMULATE_NODES_MAX, err);

	if (rc < 0)
		return rc;
	s->count = (uint32_t)rc;
	s->jobs = calloc(s->count, sizeof(*s->jobs));
	s->cases = calloc(s->count, sizeof(*s->cases));
	s->files = calloc(s->count, sizeof(*s->files));
	if (!s->jobs || !s->cases || !s->files)
		return err_set(err, -ENOMEM, "no memory");
	rc = catalog_resolve(call->arguments[0], s->path, sizeof(s->path), err);
	return rc < 0 ? rc : job_read_file(s->path, &s->text, &s->bytes, err);
}

static void simulate_source_free(struct simulate_source *s)
{
	for (uint32_t i = 0; i < s->count && s->cases && s->jobs; i++) {
		if (s->cases[i].job)
			simulate_case_close(&s->cases[i]);
		job_free(&s->jobs[i]);
		if (s->files && s->files[i][0] && !s->keeps)
			unlink(s->files[i]);
	}
	free(s->jobs);
	free(s->cases);
	free(s->files);
	free(s->text);
}

/* ---- the storage ---- */

static bool simulate_is_file(const char *text)
{
	size_t n = strlen(text);

	return n > 3 && strcmp(text + n - 3, ".h5") == 0;
}

/* The store that a text names before a colon; NULL: all. *rest: what follows. */
static int simulate_storage_names(const struct job *job, const char *text,
				  const struct job_store **store, const char **rest,
				  struct err *err)
{
	const char *colon = strchr(text, ':'), *equals = strchr(text, '=');
	char name[JOB_NAME_BYTES];

	*store = NULL;
	*rest = text;
	if (!colon || (equals && equals < colon) || simulate_is_file(text) ||
	    (size_t)(colon - text) >= sizeof(name))
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
	*store = job_find_store(job, name);
	*rest = colon + 1;
	return *store ? 0 : err_set(err, -EINVAL, "--storage: the job has no store \"%s\"", name);
}

/* Files among what --storage says of a store, or of all. *of: the other texts of it. */
static int simulate_storage_sort(const struct simulate_args *args, const struct job *job,
				 uint32_t i, const char **files, uint32_t *file_count,
				 const char **texts, uint32_t *text_count, struct err *err)
{
	for (unsigned k = 0; k < args->storage.count; k++) {
		const struct job_store *store;
		const char *text;
		int rc = simulate_storage_names(job, args->storage.items[k], &store, &text, err);

		if (rc < 0)
			return rc;
		if (store && store != &job->stores[i])
			continue;
		if (simulate_is_file(text))
			files[(*file_count)++] = text;
		else
			texts[(*text_count)++] = text;
	}
	return 0;
}

/* One store: first as its files were measured, then as is said. */
static int simulate_storage_one(const struct simulate_args *args, const struct job *job, uint32_t i,
				struct sim_options *out, struct calibration *c, struct err *err)
{
	const char *files[WORD_LIST_MAX], *texts[WORD_LIST_MAX];
	uint32_t file_count = 0, text_count = 0;
	bool known = job->stores[i].section->owner == &sim_backend;
	int rc = storage_default(out, err);

	if (rc == 0 && known)
		*out = *(const struct sim_options *)job->stores[i].options;
	if (rc == 0)
		rc = simulate_storage_sort(args, job, i, files, &file_count, texts, &text_count,
					   err);
	if (rc < 0)
		return rc;
	if (file_count)
		rc = calibrate(out, files, file_count, c, err);
	for (uint32_t k = 0; k < text_count && rc == 0; k++)
		rc = storage_parse(out, texts[k], err);
	if (rc < 0)
		return err_wrap(err, rc, "--storage");
	if (known || file_count || text_count)
		return 0;
	return err_set(err, -EINVAL,
		       "/stores/%s: nothing is known of this store; say what it does with "
		       "--storage \"bandwidth=10 GB/s, latency=1 ms\", or calibrate it with "
		       "--storage RESULTS.h5 of haul assess",
		       job->stores[i].name);
}

/* What the results say the storage was. */
static void simulate_storage_say(const struct job *job, const struct sim_options *storage,
				 char text[STORAGE_TEXT_BYTES])
{
	char one[STORAGE_TEXT_BYTES];
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < job->store_count && n < STORAGE_TEXT_BYTES; i++) {
		storage_text(&storage[i], one);
		n += (size_t)snprintf(text + n, STORAGE_TEXT_BYTES - n, "%s%s: %s", i ? "; " : "",
				      job->stores[i].name, one);
	}
}

/* ---- a number of nodes ---- */

static int simulate_job_make(const struct simulate_source *s, uint32_t nodes, struct job *job,
			     uint32_t *ranks, struct err *err)
{
	const struct simulate_args *args = s->args;
	const struct phase_filter filter = {.only = args->only.items,
					    .only_count = args->only.count,
					    .skip = args->skip.items,
					    .skip_count = args->skip.count};
	struct job_changes changes = {.items = args->sets.items, .count = args->sets.count};
	int rc = job_parse_changed(job, plan_schema(), s->path, s->text, s->bytes, &changes, err);
	const struct plan_asked asked = {.nodes = args->nodes ? nodes : 0,
					 .ranks_per_node = args->ranks_per_node,
					 .known_nodes = nodes};

	if (rc == 0)
		rc = plan_size(job, &asked, ranks, &nodes, err);
	if (rc < 0)
		return rc;
	rc = plan_scale(job, *ranks, nodes, err);
	if (rc == 0)
		rc = phase_filter_apply(&filter, job, err);
	if (rc == 0)
		rc = plan_check(job, *ranks, nodes, false, err);
	return rc < 0 ? err_wrap(err, rc, "%s", s->path) : 0;
}

static int simulate_case_make(struct simulate_source *s, uint32_t i, struct err *err)
{
	struct sim_options *storage;
	uint32_t ranks = 0;
	int rc = simulate_job_make(s, s->node_counts[i], &s->jobs[i], &ranks, err);

	if (rc < 0)
		return rc;
	storage = calloc(s->jobs[i].store_count + 1, sizeof(*storage));
	rc = storage ? 0 : err_set(err, -ENOMEM, "no memory");
	for (uint32_t k = 0; rc == 0 && k < s->jobs[i].store_count; k++)
		rc = simulate_storage_one(s->args, &s->jobs[i], k, &storage[k], &s->calibration,
					  err);
	if (rc == 0)
		simulate_storage_say(&s->jobs[i], storage, s->storage);
	for (uint32_t k = 0; rc == 0 && s->find && !s->find->whole && k < s->jobs[i].store_count;
	     k++)
		rc = storage_set(&storage[k], s->find->key, s->value, err);
	if (rc == 0)
		rc = simulate_case_open(&s->cases[i], &s->jobs[i], ranks, s->node_counts[i],
					s->args->seeds ? (uint32_t)s->args->seeds
						       : SIMULATE_SEEDS_USUAL,
					storage, err);
	free(storage);
	return rc;
}

/* ---- output ---- */

/* FILE, or of several numbers of nodes FILE.n8.h5. Without --results a file that is removed. */
static int simulate_name_file(struct simulate_source *s, uint32_t i, struct err *err)
{
	const char *folder = getenv("TMPDIR"), *given = s->args->results;
	size_t n = given ? strlen(given) : 0;

	s->keeps = given;
	if (!given)
		snprintf(s->files[i], SIMULATE_PATH_BYTES, "%s/haul-simulate-%ld-n%u.h5",
			 folder ? folder : "/tmp", (long)getpid(), s->node_counts[i]);
	else if (s->count == 1)
		snprintf(s->files[i], SIMULATE_PATH_BYTES, "%s", given);
	else
		snprintf(s->files[i], SIMULATE_PATH_BYTES, "%.*s.n%u.h5",
			 (int)(n > 3 && strcmp(given + n - 3, ".h5") == 0 ? n - 3 : n), given,
			 s->node_counts[i]);
	return strlen(s->files[i]) + 1 < SIMULATE_PATH_BYTES
		       ? 0
		       : err_set(err, -EINVAL, "--results: the name is too long");
}

static int simulate_write_files(struct simulate_source *s, const struct call *call, struct err *err)
{
	char command[1024] = "haul", cores[CALIBRATION_CORES_BYTES];
	size_t n = strlen(command);
	int rc = 0;

	for (int i = 1; i < call->argc && n < sizeof(command); i++)
		n += (size_t)snprintf(command + n, sizeof(command) - n, " %s", call->argv[i]);
	for (uint32_t i = 0; i < s->count && rc == 0; i++) {
		const struct simulate_output o = {.path = s->files[i],
						  .version = HAUL_VERSION,
						  .build = HAUL_BUILD,
						  .command_line = command,
						  .storage = s->storage,
						  .cores = cores,
						  .force = s->args->force || !s->keeps};

		if (calibration_cores(&s->calibration, &s->cases[i], cores))
			cli_say("%s", cores);
		rc = simulate_name_file(s, i, err);
		if (rc == 0)
			rc = simulate_write(&o, &s->cases[i], err);
	}
	return rc;
}

static int simulate_report(const struct simulate_source *s, struct err *err)
{
	enum report_shape shape = s->args->json ? REPORT_JSON : REPORT_TEXT;
	const struct report_options o = {.color = report_color(stdout),
					 .classes = class_of_results};
	const char *files[SIMULATE_NODES_MAX];

	for (uint32_t i = 0; i < s->count; i++)
		files[i] = s->files[i];
	if (s->args->html)
		return report_page(s->args->html, false, files, s->count, err);
	return s->count > 1 ? report_scaling(stdout, shape, files, s->count, err)
			    : report_files(stdout, shape, files, 1, &o, err);
}

/* ---- search ---- */

static void simulate_drop(struct simulate_source *s, uint32_t i)
{
	if (s->cases[i].job)
		simulate_case_close(&s->cases[i]);
	job_free(&s->jobs[i]);
	s->jobs[i] = (struct job){0};
}

/* The AU with the value that is tried. */
static int simulate_try(struct simulate_source *s, uint32_t i, struct find *f, double *au,
			struct err *err)
{
	int rc;

	if (f->whole)
		s->node_counts[i] = (uint32_t)s->value;
	rc = simulate_case_make(s, i, err);
	if (rc == 0 && f->target <= 0)
		f->target = simulate_case_target(&s->jobs[i]);
	if (rc == 0 && f->target <= 0)
		rc = err_set(err, -EINVAL, "--find: the job has no target_au; say --until 0.9");
	if (rc == 0)
		rc = simulate_cases(&s->cases[i], 1, (uint32_t)s->args->threads, err);
	if (rc == 0) {
		*au = simulate_case_au(&s->cases[i]);
		f->nodes = f->whole ? 0 : s->cases[i].nodes;
		f->ranks = f->whole ? 0 : s->cases[i].ranks;
	}
	if (rc == 0 && isnan(*au))
		rc = err_set(err, -EINVAL,
			     "--find: the job has no training, which alone has an AU");
	return rc;
}

static int simulate_search(struct simulate_source *s, struct find *finds, struct err *err)
{
	const char *until = s->args->until;
	double target = 0, au = 0;
	char end;
	int rc = 0;

	if (until && (sscanf(until, "%lf%c", &target, &end) != 1 || !(target > 0 && target <= 1)))
		return err_set(err, -EINVAL, "--until: must be an AU, above 0 and at most 1");
	for (uint32_t i = 0; i < s->count && rc == 0; i++) {
		rc = find_parse(&finds[i], s->args->find, target, err);
		s->find = &finds[i];
		if (rc < 0)
			return err_wrap(err, rc, "--find");
		if (finds[i].whole && s->count > 1)
			return err_set(err, -EINVAL,
				       "--find nodes and several --nodes exclude each other");
		while (rc == 0 && find_next(&finds[i], &s->value)) {
			rc = simulate_try(s, i, &finds[i], &au, err);
			if (rc == 0)
				find_add(&finds[i], au);
			simulate_drop(s, i);
		}
	}
	return rc;
}

static int simulate_find(struct simulate_source *s, struct err *err)
{
	struct find *finds = calloc(s->count, sizeof(*finds));
	const struct find_report r = {s->path, s->storage, finds, s->count};
	int rc = finds ? simulate_search(s, finds, err) : err_set(err, -ENOMEM, "no memory");

	if (rc == 0)
		rc = find_print(stdout, s->args->json ? REPORT_JSON : REPORT_TEXT, &r, err);
	free(finds);
	return rc;
}

static int simulate_run(const struct call *call)
{
	struct simulate_source s = {.args = call->options};
	struct err err = {0};
	int rc = simulate_source_read(&s, call, &err), status = EXIT_DONE;

	if (rc == 0 && s.args->find) {
		status = cli_ended(simulate_find(&s, &err), &err);
		simulate_source_free(&s);
		return status;
	}
	for (uint32_t i = 0; i < s.count && rc == 0; i++)
		rc = simulate_case_make(&s, i, &err);
	if (rc < 0) {
		cli_say("%s", err.text);
		simulate_source_free(&s);
		return EXIT_USAGE;
	}
	rc = simulate_cases(s.cases, s.count, (uint32_t)s.args->threads, &err);
	if (rc == 0)
		rc = simulate_write_files(&s, call, &err);
	if (rc == 0)
		rc = simulate_report(&s, &err);
	status = cli_ended(rc, &err);
	simulate_source_free(&s);
	return status;
}

const struct verb simulate_verb = {
	.name = "simulate",
	.arguments = "JOB",
	.help = "runs a job in virtual time on any number of nodes, on a model of its storage",
	.example =
		"haul simulate unet3d_aurora --nodes 512 --storage \"bandwidth=10 TB/s, latency=1 ms\"",
	.options = simulate_options,
	.options_bytes = sizeof(struct simulate_args),
	.arguments_min = 1,
	.arguments_max = 1,
	.takes_job = true,
	.run = simulate_run,
};
