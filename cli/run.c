/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs "run", "replay", "generate" and "clean", which run under mpiexec. Without it they are
 * one rank. */
#include "ranks/run/run.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/op_log/op_log.h"
#include "cli/catalog.h"
#include "cli/clean_command.h"
#include "cli/cli.h"
#include "cli/cli_run.h"
#include "cli/edition.h"
#include "core/json.h"
#include "haul_build.h"
#include "plan/series/series.h"
#include "report/report.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/trace/trace.h"

enum { COMMAND_BYTES = 4096, RUN_PATH_BYTES = 4096, RUN_SETS_MAX = WORD_LIST_MAX + 3 };

struct run_args {
	const char *results;
	bool force, resume, strict, quiet, ignore_space, one_file, side_files, interleave;
	struct word_list sets, sweeps, only, skip;
	const char *op_log, *live, *find, *until, *tune_by, *tuned;
	struct word_list tunes;
	uint32_t op_log_per;
	const char *io_trace_log;
	uint32_t io_trace_format, io_trace_ranks;
	uint64_t op_log_rows, repeat, warmup, deadline_ns, grace_ns, publish_every_ns, fake_nodes;
	/* replay: */
	const char *store, *speed, *size_scale, *tiers, *through;
	uint64_t gpu, cpu, storage;
	bool lenient, clean;
};

#define RUN_ROW(n, KIND, member, ...) OPT_##KIND(n, struct run_args, member, __VA_ARGS__)
#define ROW_RESULTS \
	RUN_ROW("results", WORD, results, .value = "FILE", \
		.help = "file for the results; default results.h5")
#define ROW_FORCE RUN_ROW("force", BOOL, force, .help = "replaces a results file that exists")
#define ROW_DEADLINE \
	RUN_ROW("deadline", TIME, deadline_ns, .value = "TIME", .min = 1, \
		.help = "stops all ranks this long after the start (\"25 min\") and keeps the results")
#define ROW_GRACE \
	RUN_ROW("grace", TIME, grace_ns, .value = "TIME", .min = 1, \
		.help = "how long after a stop (a signal, the deadline, an error) ranks may take to end; default 10 s")
#define ROW_FAKE_NODES \
	RUN_ROW("fake-nodes", U64, fake_nodes, .value = "N", .min = 1, .max = 1 << 16, \
		.seldom = true, .help = "treats this machine as N nodes")
#define ROW_IGNORE_SPACE \
	RUN_ROW("ignore-space", BOOL, ignore_space, \
		.help = "runs even if a phase writes more than is free on its store")
#define ROW_LIVE \
	RUN_ROW("live", WORD, live, .value = "FILE|-", \
		.help = "writes a line of JSON per second while the run goes on; -: to standard output, in place of the report")
#define ROW_TRACE_FORMAT \
	RUN_ROW("io-trace-format", CHOICE, io_trace_format, .choices = trace_format_names, \
		.help = "of that file: csv (default) has MLPerf's six columns, full also deletes and who asked; fio and warp read the others")
#define ROW_QUIET RUN_ROW("quiet", BOOL, quiet, .help = "no progress line, no report")

static const char *const op_log_choices[] = {
	[OP_LOG_PER_AUTO] = "auto", [OP_LOG_PER_RANK] = "rank", [OP_LOG_PER_NODE] = "node", NULL};

/* clang-format off */
#define ROWS_RUN \
	ROW_RESULTS, \
	ROW_FORCE, \
	RUN_ROW("strict", BOOL, strict, \
	    .help = "ends with exit status 8 when a target was missed, or was met by figures that do not count"), \
	CLI_SET(struct run_args), \
	RUN_ROW("sweep", WORDS, sweeps, .value = "PATH=A,B,C", \
	    .help = "runs the job with each value; several sweeps: with each combination"), \
	RUN_ROW("find", WORD, find, .value = "PATH=LOW..HIGH", \
	    .help = "searches for the greatest value that meets --until: ranks=1..64, kvcache.users=1..1000"), \
	RUN_ROW("until", WORD, until, .value = "TARGET", \
	    .help = "the target of --find: \"train.au >= 0.9\", \"kvcache.request_p95 <= 200 ms\""), \
	RUN_ROW("tune", WORDS, tunes, .value = "PATH=A,B,C", \
	    .help = "searches for the best of these values, or of a range 1..16 (1, 2, 4, 8, 16); several: of each combination"), \
	RUN_ROW("tune-by", WORD, tune_by, .value = "[PHASE.]FIGURE", \
	    .help = "what --tune judges by, such as read.p99; default: the main figure of the phase"), \
	RUN_ROW("tuned", WORD, tuned, .value = "FILE", \
	    .help = "file for the job with the best settings of --tune; default: beside the results, results.tuned.json"), \
	RUN_ROW("repeat", U64, repeat, .value = "N", .min = 1, .max = SERIES_RUNS_MAX, \
	    .help = "runs the job, or each combination, N times; default 1"), \
	RUN_ROW("warmup", U64, warmup, .value = "N", .min = 0, .max = SERIES_RUNS_MAX - 1, \
	    .help = "N runs before them that are left out of all statistics"), \
	RUN_ROW("resume", BOOL, resume, \
	    .help = "goes on with the interrupted series or sweep in the results file: runs that ended are kept, the others are run"), \
	RUN_ROW("interleave", BOOL, interleave, \
	    .help = "takes the combinations of a sweep in turn, A B A B, so that haul compare can compare them in pairs"), \
	RUN_ROW("one-file", BOOL, one_file, \
	    .help = "joins the files of a series' runs into the results file at the end, however large; default: up to 1 GB in all"), \
	RUN_ROW("side-files", BOOL, side_files, \
	    .seldom = true, .help = "keeps the files of a series' runs beside the results file at the end"), \
	CLI_ONLY(struct run_args), \
	CLI_SKIP(struct run_args), \
	ROW_DEADLINE, \
	ROW_GRACE, \
	RUN_ROW("publish-every", TIME, publish_every_ns, .value = "TIME", .min = 1, \
	    .help = "publishes a phase that often while it runs (\"10 min\"), so that a run that is killed keeps its figures"), \
	ROW_LIVE, \
	RUN_ROW("op-log", WORD, op_log, .value = "FILE.tsv.zst", \
	    .help = "writes a row for each request to one file per rank; without .zst they are not compressed"), \
	RUN_ROW("op-log-per", CHOICE, op_log_per, .choices = op_log_choices, \
	    .seldom = true, .help = "a file for each rank or one for each node; default: by rank up to 1024 ranks"), \
	RUN_ROW("op-log-rows", U64, op_log_rows, .value = "N", .min = OP_LOG_ROWS_MIN, \
	    .max = 1 << 26, \
	    .seldom = true, .help = "the number of rows that a queue keeps until they are written; default 8192"), \
	ROW_IGNORE_SPACE, \
	ROW_FAKE_NODES, \
	ROW_QUIET
/* clang-format on */

static const struct option run_options[] = {
	ROWS_RUN,
	RUN_ROW("io-trace-log", WORD, io_trace_log, .value = "FILE.csv.zst",
		.help = "moves no byte, and writes what the phase kvcache would do; without .zst it is not compressed"),
	ROW_TRACE_FORMAT,
	RUN_ROW("io-trace-ranks", CHOICE, io_trace_ranks, .choices = kv_trace_ranks_names,
		.help = "of a tensor group, the rows of one rank (group, default) or of all"),
	OPT_END,
};
static const struct option replay_options[] = {
	RUN_ROW("store", WORD, store, .value = "URI",
		.help = "the store, which must be given; its options: --set stores.store.KEY=VALUE"),
	RUN_ROW("speed", WORD, speed, .value = "recorded|FACTOR|max",
		.help = "at the recorded times (default), FACTOR times as fast, or as fast as possible"),
	RUN_ROW("size-scale", WORD, size_scale, .value = "FACTOR",
		.help = "factor by which the sizes of all objects change; default 1"),
	RUN_ROW("tiers", WORD, tiers, .value = "all|N,N",
		.help = "tiers whose rows reach the store: all (default), or numbers such as 1,2"),
	RUN_ROW("through", WORD, through, .value = "mlperf-v3",
		.help = "takes the rows of Prefill and Decode as requests to tiers, which decide what is moved"),
	RUN_ROW("gpu-mem", BYTES, gpu, .value = "SIZE", .min = 1,
		.help = "with --through: capacity of Tier-0 (\"0.5 GiB\"); default: there is none"),
	RUN_ROW("cpu-mem", BYTES, cpu, .value = "SIZE", .min = 1,
		.help = "with --through: capacity of Tier-1; default: there is none"),
	RUN_ROW("storage-capacity", BYTES, storage, .value = "SIZE", .min = 1,
		.help = "with --through: capacity of Tier-2; default: no limit"),
	RUN_ROW("io-trace-log", WORD, io_trace_log, .value = "FILE.csv.zst",
		.help = "moves no byte, and writes the rows that it would replay; needs no --store"),
	ROW_TRACE_FORMAT,
	RUN_ROW("lenient", BOOL, lenient,
		.help = "leaves out and counts rows that are wrong, instead of ending the run"),
	RUN_ROW("clean", BOOL, clean,
		.help = "replays nothing, but removes what such a run that was killed has left in the store"),
	ROWS_RUN,
	OPT_END,
};
static const struct option generate_options[] = {
	RUN_ROW("results", WORD, results, .value = "FILE",
		.help = "file for the results; default: none"),
	ROW_FORCE,
	CLI_SET(struct run_args),
	CLI_ONLY(struct run_args),
	CLI_SKIP(struct run_args),
	ROW_DEADLINE,
	ROW_GRACE,
	ROW_LIVE,
	ROW_IGNORE_SPACE,
	ROW_FAKE_NODES,
	ROW_QUIET,
	OPT_END,
};
static const struct option clean_options[] = {
	CLI_SET(struct run_args),
	ROW_GRACE,
	ROW_FAKE_NODES,
	OPT_END,
};

/* Joins the command line as the results store it: readable, cut where it is very long. */
static void run_command_line(char *line, size_t bytes, int argc, char **argv)
{
	size_t used = 0;
	int i;

	line[0] = '\0';
	for (i = 0; i < argc && used < bytes; i++)
		used += (size_t)snprintf(line + used, bytes - used, "%s%s", i ? " " : "", argv[i]);
}

static const char *results_path(const struct run_options *options)
{
	return options->results ? options->results : "results.h5";
}

static void print_report(const char *path)
{
	struct report_options o = {.color = report_color(stdout), .classes = class_of_results};
	struct err err = {0};

	fflush(stdout);
	if (report_files(stdout, REPORT_TEXT, &path, 1, &o, &err) < 0)
		cli_say("%s", err.text);
}

/* Whoever removes the folder of the results while the run goes on has them no more. */
static bool run_can_report(const struct run *run, const struct run_options *options)
{
	return run_left_results(run) && access(results_path(options), R_OK) == 0;
}

/* Rank 0 prints after the run: what was done on standard output, and errors on standard error. */
static void run_print_outcome(const struct run *run, const struct run_options *options,
			      enum exit_status status, const struct err *err)
{
	bool made =
		status == EXIT_DONE || status == EXIT_TARGET_MISSED || status == EXIT_INTERRUPTED;
	/* Where programs read the live figures, there is nothing for people. */
	bool prints =
		made && !options->quiet && !(options->live && strcmp(options->live, "-") == 0);
	const char *message = run_message(run);

	if (prints && run_can_report(run, options) && options->verb == RUN_ALL)
		print_report(results_path(options));
	else if (prints && message[0])
		printf("%s\n", message);
	fflush(stdout);
	if (status == EXIT_TARGET_MISSED)
		cli_say("%s", err->text[0] ? err->text : "a target was missed");
	else if (status != EXIT_DONE)
		cli_say("%s", err->text[0] ? err->text : "the run failed");
	if ((status == EXIT_FAILED || status == EXIT_INTERRUPTED) && run_can_report(run, options))
		fprintf(stderr, "more: haul report %s\n", results_path(options));
}

/* The texts of the changes that --io-trace-log stands for. */
struct run_trace {
	char log[COMMAND_BYTES], format[64], ranks[64];
};

/* The changes to the job: those of --set, then --io-trace-log and --io-trace-format, which are
 * options of the only phase "kvcache", or "replay". They last as long as args and trace. Returns
 * how many there are. */
static unsigned run_sets(const struct run_args *args, bool replays, const char *sets[RUN_SETS_MAX],
			 struct run_trace *trace)
{
	const char *kind = replays ? "replay" : "kvcache",
		   *option = replays ? "trace_out" : "trace";
	unsigned count = args->sets.count;

	memcpy(sets, args->sets.items, count * sizeof(*sets));
	if (!args->io_trace_log)
		return count;
	snprintf(trace->log, sizeof(trace->log), "%s.%s=%s", kind, option, args->io_trace_log);
	sets[count++] = trace->log;
	if (args->io_trace_format) {
		snprintf(trace->format, sizeof(trace->format), "%s.trace_format=%s", kind,
			 trace_format_names[args->io_trace_format]);
		sets[count++] = trace->format;
	}
	if (args->io_trace_ranks) {
		snprintf(trace->ranks, sizeof(trace->ranks), "kvcache.trace_ranks=%s",
			 kv_trace_ranks_names[args->io_trace_ranks]);
		sets[count++] = trace->ranks;
	}
	return count;
}

/* A ready job is found by its name. */
static int run_find_job(const struct run *run, struct run_options *options, void *path,
			struct err *err)
{
	int rc = catalog_resolve(options->job, path, RUN_PATH_BYTES, err);

	(void)run;
	if (rc == 0)
		options->job = path;
	return rc;
}

enum exit_status cli_run(const struct call *call, struct run_options *options, cli_prepare *prepare,
			 void *argument)
{
	struct err err = {0}, unprepared = {0};
	bool launched = cli_launched(); /* MPI_Init may set what launchers set */
	char command[COMMAND_BYTES], **argv = call->argv;
	int argc = call->argc;
	enum exit_status status;
	bool speak = false;
	struct run *run;

	options->alone = options->verb == RUN_ALL && !options->quiet && !launched;
	options->version = HAUL_VERSION;
	options->build = HAUL_BUILD;
	run_command_line(command, sizeof(command), argc, argv);
	if (run_begin(&run, &argc, &argv, &err) < 0) {
		cli_say("%s", err.text);
		return EXIT_FAILED;
	}
	options->command_line = command;
	/* Only rank 0 looks into the catalogue, so that thousands of ranks do not ask the file
	 * system. */
	if (run_rank(run) == 0 && prepare)
		prepare(run, options, argument, &unprepared);
	status = run_job(run, options, &speak, &err);
	if (speak && options->strict && status == EXIT_DONE && run_can_report(run, options) &&
	    report_strict(results_path(options), &err) == -ERANGE)
		status = EXIT_TARGET_MISSED;
	if (speak)
		run_print_outcome(run, options, status,
				  status == EXIT_USAGE && unprepared.code ? &unprepared : &err);
	run_end(run);
	options->command_line = NULL;
	return status;
}

static struct phase_filter run_filter(const struct run_args *args)
{
	return (struct phase_filter){.only = args->only.items,
				     .only_count = args->only.count,
				     .skip = args->skip.items,
				     .skip_count = args->skip.count};
}

/* What the run searches for. */
static void run_ask(struct run_options *options, const struct run_args *args)
{
	options->find = args->find;
	options->until = args->until;
	options->tunes = args->tunes.items;
	options->tune_count = args->tunes.count;
	options->tune_by = args->tune_by;
	options->tuned = args->tuned;
}

/* job_text: the job, where it is not the file or the ready job that the first argument names; else
 * NULL. */
static int run_as(const struct call *call, enum run_verb verb, const char *job_text)
{
	const struct run_args *args = call->options;
	char path[RUN_PATH_BYTES], clean[CLEAN_COMMAND_BYTES];
	struct run_trace trace;
	const char *sets[RUN_SETS_MAX];
	struct run_options options = {
		.verb = verb,
		.job = job_text ? "haul replay" : call->arguments[0],
		.job_text = job_text,
		.clean = job_text ? clean_command_of_replay(clean, call)
				  : clean_command_of_job(clean, call->arguments[0], &args->sets),
		.results = args->results,
		.force = args->force,
		.resume = args->resume,
		.strict = args->strict,
		.quiet = args->quiet,
		.live = args->live,
		.one_file = args->one_file,
		.side_files = args->side_files,
		.interleave = args->interleave,
		.ignore_space = args->ignore_space,
		.sets = sets,
		.set_count = run_sets(args, job_text, sets, &trace),
		.filter = run_filter(args),
		.sweeps = args->sweeps.items,
		.sweep_count = args->sweeps.count,
		.repeat = (uint32_t)args->repeat,
		.warmup = (uint32_t)args->warmup,
		.op_log = args->op_log,
		.op_log_per = (enum op_log_per)args->op_log_per,
		.op_log_rows = args->op_log_rows,
		.deadline_ns = args->deadline_ns,
		.grace_ns = args->grace_ns,
		.publish_every_ns = args->publish_every_ns,
		.fake_nodes = (uint32_t)args->fake_nodes,
	};

	run_ask(&options, args);
	return cli_run(call, &options, job_text ? NULL : run_find_job, path);
}

static int run_check(const void *options)
{
	const struct run_args *args = options;

	if (args->one_file && args->side_files) {
		cli_say("--one-file and --side-files contradict each other: give one of them");
		return EXIT_USAGE;
	}
	if (args->resume && (args->find || args->tunes.count || args->op_log)) {
		cli_say("--resume goes on with a series or a sweep; it does not go with --%s",
			args->find          ? "find"
			: args->tunes.count ? "tune"
					    : "op-log");
		return EXIT_USAGE;
	}
	if (args->interleave && !args->sweeps.count) {
		cli_say("--interleave: there is nothing to take in turn without --sweep");
		return EXIT_USAGE;
	}
	if ((args->io_trace_format || args->io_trace_ranks) && !args->io_trace_log) {
		cli_say("--io-trace-%s: needs --io-trace-log FILE",
			args->io_trace_format ? "format" : "ranks");
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

static int do_run(const struct call *call)
{
	return run_as(call, RUN_ALL, NULL);
}

/* A factor as the command line gives it. Bounds are those of the job. */
static bool replay_factor(const char *text, double *factor)
{
	char *end;

	*factor = strtod(text, &end);
	return end != text && !*end && isfinite(*factor);
}

/* Sets the numbers that are given as texts. Returns the exit status. */
static int replay_numbers(const struct run_args *args, double *speed, double *size_scale)
{
	if (args->speed && strcmp(args->speed, "max") == 0)
		*speed = 0;
	else if (args->speed && strcmp(args->speed, "recorded") != 0 &&
		 (!replay_factor(args->speed, speed) || *speed <= 0)) {
		cli_say("--speed: must be recorded, max, or a factor above 0, is \"%s\"",
			args->speed);
		return EXIT_USAGE;
	}
	if (args->size_scale && !replay_factor(args->size_scale, size_scale)) {
		cli_say("--size-scale: must be a factor, is \"%s\"", args->size_scale);
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

/* The job of a replay. The caller frees it. NULL: no memory. */
static char *replay_job(const struct run_args *args, const char *trace, double speed,
			double size_scale)
{
	cJSON *root = cJSON_CreateObject(), *phase = cJSON_CreateObject();
	cJSON *stores = cJSON_AddObjectToObject(root, "stores");
	cJSON *store = cJSON_AddObjectToObject(stores, "store");
	cJSON *phases = cJSON_AddArrayToObject(root, "phases");
	cJSON *replay = cJSON_AddObjectToObject(phase, "replay");
	bool made =
		cJSON_AddStringToObject(root, "name", "replay") &&
		cJSON_AddStringToObject(store, "uri", args->store ? args->store : "null://none") &&
		cJSON_AddStringToObject(replay, "trace", trace) &&
		cJSON_AddNumberToObject(replay, "speed", speed) &&
		cJSON_AddNumberToObject(replay, "size_scale", size_scale) &&
		cJSON_AddStringToObject(replay, "tiers", args->tiers ? args->tiers : "all") &&
		cJSON_AddStringToObject(replay, "through",
					args->through ? args->through : "none") &&
		cJSON_AddNumberToObject(replay, "gpu", (double)args->gpu) &&
		cJSON_AddNumberToObject(replay, "cpu", (double)args->cpu) &&
		cJSON_AddNumberToObject(replay, "storage", (double)args->storage) &&
		cJSON_AddBoolToObject(replay, "lenient", args->lenient);
	char *text;

	cJSON_AddItemToArray(phases, phase);
	text = made ? json_print(root) : NULL;
	cJSON_Delete(root);
	return text;
}

static int do_replay(const struct call *call)
{
	const struct run_args *args = call->options;
	double speed = 1, size_scale = 1;
	int status = EXIT_DONE;
	char *text;

	if (!args->store && !args->io_trace_log) {
		cli_say("replay: needs --store URI; haul replay --help");
		status = EXIT_USAGE;
	}
	if (status == EXIT_DONE)
		status = replay_numbers(args, &speed, &size_scale);
	if (status != EXIT_DONE)
		return status;
	text = replay_job(args, call->arguments[0], speed, size_scale);
	if (!text) {
		cli_say("no memory for the job");
		return EXIT_FAILED;
	}
	status = run_as(call, args->clean ? RUN_CLEAN : RUN_ALL, text);
	free(text);
	return status;
}

static int do_generate(const struct call *call)
{
	return run_as(call, RUN_GENERATE, NULL);
}

static int do_clean(const struct call *call)
{
	return run_as(call, RUN_CLEAN, NULL);
}

static void run_more(void)
{
	printf("Keys of a job, for --set and --sweep: docs/reference-job.md, or haul schema\n"
	       "--reference. haul plan JOB shows what a run would do, and opens nothing.\n");
}

const struct verb run_verb = {
	.name = "run",
	.arguments = "JOB",
	.help = "under mpiexec: runs the job's phases, writes results, reports",
	.example = "mpiexec -n 64 haul run unet3d_h100 --results monday.h5",
	.more = run_more,
	.options = run_options,
	.options_bytes = sizeof(struct run_args),
	.arguments_min = 1,
	.arguments_max = 1,
	.takes_job = true,
	.check = run_check,
	.run = do_run,
};

const struct verb replay_verb = {
	.name = "replay",
	.arguments = "TRACE",
	.help = "under mpiexec: replays a recorded trace of a key-value cache on a store",
	.example = "mpiexec -n 4 haul replay ops.csv.zst --store file:///scratch/kv --tiers 2",
	.more = run_more,
	.options = replay_options,
	.options_bytes = sizeof(struct run_args),
	.arguments_min = 1,
	.arguments_max = 1,
	.check = run_check,
	.run = do_replay,
};

const struct verb generate_verb = {
	.name = "generate",
	.arguments = "JOB",
	.help = "under mpiexec: runs only the generating phases; data that is complete is kept",
	.example = "mpiexec -n 64 haul generate unet3d_h100",
	.more = run_more,
	.options = generate_options,
	.options_bytes = sizeof(struct run_args),
	.arguments_min = 1,
	.arguments_max = 1,
	.takes_job = true,
	.run = do_generate,
};

const struct verb clean_verb = {
	.name = "clean",
	.arguments = "JOB",
	.help = "under mpiexec: removes exactly what haul made, as listed in its manifest",
	.example = "mpiexec -n 64 haul clean unet3d_h100",
	.options = clean_options,
	.options_bytes = sizeof(struct run_args),
	.arguments_min = 1,
	.arguments_max = 1,
	.takes_job = true,
	.run = do_clean,
};
