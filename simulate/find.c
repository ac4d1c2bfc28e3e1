/* SPDX-License-Identifier: Apache-2.0 */
/* Search in virtual time: see find.h. */
#include "simulate/find.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"
#include "simulate/storage.h"

/* The answer is known to this share. */
static const double find_close = 0.01;

/* What can be searched for, with ends that nobody needs to give. */
static const struct {
	const char *key;
	bool helps;
	double low, high;
} find_kinds[] = {
	{"bandwidth", true, 1e6, 1e16},      {"node", true, 1e6, 1e13},
	{"rank_bandwidth", true, 1e5, 1e13}, {"stream", true, 1e5, 1e13},
	{"opens", true, 0.1, 1e10},          {"latency", false, 1e-7, 1e3},
	{"p99", false, 1e-7, 1e3},           {"open_latency", false, 1e-7, 1e3},
	{"first_byte", false, 1e-7, 1e3},    {"stragglers", false, 1e-6, 1},
	{"nodes", false, 1, 1024},
};

static int find_kind(struct find *f, const char *key, struct err *err)
{
	const char *names[COUNT(find_kinds) + 1], *near;
	unsigned n = 0;

	for (; n < COUNT(find_kinds); n++) {
		names[n] = find_kinds[n].key;
		if (strcmp(names[n], key) != 0)
			continue;
		snprintf(f->key, sizeof(f->key), "%.*s", FIND_KEY_BYTES - 1, key);
		f->whole = strcmp(key, "nodes") == 0;
		f->helps = find_kinds[n].helps;
		f->low = find_kinds[n].low;
		f->high = find_kinds[n].high;
		return 0;
	}
	names[n] = NULL;
	near = option_nearest(key, names);
	return near ? err_set(err, -EINVAL, "\"%s\" cannot be searched for; did you mean \"%s\"?",
			      key, near)
		    : err_set(err, -EINVAL,
			      "\"%s\" cannot be searched for: bandwidth, node, rank_bandwidth, stream, "
			      "opens, latency, p99, open_latency, first_byte, stragglers and nodes can",
			      key);
}

static int find_value(const char *key, const char *word, double *out, struct err *err)
{
	struct sim_options o;
	char text[128], end;
	int rc;

	if (strcmp(key, "nodes") == 0)
		return sscanf(word, "%lf%c", out, &end) == 1 && *out >= 1 && *out == floor(*out)
			       ? 0
			       : err_set(err, -EINVAL, "\"%s\" is no number of nodes", word);
	rc = storage_default(&o, err);
	if (rc == 0 && snprintf(text, sizeof(text), "%s=%s", key, word) >= (int)sizeof(text))
		rc = err_set(err, -EINVAL, "\"%.20s…\" is too long", word);
	if (rc == 0)
		rc = storage_parse_one(&o, text, err);
	*out = rc < 0 ? 0 : storage_get(&o, key);
	return rc;
}

int find_parse(struct find *f, const char *text, double target, struct err *err)
{
	const char *equals = strchr(text, '='), *dots = strstr(text, "..");
	char word[128];
	int rc;

	*f = (struct find){.target = target};
	snprintf(word, sizeof(word), "%.*s", (int)(equals ? equals - text : (long)strlen(text)),
		 text);
	rc = find_kind(f, word, err);
	if (rc < 0 || !equals)
		return rc;
	if (!dots || dots < equals)
		return err_set(err, -EINVAL, "a range is written LOW..HIGH, as in \"%s=%s\"", word,
			       f->whole ? "1..512" : "1 GB/s..10 TB/s");
	snprintf(word, sizeof(word), "%.*s", (int)(dots - equals - 1), equals + 1);
	rc = find_value(f->key, word, &f->low, err);
	if (rc == 0)
		rc = find_value(f->key, dots + 2, &f->high, err);
	if (rc == 0 && !(f->low > 0 && f->low < f->high))
		rc = err_set(err, -EINVAL, "%s: the low end must be above 0 and below the high end",
			     f->key);
	return rc;
}

static double find_between(const struct find *f)
{
	double low = fmin(f->kept, f->missed), high = fmax(f->kept, f->missed);

	if (f->whole)
		return high - low > 1 ? floor((low + high) / 2) : 0;
	return high / low > 1 + find_close ? sqrt(low * high) : 0;
}

/* First the end that keeps the target if any does, then the other one, then what is between. */
bool find_next(struct find *f, double *value)
{
	if (f->end != BISECT_GOES_ON || f->count == FIND_STEPS_MAX)
		return false;
	if (f->count == 0)
		*value = f->helps ? f->high : f->low;
	else if (f->count == 1)
		*value = f->helps ? f->low : f->high;
	else
		*value = find_between(f);
	if (*value > 0)
		return true;
	f->end = BISECT_FOUND;
	f->answer = f->kept;
	return false;
}

void find_add(struct find *f, double au)
{
	double value = 0;
	bool keeps = au >= f->target;

	find_next(f, &value);
	f->steps[f->count++] = (struct find_step){value, au, keeps};
	if (keeps)
		f->kept = value;
	else
		f->missed = value;
	if (f->count == 1 && !keeps)
		f->end = BISECT_NONE;
	if (f->count != 2 || !keeps)
		return;
	f->end = BISECT_ALL;
	f->answer = value;
}

/* ---- what is said of it ---- */

static void find_value_text(const struct find *f, double value, char text[UNITS_TEXT_BYTES])
{
	if (f->whole)
		units_count(text, (uint64_t)value);
	else
		storage_value_text(f->key, value, text);
}

static void find_cell_value(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct find *f = row;
	char text[UNITS_TEXT_BYTES];

	find_value_text(f, f->end == BISECT_NONE ? f->steps[0].value : f->answer, text);
	snprintf(cell, TABLE_CELL_BYTES, "%s%s",
		 f->end == BISECT_NONE  ? "none, not even "
		 : f->end == BISECT_ALL ? "all, even "
					: "",
		 text);
}

static const char *find_word(const void *row)
{
	return bisect_ends[((const struct find *)row)->end];
}

static double find_answer(const void *row, int which)
{
	const struct find *f = row;

	(void)which;
	return f->end == BISECT_FOUND || f->end == BISECT_ALL ? f->answer : NAN;
}

static const struct column find_columns[] = {
	COLUMN(NAME, struct find, key, "key", NULL),
	COLUMN(U64, struct find, nodes, "nodes", "nodes", .format = FORMAT_SOME),
	COLUMN(U64, struct find, ranks, "ranks", "ranks", .format = FORMAT_SOME),
	COLUMN(REAL, struct find, target, "target_au", "AU", .format = FORMAT_SHARE),
	{.type = COLUMN_WORD, .key = "end", .word = find_word},
	{.type = COLUMN_VALUE, .key = "answer", .number = find_answer},
	{.type = COLUMN_SHOWN, .heading = "kept by", .show = find_cell_value},
	COLUMN(U32, struct find, count, "simulated", "simulated", .format = FORMAT_COUNT),
	COLUMNS_END};

static const struct column find_step_columns[] = {
	COLUMN(REAL, struct find_step, value, "value", NULL),
	COLUMN(REAL, struct find_step, au, "au", NULL),
	COLUMN(FLAG, struct find_step, keeps, "keeps", NULL), COLUMNS_END};

static const struct column find_head_columns[] = {
	COLUMN(TEXT, struct find_report, job, "job", NULL),
	COLUMN(TEXT, struct find_report, storage, "simulated", NULL), COLUMNS_END};

static void find_sentence(struct document *d, const struct find *f)
{
	bool none = f->end == BISECT_NONE, all = f->end == BISECT_ALL;
	char text[UNITS_TEXT_BYTES], nodes[UNITS_COUNTED_BYTES], line[512];

	find_value_text(f, none ? f->steps[0].value : f->answer, text);
	units_counted(nodes, f->nodes, "node");
	if (f->whole)
		snprintf(line, sizeof(line),
			 "Simulated, not measured: %s %s nodes keep an AU of %.4g %%.",
			 none  ? "not even"
			 : all ? "all of"
			       : "at most",
			 text, 100 * f->target);
	else
		snprintf(line, sizeof(line),
			 "Simulated, not measured: an AU of %.4g %% on %s %s %s%s.",
			 100 * f->target, nodes, none ? "is not kept, not even by" : "is kept by",
			 none       ? ""
			 : all      ? "any in the range, even "
			 : f->helps ? "at least "
				    : "at most ",
			 text);
	document_wrap(d, 0, line);
}

static bool find_write(struct document *d, const void *about)
{
	const struct find_report *r = about;
	const struct report_table table = {.columns = find_columns, TABLE_ROWS(r->finds, r->count)};

	document_fields(d, find_head_columns, r);
	if (d->shape == REPORT_TEXT) {
		document_say(d, "%s: %s\n", r->job, r->finds[0].key);
		for (uint32_t i = 0; i < r->count; i++)
			find_sentence(d, &r->finds[i]);
		document_say(d, "\n");
		document_table(d, &table);
		document_say(d, "\nstorage: %s\n", r->storage);
		return true;
	}
	document_open_list(d, "found");
	for (uint32_t i = 0; i < r->count; i++) {
		const struct report_table steps = {
			.key = "steps",
			.columns = find_step_columns,
			TABLE_ROWS(r->finds[i].steps, r->finds[i].count)};

		document_open_row(d, find_columns, &r->finds[i]);
		document_table(d, &steps);
		document_close(d);
	}
	document_close(d);
	return true;
}

int find_print(FILE *out, enum report_shape shape, const struct find_report *r, struct err *err)
{
	return document_print(out, shape, find_write, r, err);
}
