/* The verbs "run", "generate" and "clean", which run under mpiexec. Without it they are one
 * rank. */
#include "ranks/run/run.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/op_log/op_log.h"
#include "cli/catalog_find.h"
#include "cli/cli.h"
#include "haul_build.h"
#include "plan/series/series.h"
#include "report/report.h"

enum { COMMAND_BYTES = 4096, RUN_SETS_MAX = VERB_TEXTS_MAX + 1 };

struct run_args {
	const char *results;
	bool force, strict, quiet, ignore_space, one_file, interleave;
	struct verb_texts sets, sweeps, only, skip;
	const char *op_log, *live;
	uint32_t op_log_per;
	const char *io_trace_log;
	uint64_t op_log_rows, repeat, warmup, deadline_ns, publish_every_ns, fake_nodes;
};

#define ROW(n, k, member, ...) \
	{ \
		.name = (n), .kind = (k), .offset = offsetof(struct run_args, member), __VA_ARGS__ \
	}
#define ROW_RESULTS \
	ROW("results", VERB_TEXT, results, .value = "FILE", \
	    .help = "file for the results; default results.h5")
#define ROW_FORCE ROW("force", VERB_FLAG, force, .help = "replaces a results file that exists")
#define ROW_SET \
	ROW("set", VERB_TEXTS, sets, .value = "PATH=VALUE", \
	    .help = "changes the job: train.batch=4; may be repeated")
#define ROW_ONLY \
	ROW("only", VERB_TEXTS, only, .value = "PHASE", \
	    .help = "only the phases of this name or kind; may be repeated")
#define ROW_SKIP \
	ROW("skip", VERB_TEXTS, skip, .value = "PHASE", \
	    .help = "all except the phases of this name or kind; may be repeated")
#define ROW_DEADLINE \
	ROW("deadline", VERB_TIME, deadline_ns, .value = "TIME", \
	    .help = "stops all ranks this long after the start (\"25 min\") and keeps the results")
#define ROW_FAKE_NODES \
	ROW("fake-nodes", VERB_COUNT, fake_nodes, .value = "N", .min = 1, .max = 1 << 16, \
	    .help = "for tests: treats this machine as N nodes")
#define ROW_IGNORE_SPACE \
	ROW("ignore-space", VERB_FLAG, ignore_space, \
	    .help = "runs even if a phase writes more than is free on its store")
#define ROW_LIVE \
	ROW("live", VERB_TEXT, live, .value = "FILE|-", \
	    .help = "writes a line of JSON per second while the run goes on; -: to standard output, in place of the report")
#define ROW_QUIET ROW("quiet", VERB_FLAG, quiet, .help = "no progress line, no report")

static const char *const op_log_choices[] = {
	[OP_LOG_PER_AUTO] = "auto", [OP_LOG_PER_RANK] = "rank", [OP_LOG_PER_NODE] = "node", NULL};

static const struct verb_option run_options[] = {
	ROW_RESULTS,
	ROW_FORCE,
	ROW("strict", VERB_FLAG, strict,
	    .help = "ends with exit status 8 when a target was missed"),
	ROW_SET,
	ROW("sweep", VERB_TEXTS, sweeps, .value = "PATH=A,B,C",
	    .help = "runs the job with each value; several sweeps: with each combination"),
	ROW("repeat", VERB_COUNT, repeat, .value = "N", .min = 1, .max = SERIES_RUNS_MAX,
	    .help = "runs the job, or each combination, N times; default 1"),
	ROW("warmup", VERB_COUNT, warmup, .value = "N", .min = 0, .max = SERIES_RUNS_MAX - 1,
	    .help = "N runs before them that are left out of all statistics"),
	ROW("interleave", VERB_FLAG, interleave,
	    .help = "takes the combinations of a sweep in turn, A B A B, so that haul compare can compare them in pairs"),
	ROW("one-file", VERB_FLAG, one_file,
	    .help = "joins the files of a series' runs into the results file at the end"),
	ROW_ONLY,
	ROW_SKIP,
	ROW_DEADLINE,
	ROW("publish-every", VERB_TIME, publish_every_ns, .value = "TIME",
	    .help = "publishes a phase that often while it runs (\"10 min\"), so that a run that is killed keeps its figures"),
	ROW_LIVE,
	ROW("op-log", VERB_TEXT, op_log, .value = "FILE.tsv.zst",
	    .help = "writes a row for each request to one file per rank; without .zst they are not compressed"),
	ROW("op-log-per", VERB_CHOICE, op_log_per, .choices = op_log_choices,
	    .help = "a file for each rank or one for each node; default: by rank up to 1024 ranks"),
	ROW("op-log-rows", VERB_COUNT, op_log_rows, .value = "N", .min = OP_LOG_ROWS_MIN,
	    .max = 1 << 26,
	    .help = "the number of rows that a queue keeps until they are written; default 8192"),
	ROW("io-trace-log", VERB_TEXT, io_trace_log, .value = "FILE.csv.zst",
	    .help = "moves no byte, and writes what the phase kvcache would do; without .zst it is not compressed"),
	ROW_IGNORE_SPACE,
	ROW_FAKE_NODES,
	ROW_QUIET,
	{.name = NULL},
};
static const struct verb_option generate_options[] = {
	ROW("results", VERB_TEXT, results, .value = "FILE",
	    .help = "file for the results; default: none"),
	ROW_FORCE,
	ROW_SET,
	ROW_ONLY,
	ROW_SKIP,
	ROW_DEADLINE,
	ROW_LIVE,
	ROW_IGNORE_SPACE,
	ROW_FAKE_NODES,
	ROW_QUIET,
	{.name = NULL},
};
static const struct verb_option clean_options[] = {
	ROW_SET,
	ROW_FAKE_NODES,
	{.name = NULL},
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
	struct report_options o = {.color = report_color(stdout)};
	struct err err = {0};

	fflush(stdout);
	if (report_files(stdout, REPORT_TEXT, &path, 1, &o, &err) < 0)
		cli_say("%s", err.text);
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

	if (prints && run_left_results(run) && options->verb == RUN_ALL)
		print_report(results_path(options));
	else if (prints && message[0])
		printf("%s\n", message);
	fflush(stdout);
	if (status == EXIT_TARGET_MISSED)
		cli_say("%s", err->text[0] ? err->text : "a target was missed");
	else if (status != EXIT_DONE)
		cli_say("%s", err->text[0] ? err->text : "the run failed");
	if ((status == EXIT_FAILED || status == EXIT_INTERRUPTED) && run_left_results(run))
		fprintf(stderr, "more: haul report %s\n", results_path(options));
}

/* The changes to the job: those of --set, then --io-trace-log, which is the option "trace" of the only phase "kvcache". They
 * last as long as args and trace. Returns how many there are. */
static unsigned run_sets(const struct run_args *args, const char *sets[RUN_SETS_MAX], char *trace,
			 size_t bytes)
{
	unsigned count = args->sets.count;

	memcpy(sets, args->sets.items, count * sizeof(*sets));
	if (args->io_trace_log) {
		snprintf(trace, bytes, "kvcache.trace=%s", args->io_trace_log);
		sets[count++] = trace;
	}
	return count;
}

static int run_as(const struct call *call, enum run_verb verb)
{
	const struct run_args *args = call->options;
	char path[4096], command[COMMAND_BYTES], trace[COMMAND_BYTES];
	const char *sets[RUN_SETS_MAX];
	struct run_options options = {
		.verb = verb,
		.job = call->arguments[0],
		.results = args->results,
		.force = args->force,
		.strict = args->strict,
		.quiet = args->quiet,
		.live = args->live,
		.one_file = args->one_file,
		.interleave = args->interleave,
		.ignore_space = args->ignore_space,
		.sets = sets,
		.set_count = run_sets(args, sets, trace, sizeof(trace)),
		.filter = {.only = args->only.items,
			   .only_count = args->only.count,
			   .skip = args->skip.items,
			   .skip_count = args->skip.count},
		.sweeps = args->sweeps.items,
		.sweep_count = args->sweeps.count,
		.repeat = (uint32_t)args->repeat,
		.warmup = (uint32_t)args->warmup,
		.op_log = args->op_log,
		.op_log_per = (enum op_log_per)args->op_log_per,
		.op_log_rows = args->op_log_rows,
		.deadline_ns = args->deadline_ns,
		.publish_every_ns = args->publish_every_ns,
		.fake_nodes = (uint32_t)args->fake_nodes,
		.command_line = command,
		.version = HAUL_VERSION,
		.build = HAUL_BUILD,
	};
	struct err err = {0}, unresolved = {0};
	bool launched = cli_launched(); /* MPI_Init may set what launchers set */
	char **argv = call->argv;
	int argc = call->argc;
	enum exit_status status;
	bool speak = false;
	struct run *run;

	options.alone = verb == RUN_ALL && !args->quiet && !launched;
	run_command_line(command, sizeof(command), argc, argv);
	if (run_begin(&run, &argc, &argv, &err) < 0) {
		cli_say("%s", err.text);
		return EXIT_FAILED;
	}
	/* Only rank 0 looks into the catalogue, so that thousands of ranks do not ask the file
	 * system. */
	if (run_rank(run) == 0 &&
	    catalog_resolve(options.job, path, sizeof(path), &unresolved) == 0)
		options.job = path;
	status = run_job(run, &options, &speak, &err);
	if (speak)
		run_print_outcome(run, &options, status,
				  status == EXIT_USAGE && unresolved.code ? &unresolved : &err);
	run_end(run);
	return status;
}

static int do_run(const struct call *call)
{
	const struct run_args *args = call->options;

	if (args->interleave && !args->sweeps.count) {
		cli_say("--interleave: there is nothing to take in turn without --sweep");
		return EXIT_USAGE;
	}
	return run_as(call, RUN_ALL);
}

static int do_generate(const struct call *call)
{
	return run_as(call, RUN_GENERATE);
}

static int do_clean(const struct call *call)
{
	return run_as(call, RUN_CLEAN);
}

const struct verb run_verb = {
	.name = "run",
	.arguments = "JOB",
	.help = "under mpiexec: runs the job's phases, writes results, reports",
	.example = "mpiexec -n 64 haul run unet3d_h100 --results monday.h5",
	.options = run_options,
	.options_bytes = sizeof(struct run_args),
	.arguments_min = 1,
	.arguments_max = 1,
	.takes_job = true,
	.run = do_run,
};

const struct verb generate_verb = {
	.name = "generate",
	.arguments = "JOB",
	.help = "under mpiexec: runs only the generating phases; data that is complete is kept",
	.example = "mpiexec -n 64 haul generate unet3d_h100",
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
