/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of a verb's options, and their help: see cli.h. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/foreign.h"

enum { OPTIONS_MAX = 32, HELP_COLUMN = 26 };

static int refuse_option(const struct verb *verb, const char *given, struct err *err)
{
	const char *names[OPTIONS_MAX + 2];
	const struct option *o;
	const char *near, *foreign = foreign_option(given);
	const char *own = foreign ? foreign_own(foreign) : NULL;
	unsigned n = 0;

	o = own ? verb_option_find(verb, own, strlen(own)) : NULL;
	if (o)
		return err_set(err, -EINVAL,
			       "%s: unknown option \"%s\": here it is haul %s --%s %s", verb->name,
			       given, verb->name, o->name, o->value ? o->value : "");
	if (foreign)
		return err_set(err, -EINVAL, "%s: unknown option \"%s\": %s", verb->name, given,
			       foreign);
	for (o = verb->options; o && o->name && n < OPTIONS_MAX; o++)
		names[n++] = o->name;
	names[n++] = "help";
	names[n] = NULL;
	near = option_nearest(given + (given[0] == '-') + (given[0] == '-' && given[1] == '-'),
			      names);
	if (near)
		return err_set(err, -EINVAL, "%s: unknown option \"%s\"; did you mean \"--%s\"?",
			       verb->name, given, near);
	return err_set(err, -EINVAL, "%s: unknown option \"%s\"; haul %s --help lists them",
		       verb->name, given, verb->name);
}

const struct option *verb_option_find(const struct verb *verb, const char *name, size_t length)
{
	const struct option *o;

	for (o = verb->options; o && o->name; o++)
		if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
			return o;
	return NULL;
}

/* Reads the option at argv[*i] and its value. */
static int read_option(const struct verb *verb, int argc, char **argv, int *i, void *options,
		       struct err *err)
{
	const char *given = argv[*i], *equals = strchr(given, '='),
		   *value = equals ? equals + 1 : NULL;
	const struct option *o = NULL;
	char where[64];

	if (given[1] == '-')
		o = verb_option_find(verb, given + 2,
				     equals ? (size_t)(equals - given - 2) : strlen(given + 2));
	if (!o)
		return refuse_option(verb, given, err);
	if (o->kind == OPTION_BOOL && value)
		return err_set(err, -EINVAL, "--%s takes no value", o->name);
	if (o->kind != OPTION_BOOL && !value) {
		if (*i + 1 >= argc)
			return err_set(err, -EINVAL, "--%s needs a value: --%s %s", o->name,
				       o->name, o->value);
		value = argv[++*i];
	}
	snprintf(where, sizeof(where), "--%s", o->name);
	return option_parse_word(o, options, value, where, err);
}

int verb_parse(const struct verb *verb, int argc, char **argv, void *options,
	       const char **arguments, unsigned *argument_count, bool *help, struct err *err)
{
	const struct option *const tables[] = {verb->options, NULL};
	bool only_arguments = false;
	int i, rc;

	*argument_count = 0;
	*help = false;
	rc = options_parse(tables, options, NULL, "", NULL, err);
	if (rc < 0)
		return rc;
	for (i = 2; i < argc; i++) {
		if (!only_arguments && strcmp(argv[i], "--") == 0) {
			only_arguments = true;
		} else if (!only_arguments &&
			   (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
			*help = true;
			return 0;
		} else if (!only_arguments && argv[i][0] == '-' && argv[i][1]) {
			rc = read_option(verb, argc, argv, &i, options, err);
			if (rc < 0)
				return rc;
		} else {
			arguments[(*argument_count)++] = argv[i];
			only_arguments |= *argument_count == 1 && verb->words_after &&
					  strcmp(argv[i], verb->words_after) == 0;
		}
	}
	if (*argument_count < verb->arguments_min)
		return err_set(err, -EINVAL, "%s: needs %s; haul %s --help", verb->name,
			       verb->arguments, verb->name);
	if (*argument_count > verb->arguments_max) {
		const char *foreign = foreign_argument(arguments[verb->arguments_max],
						       verb_option_find(verb, "set", 3) != NULL);

		if (foreign)
			return err_set(err, -EINVAL, "%s: unexpected argument \"%s\": %s",
				       verb->name, arguments[verb->arguments_max], foreign);
		return err_set(err, -EINVAL, "%s: unexpected argument \"%s\"; haul %s --help",
			       verb->name, arguments[verb->arguments_max], verb->name);
	}
	return 0;
}

static void help_row(const char *name, const char *value, const char *help)
{
	char left[160];

	snprintf(left, sizeof(left), "  --%s%s%s", name, value ? " " : "", value ? value : "");
	cli_row(left, HELP_COLUMN, help);
}

/* The options that are seldom wanted, or the others. Returns how many there are. */
static unsigned help_options(const struct verb *verb, bool seldom, const char *title)
{
	const struct option *o;
	unsigned i, n = 0;

	for (o = verb->options; o && o->name; o++) {
		char value[128] = "";

		if (o->seldom != seldom)
			continue;
		if (!n++ && title)
			printf("%s", title);
		for (i = 0; o->kind == OPTION_CHOICE && o->choices[i]; i++) {
			size_t used = strlen(value);

			snprintf(value + used, sizeof(value) - used, "%s%s", i ? "|" : "",
				 o->choices[i]);
		}
		help_row(o->name, value[0] ? value : o->value, o->help);
	}
	return n;
}

void verb_help(const struct verb *verb)
{
	printf("haul %s%s%s [options]\n%s\n\n", verb->name, verb->arguments[0] ? " " : "",
	       verb->arguments, verb->help);
	help_options(verb, false, NULL);
	help_row("help", NULL, "this text");
	help_options(verb, true, "\nFor tests and tuning:\n");
	if (verb->more) {
		printf("\n");
		verb->more();
	}
	printf("\nexample: %s\n", verb->example);
}
