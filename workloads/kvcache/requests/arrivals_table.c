/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded arrivals as tables of BurstGPT and Azure: see arrivals.h. */
#include <errno.h>
#include <string.h>

#include "core/content/fnv.h"
#include "core/content/random.h"
#include "core/json.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/kvcache/requests/arrivals.h"
#include "workloads/trace/fields.h"

enum { FIELDS_MAX = 16 };
enum column { COLUMN_TIME, COLUMN_CONTEXT, COLUMN_GENERATE };

#define SECONDS_MAX (UINT64_C(1) << 33)
#define TOKENS_MAX  (UINT64_C(1) << 24)

static const struct arrivals_table {
	const char *column[ARRIVALS_COLUMNS];
	bool dates;
} arrivals_tables[] = {
	{{"Timestamp", "Request tokens", "Response tokens"}, false},
	{{"TIMESTAMP", "ContextTokens", "GeneratedTokens"}, true},
};

/* Cuts a line at its commas. Returns how many fields there are, at most FIELDS_MAX + 1. */
static unsigned arrivals_split(char *line, char *fields[FIELDS_MAX + 1])
{
	unsigned count = 0;

	while (line && count <= FIELDS_MAX) {
		fields[count++] = line;
		line = strchr(line, ',');
		if (line)
			*line++ = '\0';
	}
	return count;
}

/* Days since 1970-01-01 (Hinnant's algorithm). */
static uint64_t arrivals_days(uint64_t year, uint64_t month, uint64_t day)
{
	uint64_t y = month <= 2 ? year - 1 : year, era_year = y % 400;
	uint64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

	return y / 400 * 146097 + era_year * 365 + era_year / 4 - era_year / 100 + of_year - 719468;
}

/* "2023-11-16 18:15:46", with a blank or a "T". */
static bool arrivals_date(const char **text, uint64_t *seconds)
{
	static const struct {
		uint64_t least, most;
		const char *ends; /* what may follow */
	} parts[] = {{1970, 2242, "-"}, {1, 12, "-"}, {1, 31, " T"},
		     {0, 23, ":"},      {0, 59, ":"}, {0, 60, NULL}};
	uint64_t v[6];

	for (int i = 0; i < 6; i++) {
		if (!trace_digits(text, parts[i].most, &v[i]) || v[i] < parts[i].least)
			return false;
		if (!parts[i].ends)
			break;
		if (!**text || !strchr(parts[i].ends, **text))
			return false;
		++*text;
	}
	*seconds = arrivals_days(v[0], v[1], v[2]) * 86400 + v[3] * 3600 + v[4] * 60 + v[5];
	return true;
}

static bool arrivals_time(const struct arrivals *a, const char *text, uint64_t *ns)
{
	uint64_t seconds, part;
	int64_t zone;

	if (a->dates ? !arrivals_date(&text, &seconds)
		     : !trace_digits(&text, SECONDS_MAX, &seconds))
		return false;
	if (!trace_part(&text, &part))
		return false;
	if (a->dates && *text) {
		if (!trace_zone(text, &zone) || zone > (int64_t)seconds)
			return false;
		seconds -= (uint64_t)zone;
		text = "";
	}
	*ns = seconds * NS_PER_S + part;
	return !*text;
}

/* Some writers give whole numbers a fraction of 0. */
static bool arrivals_tokens(const char *text, uint64_t *tokens)
{
	if (!trace_digits(&text, TOKENS_MAX, tokens))
		return false;
	return !*text || strcmp(text, ".0") == 0;
}

/* The number of a session's name; a row of an interface has none. */
static uint64_t arrivals_session(const char *name)
{
	return *name ? mix64(fnv_add(FNV_START, name, strlen(name))) | 1 : 0;
}

static int arrivals_refuse(struct err *err, const char *wanted, const char *text)
{
	char quoted[JSON_QUOTE_BYTES];

	return err_set(err, -EINVAL, "%s, is %s", wanted, json_quote(quoted, text));
}

/* Whether a header has the columns of a table. */
static bool arrivals_known(struct arrivals *a, const struct arrivals_table *t, char *const *fields,
			   unsigned count)
{
	for (unsigned c = 0; c < ARRIVALS_COLUMNS; c++) {
		unsigned i = 0;

		while (i < count && strcmp(fields[i], t->column[c]) != 0)
			i++;
		if (i == count)
			return false;
		a->column[c] = i;
	}
	a->dates = t->dates;
	a->fields = count;
	for (a->session = 0; a->session < count; a->session++)
		if (strcmp(fields[a->session], "Session ID") == 0)
			break;
	return true;
}

int arrivals_table_header(struct arrivals *a, char *line, struct err *err)
{
	char *fields[FIELDS_MAX + 1];
	unsigned count;

	count = arrivals_split(line, fields);
	for (size_t i = 0; i < COUNT(arrivals_tables); i++)
		if (count <= FIELDS_MAX && arrivals_known(a, &arrivals_tables[i], fields, count))
			return 0;
	return err_set(
		err, -EINVAL,
		"must have the columns Timestamp, Request tokens and Response tokens (BurstGPT), or "
		"TIMESTAMP, ContextTokens and GeneratedTokens (Azure); or the text must be JSON "
		"(Mooncake, ShareGPT)");
}

int arrivals_table_row(const struct arrivals *a, char *line, size_t length,
		       struct arrivals_line *out, struct err *err)
{
	char *fields[FIELDS_MAX + 1];
	unsigned count;

	if (strlen(line) < length)
		return err_set(err, -EINVAL, "has a zero byte");
	count = arrivals_split(line, fields);
	if (count != a->fields)
		return err_set(err, -EINVAL, "has %u fields and not %u", count, a->fields);
	if (!arrivals_time(a, fields[a->column[COLUMN_TIME]], &out->ns))
		return arrivals_refuse(err,
				       a->dates ? "the time must be like 2023-11-16 18:15:46.68"
						: "the time must be a number of seconds",
				       fields[a->column[COLUMN_TIME]]);
	if (!arrivals_tokens(fields[a->column[COLUMN_CONTEXT]], &out->context))
		return arrivals_refuse(
			err, "the tokens of the context must be a whole number up to 2^24",
			fields[a->column[COLUMN_CONTEXT]]);
	if (!arrivals_tokens(fields[a->column[COLUMN_GENERATE]], &out->generate))
		return arrivals_refuse(err,
				       "the tokens generated must be a whole number up to 2^24",
				       fields[a->column[COLUMN_GENERATE]]);
	if (a->session < a->fields)
		out->session = arrivals_session(fields[a->session]);
	return 0;
}
