/* SPDX-License-Identifier: Apache-2.0 */
/* Reference text of options, for people. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/option/internal.h"
#include "core/utf8.h"

enum { REFERENCE_WIDTH = 100, REFERENCE_NAME_MAX = 96, REFERENCE_WHAT_MAX = 256 };

static int widest_name(const struct option *table, size_t prefix)
{
	int widest = 0, w;

	for (; table->name; table++) {
		const char *joint = option_rules(table)->joint;

		w = (int)(prefix + strlen(table->name));
		if (joint)
			w = widest_name(table->table, (size_t)w + strlen(joint));
		if (w > widest)
			widest = w;
	}
	return widest;
}

static void reference_describe(char what[REFERENCE_WHAT_MAX], const struct option *o)
{
	const struct option_rules *rules = option_rules(o);
	bool text = o->kind == OPTION_TEXT || o->kind == OPTION_TEXTS;
	size_t at = (size_t)snprintf(what, REFERENCE_WHAT_MAX, "%s", rules->words);

	if (rules->range)
		rules->range(what + at, REFERENCE_WHAT_MAX - at, o);
	at = strlen(what);
	if (o->required)
		snprintf(what + at, REFERENCE_WHAT_MAX - at, ", required");
	else if (!option_default_valid(o))
		return;
	else if (o->def_text && !text)
		snprintf(what + at, REFERENCE_WHAT_MAX - at, ", default %s", o->def_text);
	else if (rules->shown_default)
		rules->shown_default(what + at, REFERENCE_WHAT_MAX - at, o);
}

/* Writes words, starting at column at, and wraps them at REFERENCE_WIDTH to the column indent. */
static int reference_wrap(FILE *f, const char *words, int at, int indent)
{
	size_t n;

	while (*words) {
		n = strcspn(words, " ");
		if (at + 1 + (int)utf8_columns(words, n) > REFERENCE_WIDTH) {
			fprintf(f, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', f);
			at++;
		}
		fwrite(words, 1, n, f);
		at += (int)utf8_columns(words, n);
		words += n + (words[n] == ' ');
	}
	return at;
}

static void reference_line(FILE *f, const char *name, const struct option *o, int width)
{
	char what[REFERENCE_WHAT_MAX];
	const char *help = o->help ? o->help : "";
	int indent = 2 + width + 1, at;

	reference_describe(what, o);
	fprintf(f, "  %-*s ", width, name);
	at = reference_wrap(f, what, indent, indent);
	if (*help && at + 3 + (int)utf8_columns(help, UTF8_WHOLE) <= REFERENCE_WIDTH) {
		fprintf(f, "   %s", help);
	} else if (*help) {
		fprintf(f, "\n%*s", indent + 2, "");
		reference_wrap(f, help, indent + 2, indent + 2);
	}
	fputc('\n', f);
}

/* Nested tables and entries of lists are shown as --set names their options: loader.workers,
 * sizes.N.share. */
static void reference_table(FILE *f, const struct option *table, const char *prefix, int width)
{
	char name[REFERENCE_NAME_MAX];
	const struct option *o;

	for (o = table; o->name; o++) {
		if (o->kind != OPTION_TABLE) {
			snprintf(name, sizeof(name), "%s%s", prefix, o->name);
			reference_line(f, name, o, width);
		}
		if (!option_rules(o)->joint)
			continue;
		snprintf(name, sizeof(name), "%s%s%s", prefix, o->name, option_rules(o)->joint);
		reference_table(f, o->table, name, width);
	}
}

char *options_reference(const struct option *const *tables)
{
	const struct option *const *table;
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);
	int width = 12, w;

	if (!f)
		return NULL;
	for (table = tables; *table; table++) {
		w = widest_name(*table, 0);
		if (w > width)
			width = w;
	}
	for (table = tables; *table; table++)
		reference_table(f, *table, "", width);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
