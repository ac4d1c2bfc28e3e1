/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the model from a text: see storage.h. */
#include "simulate/storage.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"

static const struct option *const storage_tables[] = {sim_options, NULL};

enum { WORD_BYTES = 256 };

int storage_default(struct sim_options *out, struct err *err)
{
	memset(out, 0, sizeof(*out));
	return options_parse(storage_tables, out, NULL, "storage", NULL, err);
}

static const struct option *storage_find(const char *key)
{
	for (const struct option *o = sim_options; o->name; o++)
		if (strcmp(o->name, key) == 0)
			return o;
	return NULL;
}

static int storage_unknown(const char *key, struct err *err)
{
	const char *names[sizeof(struct sim_options) / sizeof(uint64_t)], *near;
	unsigned n = 0;

	for (const struct option *o = sim_options; o->name; o++)
		names[n++] = o->name;
	names[n] = NULL;
	near = option_nearest(key, names);
	return near ? err_set(err, -EINVAL, "unknown key \"%s\"; did you mean \"%s\"?", key, near)
		    : err_set(err, -EINVAL,
			      "unknown key \"%s\"; haul schema --reference lists those of sim://",
			      key);
}

/* A plain number may be written as a rate of events, or as a percentage: "500k/s", "2 %". */
static void storage_plain_number(char word[WORD_BYTES])
{
	static const char letters[] = "kMGT";
	char *end, *letter;
	double value = strtod(word, &end);

	if (end == word)
		return;
	while (*end == ' ')
		end++;
	if (*end == '%') {
		value /= 100;
		end++;
	} else if (*end && (letter = strchr(letters, *end))) {
		value *= pow(1000, (double)(letter - letters + 1));
		end++;
	}
	if (strcmp(end, "/s") == 0)
		end += 2;
	if (!*end)
		snprintf(word, WORD_BYTES, "%.17g", value);
}

/* A word of a command line is a text, and a real is none. */
static int storage_parse_real(const struct option *o, struct sim_options *into, const char *word,
			      const char *key, struct err *err)
{
	double value;
	char end;

	if (sscanf(word, "%lf%c", &value, &end) != 1 || !(value >= o->min_real) ||
	    !(value <= o->max_real))
		return err_set(err, -EINVAL, "%s: must be a number from %g to %g, is \"%s\"", key,
			       o->min_real, o->max_real, word);
	*(double *)((char *)into + o->offset) = value;
	return 0;
}

static void storage_trim(char *word)
{
	size_t n = strlen(word), lead = strspn(word, " \t");

	while (n > lead && (word[n - 1] == ' ' || word[n - 1] == '\t'))
		n--;
	memmove(word, word + lead, n - lead);
	word[n - lead] = '\0';
}

static int storage_parse_pair(struct sim_options *into, char *pair, struct err *err)
{
	char *equals = strchr(pair, '='), word[WORD_BYTES];
	const struct option *o;

	if (!equals)
		return err_set(err, -EINVAL,
			       "\"%s\" is no KEY=VALUE; write \"bandwidth=10 TB/s, latency=1 ms\"",
			       pair);
	*equals = '\0';
	storage_trim(pair);
	snprintf(word, sizeof(word), "%s", equals + 1);
	storage_trim(word);
	o = storage_find(pair);
	if (!o)
		return storage_unknown(pair, err);
	if (o->kind == OPTION_REAL || o->kind == OPTION_U64)
		storage_plain_number(word);
	return o->kind == OPTION_REAL ? storage_parse_real(o, into, word, pair, err)
				      : option_parse_word(o, into, word, pair, err);
}

int storage_parse(struct sim_options *into, const char *text, struct err *err)
{
	char *copy = strdup(text), *save = NULL;
	int rc = copy ? 0 : err_set(err, -ENOMEM, "no memory");

	for (char *pair = copy ? strtok_r(copy, ",", &save) : NULL; pair && rc == 0;
	     pair = strtok_r(NULL, ",", &save))
		rc = storage_parse_pair(into, pair, err);
	free(copy);
	return rc < 0 ? rc : sim_check(into, "", err);
}

int storage_parse_one(struct sim_options *into, const char *text, struct err *err)
{
	char copy[WORD_BYTES];

	snprintf(copy, sizeof(copy), "%s", text);
	return storage_parse_pair(into, copy, err);
}

/* The member and how many of its unit are one of the unit of results. */
static void *storage_number_of(const struct sim_options *s, const char *key, double *unit,
			       bool *real)
{
	const struct option *o = storage_find(key);

	if (!o || (o->kind != OPTION_RATE && o->kind != OPTION_REAL && o->kind != OPTION_TIME &&
		   o->kind != OPTION_U64 && o->kind != OPTION_BYTES))
		return NULL;
	*unit = o->kind == OPTION_TIME ? 1e9 : 1;
	*real = o->kind == OPTION_REAL;
	return (char *)(uintptr_t)s + o->offset;
}

int storage_set(struct sim_options *into, const char *key, double value, struct err *err)
{
	double unit;
	bool real;
	void *member = storage_number_of(into, key, &unit, &real);

	if (!member)
		return storage_unknown(key, err);
	if (real)
		*(double *)member = value;
	else
		*(uint64_t *)member = (uint64_t)llround(value * unit);
	return 0;
}

double storage_get(const struct sim_options *o, const char *key)
{
	double unit;
	bool real;
	const void *member = storage_number_of(o, key, &unit, &real);

	if (!member)
		return NAN;
	return real ? *(const double *)member : (double)*(const uint64_t *)member / unit;
}

void storage_value_text(const char *key, double value, char text[UNITS_TEXT_BYTES])
{
	enum option_kind kind = storage_find(key)->kind;

	if (kind == OPTION_RATE)
		units_rate(text, value);
	else if (kind == OPTION_BYTES)
		units_bytes_decimal(text, value);
	else if (kind == OPTION_TIME)
		snprintf(text, UNITS_TEXT_BYTES, value < 1 ? "%.4g ms" : "%.4g s",
			 value < 1 ? value * 1e3 : value);
	else
		snprintf(text, UNITS_TEXT_BYTES, "%.6g", value);
}

void storage_text(const struct sim_options *s, char text[STORAGE_TEXT_BYTES])
{
	struct sim_options none;
	char value[UNITS_TEXT_BYTES];
	size_t n = 0;

	text[0] = '\0';
	if (storage_default(&none, NULL) < 0)
		return;
	for (const struct option *o = sim_options; o->name; o++) {
		double is = storage_get(s, o->name);

		if (isnan(is) || is == storage_get(&none, o->name))
			continue;
		storage_value_text(o->name, is, value);
		n += (size_t)snprintf(text + n, STORAGE_TEXT_BYTES - n, "%s%s=%s", n ? ", " : "",
				      o->name, value);
		if (n >= STORAGE_TEXT_BYTES)
			return;
	}
	if (s->latency_count)
		n += (size_t)snprintf(text + n, STORAGE_TEXT_BYTES - n, "%slatencies=measured",
				      n ? ", " : "");
	if (s->slow_ranks.count && n < STORAGE_TEXT_BYTES)
		n += (size_t)snprintf(text + n, STORAGE_TEXT_BYTES - n, "%sslow_ranks=%u",
				      n ? ", " : "", s->slow_ranks.count);
	if (!n)
		snprintf(text, STORAGE_TEXT_BYTES, "unlimited");
}
