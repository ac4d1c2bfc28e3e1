/* Reference text of options, for people. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/option/internal.h"
#include "core/utf8.h"

enum { REFERENCE_WIDTH = 100, REFERENCE_NAME_MAX = 96, REFERENCE_WHAT_MAX = 256 };

static void reference_describe(char what[REFERENCE_WHAT_MAX], const struct option *o);
static size_t reference_range(char *out, size_t size, const struct option *o);
static void reference_default(char *out, size_t size, const struct option *o);
static void reference_table(FILE *f, const struct option *table, const char *prefix, int width);
static void reference_line(FILE *f, const char *name, const struct option *o, int width);
static int widest_name(const struct option *table, size_t prefix);

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

/* The text between an option's name and those of its own table. */
static const char *reference_joint(const struct option *o)
{
	return o->kind == OPTION_TABLE ? "." : o->kind == OPTION_LIST ? ".N." : "";
}

static int widest_name(const struct option *table, size_t prefix)
{
	int widest = 0, w;

	for (; table->name; table++) {
		w = (int)(prefix + strlen(table->name));
		if (table->kind == OPTION_TABLE || table->kind == OPTION_LIST)
			w = widest_name(table->table, prefix + strlen(table->name) +
							      strlen(reference_joint(table)));
		if (w > widest)
			widest = w;
	}
	return widest;
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
		snprintf(name, sizeof(name), "%s%s%s", prefix, o->name, reference_joint(o));
		if (o->kind == OPTION_TABLE || o->kind == OPTION_LIST)
			reference_table(f, o->table, name, width);
	}
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

static void reference_describe(char what[REFERENCE_WHAT_MAX], const struct option *o)
{
	static const char *const words[] = {
		[OPTION_U64] = "whole number",
		[OPTION_BYTES] = "size",
		[OPTION_TIME] = "time",
		[OPTION_RATE] = "rate",
		[OPTION_REAL] = "number",
		[OPTION_BOOL] = "true or false",
		[OPTION_TEXT] = "text",
		[OPTION_TEXTS] = "text or list of texts",
		[OPTION_CHOICE] = "",
		[OPTION_DRAW] = "time or distribution",
		[OPTION_FACTORS] = "{\"index\": factor}",
		[OPTION_TABLE] = "",
		[OPTION_LIST] = "list",
	};
	size_t at = (size_t)snprintf(what, REFERENCE_WHAT_MAX, "%s", words[o->kind]);
	static const char *const none[] = {NULL};
	const char *const *name;

	for (name = o->kind == OPTION_CHOICE ? o->choices : none; *name; name++) {
		snprintf(what + at, REFERENCE_WHAT_MAX - at, "%s%s", at ? " | " : "", *name);
		at = strlen(what);
	}
	at += reference_range(what + at, REFERENCE_WHAT_MAX - at, o);
	if (o->required)
		snprintf(what + at, REFERENCE_WHAT_MAX - at, ", required");
	else if (option_default_valid(o))
		reference_default(what + at, REFERENCE_WHAT_MAX - at, o);
}

static size_t reference_range(char *out, size_t size, const struct option *o)
{
	char min[OPTION_EXACT_BYTES], max[OPTION_EXACT_BYTES];

	*out = '\0';
	if (o->kind == OPTION_REAL || o->kind == OPTION_FACTORS) {
		if (isfinite(option_min_real(o)) && isfinite(option_max_real(o)))
			snprintf(out, size, ", %g … %g", option_min_real(o), option_max_real(o));
		else if (isfinite(option_min_real(o)))
			snprintf(out, size, ", at least %g", option_min_real(o));
	} else if (o->kind == OPTION_LIST && o->min) {
		snprintf(out, size, " of %llu … %llu", (unsigned long long)o->min,
			 (unsigned long long)o->max);
	} else if (o->kind == OPTION_LIST) {
		snprintf(out, size, " of at most %llu", (unsigned long long)o->max);
	} else if (o->kind <= OPTION_RATE || o->kind == OPTION_DRAW) {
		option_exact(min, o->kind == OPTION_DRAW ? OPTION_TIME : o->kind, o->min);
		option_exact(max, o->kind == OPTION_DRAW ? OPTION_TIME : o->kind, o->max);
		if (o->max)
			snprintf(out, size, ", %s … %s", min, max);
		else if (o->min)
			snprintf(out, size, ", at least %s", min);
	}
	return strlen(out);
}

static void reference_default(char *out, size_t size, const struct option *o)
{
	char exact[OPTION_EXACT_BYTES];

	if (o->def_text && o->kind != OPTION_TEXT && o->kind != OPTION_TEXTS) {
		snprintf(out, size, ", default %s", o->def_text);
		return;
	}
	switch (o->kind) {
	case OPTION_REAL:
		snprintf(out, size, ", default %g", o->def_real);
		break;
	case OPTION_BOOL:
		snprintf(out, size, ", default %s", o->def ? "true" : "false");
		break;
	case OPTION_TEXT:
	case OPTION_TEXTS:
		if (o->def_text && *o->def_text)
			snprintf(out, size, ", default \"%s\"", o->def_text);
		break;
	case OPTION_CHOICE:
		snprintf(out, size, ", default %s", o->choices[o->def]);
		break;
	case OPTION_DRAW:
		snprintf(out, size, ", default %s",
			 option_exact(exact, OPTION_TIME, (uint64_t)o->def_real));
		break;
	case OPTION_FACTORS:
	case OPTION_TABLE:
	case OPTION_LIST:
		break;
	default:
		snprintf(out, size, ", default %s",
			 o->kind == OPTION_RATE && !o->def ? "unlimited"
							   : option_exact(exact, o->kind, o->def));
	}
}
