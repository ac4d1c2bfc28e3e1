#include "report/report.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "ranks/run/run.h"

enum { FILES_MAX = 4096 };

struct report_args {
	bool json, csv;
};

static const struct verb_option report_options[] = {
	{.name = "json",
	 .kind = VERB_FLAG,
	 .offset = offsetof(struct report_args, json),
	 .help = "for programs"},
	{.name = "csv",
	 .kind = VERB_FLAG,
	 .offset = offsetof(struct report_args, csv),
	 .help = "a row a phase, for spreadsheets"},
	{.name = NULL},
};

static int report_run(const struct call *call)
{
	const struct report_args *args = call->options;
	enum report_shape shape = args->json ? REPORT_JSON : args->csv ? REPORT_CSV : REPORT_TEXT;
	struct err err = {0};
	int rc;

	if (args->json && args->csv) {
		cli_say("report: --json and --csv exclude each other");
		return EXIT_USAGE;
	}
	rc = report_files(stdout, shape, call->arguments, call->argument_count,
			  report_color(stdout), &err);
	if (rc == 0)
		return EXIT_DONE;
	cli_say("%s", err.text);
	return rc == -ENOENT || rc == -EINVAL || rc == -EACCES || rc == -EISDIR ? EXIT_USAGE
										: EXIT_FAILED;
}

const struct verb report_verb = {
	.name = "report",
	.arguments = "FILE…",
	.help = "reads results files",
	.example = "haul report results.h5 --json",
	.options = report_options,
	.options_bytes = sizeof(struct report_args),
	.arguments_min = 1,
	.arguments_max = FILES_MAX,
	.run = report_run,
};
