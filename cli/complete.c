/* haul __complete [VERB]: what the shell's completion offers, a word a line. Made from the tables, so
 * that it knows every option there is. */
#include <stdio.h>

#include "cli/catalog_find.h"
#include "cli/cli.h"
#include "ranks/run/run.h"

static int print_name(void *argument, const char *name)
{
	(void)argument;
	printf("%s\n", name);
	return 0;
}

static int complete_run(const struct call *call)
{
	const struct verb *const *v;
	const struct verb_option *o;
	const struct verb *verb;

	if (!call->argument_count) {
		for (v = verb_table(); *v; v++)
			if (!(*v)->hidden)
				printf("%s\n", (*v)->name);
		return EXIT_DONE;
	}
	verb = verb_find(call->arguments[0]);
	if (!verb)
		return EXIT_DONE;
	for (o = verb->options; o && o->name; o++)
		printf("--%s\n", o->name);
	printf("--help\n");
	if (verb->takes_job)
		catalog_each(print_name, NULL);
	return EXIT_DONE;
}

const struct verb complete_verb = {
	.name = "__complete",
	.arguments = "[VERB]",
	.help = "words for the shell's completion",
	.example = "haul __complete plan",
	.arguments_max = 1,
	.hidden = true,
	.run = complete_run,
};
