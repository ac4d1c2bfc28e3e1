/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of a verb's options, and their help: see cli.h. */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/foreign.h"
#include "core/option/option.h"
#include "core/units.h"

enum { OPTIONS_MAX = 32, HELP_COLUMN = 26 };

static int refuse_option(const struct verb *verb, const char *given, struct err *err)
{
	const char *names[OPTIONS_MAX + 2];
	const struct verb_option *o;
	const char *near, *foreign = foreign_option(given);
	unsigned n = 0;

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

static int read_count(const struct verb_option *o, const char *text, uint64_t *out, struct err *err)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || n < o->min || n > o->max)
		return err_set(err, -EINVAL,
			       "--%s: must be a whole number, %" PRIu64 " … %" PRIu64 ", is \"%s\"",
			       o->name, o->min, o->max, text);
	*out = n;
	return 0;
}

/* None of these options makes sense with the value 0. */
static int read_quantity(const struct verb_option *o, const char *text, uint64_t *out,
			 struct err *err)
{
	int rc = o->kind == VERB_TIME ? units_parse_time(text, out, err)
				      : units_parse_bytes(text, out, err);

	if (rc < 0)
		return err_wrap(err, rc, "--%s", o->name);
	return *out ? 0
		    : err_set(err, -EINVAL, "--%s: must be more than 0, is \"%s\"", o->name, text);
}

static int read_choice(const struct verb_option *o, const char *text, uint32_t *out,
		       struct err *err)
{
	char list[256] = "";
	uint32_t i;

	for (i = 0; o->choices[i]; i++) {
		size_t used = strlen(list);

		if (strcmp(o->choices[i], text) == 0) {
			*out = i;
			return 0;
		}
		snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", o->choices[i]);
	}
	return err_set(err, -EINVAL, "--%s: must be one of %s, is \"%s\"", o->name, list, text);
}

static int read_option_value(const struct verb_option *o, const char *text, void *options,
			     struct err *err)
{
	char *at = (char *)options + o->offset;
	struct verb_texts *texts;

	switch (o->kind) {
	case VERB_FLAG:
		*(bool *)(void *)at = true;
		return 0;
	case VERB_TEXT:
		*(const char **)(void *)at = text;
		return 0;
	case VERB_TEXTS:
		texts = (void *)at;
		if (texts->count == VERB_TEXTS_MAX)
			return err_set(err, -EINVAL, "--%s: may not be given more than %d times",
				       o->name, VERB_TEXTS_MAX);
		texts->items[texts->count++] = text;
		return 0;
	case VERB_COUNT:
		return read_count(o, text, (uint64_t *)(void *)at, err);
	case VERB_TIME:
	case VERB_BYTES:
		return read_quantity(o, text, (uint64_t *)(void *)at, err);
	case VERB_CHOICE:
		return read_choice(o, text, (uint32_t *)(void *)at, err);
	}
	return 0;
}

const struct verb_option *verb_option_find(const struct verb *verb, const char *name, size_t length)
{
	const struct verb_option *o;

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
	const struct verb_option *o = NULL;

	if (given[1] == '-')
		o = verb_option_find(verb, given + 2,
				     equals ? (size_t)(equals - given - 2) : strlen(given + 2));
	if (!o)
		return refuse_option(verb, given, err);
	if (o->kind == VERB_FLAG && value)
		return err_set(err, -EINVAL, "--%s takes no value", o->name);
	if (o->kind != VERB_FLAG && !value) {
		if (*i + 1 >= argc)
			return err_set(err, -EINVAL, "--%s needs a value: --%s %s", o->name,
				       o->name, o->value);
		value = argv[++*i];
	}
	return read_option_value(o, value, options, err);
}

int verb_parse(const struct verb *verb, int argc, char **argv, void *options,
	       const char **arguments, unsigned *argument_count, bool *help, struct err *err)
{
	bool only_arguments = false;
	int i, rc;

	*argument_count = 0;
	*help = false;
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
	const struct verb_option *o;
	unsigned i, n = 0;

	for (o = verb->options; o && o->name; o++) {
		char value[128] = "";

		if (o->seldom != seldom)
			continue;
		if (!n++ && title)
			printf("%s", title);
		for (i = 0; o->kind == VERB_CHOICE && o->choices[i]; i++) {
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
