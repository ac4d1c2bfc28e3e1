/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "compare": results side by side. */
#include <stdio.h>

#include "cli/cli.h"
#include "ranks/run/run.h"
#include "report/report.h"

enum { COMPARE_FILES_MAX = 4096 };

struct compare_args {
	bool json, csv, simulated;
	const char *html;
};

static const struct option compare_options[] = {
	OPT_BOOL("json", struct compare_args, json, .help = "prints JSON, for programs"),
	OPT_BOOL("csv", struct compare_args, csv,
		 .help = "prints one row per pair of sides and metric, for spreadsheets"),
	OPT_BOOL("simulated", struct compare_args, simulated,
		 .help = "compares a simulation with measurements, too"),
	OPT_WORD(
		"html", struct compare_args, html, .value = "OUT",
		.help = "writes one page to the file OUT, for a browser: the comparison, then each file"),
	OPT_END,
};

static int compare_run(const struct call *call)
{
	const struct compare_args *args = call->options;
	enum report_shape shape = args->json ? REPORT_JSON : args->csv ? REPORT_CSV : REPORT_TEXT;
	struct err err = {0};
	int rc;

	if ((args->html && (args->json || args->csv)) || (args->json && args->csv)) {
		cli_say("compare: --%s and --%s exclude each other", args->html ? "html" : "csv",
			args->json ? "json" : "csv");
		return EXIT_USAGE;
	}
	rc = args->simulated
		     ? 0
		     : cli_refuse_simulated(call->arguments, call->argument_count, true,
					    "say --simulated to compare it with others", &err);
	if (rc == 0 && args->html)
		rc = report_page(args->html, true, call->arguments, call->argument_count, &err);
	else if (rc == 0)
		rc = report_compare(stdout, shape, call->arguments, call->argument_count, &err);
	return cli_ended(rc, &err);
}

const struct verb compare_verb = {
	.name = "compare",
	.arguments = "FILE…",
	.help = "compares results files, or the combinations of a sweep in one",
	.example = "haul compare monday.h5 tuesday.h5",
	.options = compare_options,
	.options_bytes = sizeof(struct compare_args),
	.arguments_min = 1,
	.arguments_max = COMPARE_FILES_MAX,
	.run = compare_run,
};
