/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "accept": results judged by a file of rules. */
#include <errno.h>
#include <stdio.h>

#include "cli/catalog.h"
#include "cli/check.h"
#include "cli/cli.h"
#include "cli/edition.h"
#include "ranks/run/run.h"
#include "report/accept/accept.h"
#include "report/report.h"

enum { ACCEPT_FILES_MAX = 4096 };

struct accept_args {
	bool json;
};

static const struct option accept_options[] = {
	OPT_BOOL("json", struct accept_args, json, .help = "prints JSON, for programs"),
	OPT_END,
};

static int accept_run(const struct call *call)
{
	const struct accept_args *args = call->options;
	struct err err = {0};
	char rules[4096];
	bool accepted;
	int rc;

	catalog_rules(call->arguments[0], rules, sizeof(rules));
	if (edition_is(rules))
		return check_results(rules, call->arguments + 1, call->argument_count - 1,
				     args->json);
	rc = cli_refuse_simulated(call->arguments + 1, call->argument_count - 1, false,
				  "only measurements are accepted", &err);
	if (rc == 0)
		rc = report_accept(stdout, args->json ? REPORT_JSON : REPORT_TEXT, rules,
				   call->arguments + 1, call->argument_count - 1, &accepted, &err);
	if (rc == 0)
		return accepted ? EXIT_DONE : EXIT_TARGET_MISSED;
	cli_say("%s", err.text);
	return rc == -ENOENT || rc == -EINVAL || rc == -EACCES || rc == -EISDIR ? EXIT_USAGE
										: EXIT_FAILED;
}

static void accept_more(void)
{
	printf("RULES is a JSON file, or a name of the catalogue (accept_unet3d):\n"
	       "  {\"rules\": [{\"phase\": \"read\", \"least_rate\": \"20 GB/s\"}]}\n"
	       "A rule names a phase, and has one criterion or several:\n\n");
	for (int i = 0; accept_kinds[i].key; i++) {
		char key[40];

		snprintf(key, sizeof(key), "  %s", accept_kinds[i].key);
		cli_row(key, 26, accept_kinds[i].help);
	}
	printf("\nA file of rules of an edition (mlperf-" EDITION_USUAL
	       ", docs/checking.md)\njudges as haul check does.\n");
	printf("With \"judge\": \"interval\" the nearer end of the repeats' interval counts.\n"
	       "docs/targets.md says more.\n");
}

const struct verb accept_verb = {
	.name = "accept",
	.arguments = "RULES FILE…",
	.help = "judges results files by rules; exit status 8: a criterion is not met",
	.example = "haul accept rules.json results.h5",
	.more = accept_more,
	.options = accept_options,
	.options_bytes = sizeof(struct accept_args),
	.arguments_min = 2,
	.arguments_max = ACCEPT_FILES_MAX,
	.run = accept_run,
};
