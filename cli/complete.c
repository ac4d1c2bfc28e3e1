/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs for scripts. haul __complete [VERB [--OPTION]] prints what the shell offers, one word per
 * line. haul __parse -- VERB WORD… only reads the words as that verb would, so that a job script refuses a wrong option
 * before it waits in a queue. Both work from the tables, so that no option is missing. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/catalog.h"
#include "cli/cli.h"
#include "plan/plan.h"
#include "ranks/run/run.h"

static int complete_print_name(void *argument, const char *name)
{
	(void)argument;
	printf("%s\n", name);
	return 0;
}

static void complete_verbs(void)
{
	for (const struct verb *const *v = verb_table(); *v; v++)
		if (!(*v)->hidden)
			printf("%s\n", (*v)->name);
}

static void complete_kinds(void)
{
	for (const struct section *const *s = plan_schema()->phases; *s; s++)
		printf("%s\n", (*s)->name);
}

/* Options of a table as "train.loader.workers=", those of nested tables included. */
static void complete_table(const char *prefix, const struct option *table)
{
	for (const struct option *o = table; o->name; o++) {
		char path[256];

		snprintf(path, sizeof(path), "%s.%s", prefix, o->name);
		if (o->kind == OPTION_TABLE)
			complete_table(path, o->table);
		else
			printf("%s=\n", path);
	}
}

static void complete_section(const char *prefix, const struct section *section)
{
	for (unsigned i = 0; section->tables[i]; i++)
		complete_table(prefix, section->tables[i]);
}

static void complete_sets(void)
{
	const struct job_schema *schema = plan_schema();

	complete_table("cluster", job_cluster_options());
	complete_section("dataset", schema->dataset);
	for (const struct section *const *s = schema->phases; *s; s++)
		complete_section((*s)->name, *s);
}

/* The values that an option may have, where they are words. */
static void complete_values(const struct option *o)
{
	if (o->kind == OPTION_CHOICE)
		for (unsigned i = 0; o->choices[i]; i++)
			printf("%s\n", o->choices[i]);
	else if (o->value && strcmp(o->value, "PHASE") == 0)
		complete_kinds();
	else if (o->value && strncmp(o->value, "PATH=", 5) == 0)
		complete_sets();
}

static void complete_verb_words(const struct verb *verb)
{
	for (const struct option *o = verb->options; o && o->name; o++)
		printf("--%s\n", o->name);
	printf("--help\n");
	if (verb->takes_job)
		catalog_each(complete_print_name, NULL);
}

static int complete_run(const struct call *call)
{
	const struct option *o;
	const struct verb *verb;

	if (!call->argument_count) {
		complete_verbs();
		return EXIT_DONE;
	}
	verb = verb_find(call->arguments[0]);
	if (!verb)
		return EXIT_DONE;
	if (call->argument_count == 1) {
		complete_verb_words(verb);
		return EXIT_DONE;
	}
	o = verb_option_find(verb, call->arguments[1], strlen(call->arguments[1]));
	if (o)
		complete_values(o);
	return EXIT_DONE;
}

/* The words begin with the verb: argv[1] of its own call. */
static int parse_run(const struct call *call)
{
	const struct verb *verb = verb_find(call->arguments[0]);
	int status = EXIT_USAGE, argc = (int)call->argument_count + 1;
	const char **arguments = calloc((size_t)argc + 1, sizeof(*arguments));
	char **argv = calloc((size_t)argc + 1, sizeof(*argv));
	void *options = calloc(1, verb && verb->options_bytes ? verb->options_bytes : 1);
	struct err err = {0};
	unsigned count;
	bool help;

	if (!verb) {
		cli_say("\"%s\" is not a verb; haul help lists them", call->arguments[0]);
	} else if (!arguments || !argv || !options) {
		cli_say("no memory");
		status = EXIT_FAILED;
	} else {
		argv[0] = call->argv[0];
		memcpy(argv + 1, call->arguments, call->argument_count * sizeof(*argv));
		if (verb_parse(verb, argc, argv, options, arguments, &count, &help, &err) < 0)
			cli_say("%s", err.text);
		else
			status = verb->check ? verb->check(options) : EXIT_DONE;
	}
	free(options);
	free(argv);
	free(arguments);
	return status;
}

const struct verb parse_verb = {
	.name = "__parse",
	.arguments = "-- VERB WORD…",
	.help = "whether the verb takes these words; nothing is run",
	.example = "haul __parse -- run unet3d_demo --strict",
	.arguments_min = 1,
	.arguments_max = UINT_MAX,
	.hidden = true,
	.run = parse_run,
};

const struct verb complete_verb = {
	.name = "__complete",
	.arguments = "[VERB [OPTION]]",
	.help = "words for the shell's completion",
	.example = "haul __complete plan",
	.arguments_max = 2,
	.hidden = true,
	.run = complete_run,
};
