/* SPDX-License-Identifier: Apache-2.0 */
/* The program "haul VERB [options]": finds the verb, reads its options, calls it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/clock.h"
#include "core/numbers.h"
#include "core/option/option.h"
#include "ranks/run/run.h"

static int refuse_unknown(const char *given)
{
	const char *names[VERBS_MAX + 1];
	const char *near;
	unsigned n = 0;

	for (const struct verb *const *v = verb_table(); *v && n < VERBS_MAX; v++)
		if (!(*v)->hidden)
			names[n++] = (*v)->name;
	names[n] = NULL;
	near = option_nearest(given, names);
	if (near)
		cli_say("unknown verb \"%s\"; did you mean \"%s\"?", given, near);
	else
		cli_say("unknown verb \"%s\"; haul help lists them", given);
	return EXIT_USAGE;
}

/* Verbs of other tools that users may type, and what to use instead. */
static const struct {
	const char *word, *sentence;
} elsewhere[] = {
	{"datasize",
	 "haul plan JOB --nodes N --memory SIZE says how large a data set MLPerf wants"},
	{"datagen", "haul generate JOB makes the data set"},
	{"training",
	 "haul import mlpstorage training … makes a job of the command; haul run JOB trains"},
	{"checkpointing",
	 "haul import mlpstorage checkpointing … makes a job of the command; haul run JOB writes"},
	{"closed", "haul import mlpstorage closed … makes a job of the command"},
	{"open", "haul import mlpstorage open … makes a job of the command"},
	{"whatif", "haul import mlpstorage whatif … makes a job of the command"},
	{"mlpstorage", "haul import mlpstorage … makes a job of a command of mlpstorage"},
	{"configview", "haul plan JOB shows what a job needs"},
	{"reportgen", "haul report FILE... reads results"},
	{"history", "haul report FILE... reads results"},
	{"bench", "haul run JOB runs a benchmark; haul catalog lists ready jobs"},
	{"list", "haul ls URI lists a store; haul catalog lists ready jobs"},
	{"init", "haul catalog lists ready jobs; haul schema describes every key of a job"},
};

static int refuse_verb(const char *given)
{
	for (unsigned i = 0; i < COUNT(elsewhere); i++)
		if (strcmp(elsewhere[i].word, given) == 0) {
			cli_say("there is no verb \"%s\": %s", given, elsewhere[i].sentence);
			return EXIT_USAGE;
		}
	return refuse_unknown(given);
}

/* A full disk or a closed pipe under standard output must not look like success. */
static int flush_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	cli_say("standard output: %s", strerror(errno));
	return status ? status : EXIT_FAILED;
}

enum { FAMILY_BYTES = 128 };

/* A ready job of MLPerf may be named in words: "mlperf unet3d b200" is mlperf_unet3d_b200. name
 * must last as long as argv. */
static void join_family(const struct verb *verb, int *argc, char **argv, char name[FAMILY_BYTES])
{
	int words = 2;

	if (!verb->takes_job || *argc < 4 || strcmp(argv[2], "mlperf") != 0)
		return;
	name[0] = '\0';
	for (; words < *argc && argv[words][0] != '-'; words++) {
		size_t used = strlen(name);

		snprintf(name + used, FAMILY_BYTES - used, "%s%s", used ? "_" : "", argv[words]);
	}
	argv[2] = name;
	memmove(argv + 3, argv + words, (size_t)(*argc - words + 1) * sizeof(*argv));
	*argc -= words - 3;
}

static int call_verb(const struct verb *verb, int argc, char **argv, uint64_t start_ns)
{
	struct call call = {.verb = verb, .argc = argc, .argv = argv, .start_ns = start_ns};
	void *options = calloc(1, verb->options_bytes ? verb->options_bytes : 1);
	const char **arguments = calloc((size_t)argc + 1, sizeof(*arguments));
	int status = EXIT_USAGE;
	struct err err = {0};
	bool help = false;

	if (!options || !arguments) {
		cli_say("no memory");
		status = EXIT_FAILED;
		goto out_free;
	}
	call.options = options;
	call.arguments = arguments;
	if (verb_parse(verb, argc, argv, options, arguments, &call.argument_count, &help, &err) <
	    0) {
		cli_say("%s", err.text);
		goto out_free;
	}
	status = !help && verb->check ? verb->check(options) : EXIT_DONE;
	if (!help && status == EXIT_DONE)
		status = verb->run(&call);
	else if (help && cli_speaks())
		verb_help(verb);
out_free:
	free(arguments);
	free(options);
	return status;
}

int main(int argc, char **argv)
{
	uint64_t start_ns = clock_kernel_ns();
	const struct verb *verb;
	char family[FAMILY_BYTES];

	if (argc < 2) {
		cli_say("needs a verb; haul help lists them");
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		verb = &help_verb;
	else if (strcmp(argv[1], "--version") == 0)
		verb = &version_verb;
	else
		verb = verb_find(argv[1]);
	if (!verb)
		return refuse_verb(argv[1]);
	join_family(verb, &argc, argv, family);
	return flush_output(call_verb(verb, argc, argv, start_ns));
}

/* Table of verbs */

static const struct verb *const verbs[] = {
	&plan_verb,     &simulate_verb, &assess_verb,   &run_verb,    &replay_verb,
	&generate_verb, &clean_verb,    &catalog_verb,  &import_verb, &ls_verb,
	&report_verb,   &compare_verb,  &accept_verb,   &check_verb,  &validate_verb,
	&export_verb,   &show_verb,     &schema_verb,   &topo_verb,   &doctor_verb,
	&version_verb,  &help_verb,     &complete_verb, &parse_verb,  NULL,
};

const struct verb *const *verb_table(void)
{
	return verbs;
}

const struct verb *verb_find(const char *name)
{
	unsigned i;

	for (i = 0; verbs[i]; i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

/* The verb "help": lists the verbs, or explains one. */

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
