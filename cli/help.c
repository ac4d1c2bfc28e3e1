/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "help": lists the verbs, or explains one. */
#include <stdio.h>

#include "cli/cli.h"
#include "ranks/run/run.h"

static int help_all(void)
{
	const struct verb *const *v;

	printf("haul VERB [options]: the I/O of AI on a storage system, measured\n\n");
	for (v = verb_table(); *v; v++) {
		char left[64];

		if ((*v)->hidden)
			continue;
		snprintf(left, sizeof(left), "  %s %s", (*v)->name, (*v)->arguments);
		cli_row(left, 20, (*v)->help);
	}
	printf("\nhaul VERB --help says more. A JOB is a file or a name from haul catalog.\n"
	       "example: mpiexec -n 4 haul run unet3d_demo\n");
	return EXIT_DONE;
}

static int help_run(const struct call *call)
{
	const struct verb *verb;

	if (!call->argument_count)
		return help_all();
	verb = verb_find(call->arguments[0]);
	if (!verb) {
		cli_say("unknown verb \"%s\"; haul help lists them", call->arguments[0]);
		return EXIT_USAGE;
	}
	verb_help(verb);
	return EXIT_DONE;
}

const struct verb help_verb = {
	.name = "help",
	.arguments = "[VERB]",
	.help = "lists the verbs, or explains one",
	.example = "haul help plan",
	.arguments_max = 1,
	.run = help_run,
};
