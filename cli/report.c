/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "report": reads results files. */
#include "report/report.h"

#include <stdio.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/edition.h"
#include "ranks/run/run.h"

enum { FILES_MAX = 4096 };

struct report_args {
	bool json, csv, scaling, answer;
	const char *html, *svg;
	uint64_t steps;
};

static const struct option report_options[] = {
	OPT_BOOL("json", struct report_args, json, .help = "prints JSON, for programs"),
	OPT_BOOL("csv", struct report_args, csv,
		 .help = "prints one row per phase, for spreadsheets"),
	OPT_WORD(
		"html", struct report_args, html, .value = "OUT",
		.help = "writes one page with charts to the file OUT, for a browser; it needs no network"),
	OPT_BOOL(
		"scaling", struct report_args, scaling,
		.help = "prints one table of all files, with a row per number of nodes; also with --json "
			"or --csv"),
	OPT_BOOL(
		"answer", struct report_args, answer,
		.help = "prints what --find, --tune or haul assess has found, alone; with --csv a row per "
			"value, setting or workload"),
	OPT_WORD("svg", struct report_args, svg, .value = "OUT",
		 .help = "writes the figure of --scaling alone to the file OUT, for a slide"),
	OPT_U64("steps", struct report_args, steps, .value = "N", .min = 1, .max = STEPS_ROWS,
		.help = "with --json: the greatest number of rows of single steps; default 256"),
	OPT_END,
};

static bool report_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int report_run(const struct call *call)
{
	static const char *const usual[] = {"results.h5"};
	const struct report_args *args = call->options;
	const char *const *files = call->argument_count ? call->arguments : usual;
	struct report_options o = {.color = report_color(stdout),
				   .classes = class_of_results,
				   .steps_rows = (uint32_t)args->steps};
	unsigned count = call->argument_count ? call->argument_count : 1;
	enum report_shape shape = args->json ? REPORT_JSON : args->csv ? REPORT_CSV : REPORT_TEXT;
	struct err err = {0};
	int rc;

	if (args->csv && args->json) {
		cli_say("report: --csv and --json exclude each other");
		return EXIT_USAGE;
	}
	if (args->answer && (args->scaling || args->html || args->svg || args->steps)) {
		cli_say("report: --answer goes with --json or --csv only");
		return EXIT_USAGE;
	}
	if (args->svg && (args->html || args->json || args->csv || args->scaling || args->steps)) {
		cli_say("report: --svg writes the figure alone, and goes with no other option");
		return EXIT_USAGE;
	}
	if (args->html && (args->json || args->csv || args->scaling || args->steps)) {
		cli_say("report: --html has all of it, and goes with no other option");
		return EXIT_USAGE;
	}
	if (count == 1 && report_is_folder(files[0]) &&
	    !(args->csv || args->scaling || args->steps || args->html || args->svg || args->answer))
		return cli_ended(report_folder(stdout, shape, files[0], &err), &err);
	rc = args->svg       ? report_scaling_figure(args->svg, files, count, &err)
	     : args->html    ? report_page(args->html, false, files, count, &err)
	     : args->answer  ? report_answers(stdout, shape, files, count, &err)
	     : args->scaling ? report_scaling(stdout, shape, files, count, &err)
			     : report_files(stdout, shape, files, count, &o, &err);
	return cli_ended(rc, &err);
}

const struct verb report_verb = {
	.name = "report",
	.arguments = "[FILE…|DIR]",
	.help = "reads results files (default: results.h5), or lists those of a folder",
	.example = "haul report --json results.h5",
	.options = report_options,
	.options_bytes = sizeof(struct report_args),
	.arguments_min = 0,
	.arguments_max = FILES_MAX,
	.run = report_run,
};
