/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a line: see fields.h. */
#include "workloads/trace/fields.h"

#include <errno.h>
#include <string.h>

#include "core/json.h"

enum { NS_DIGITS = 9 };

unsigned trace_split(char *line, char separator, char **fields, unsigned most)
{
	const char ends[] = {separator, '\0'};
	unsigned count = 0;
	char *at = line, *to;
	bool quoted;

	for (;;) {
		if (count == most)
			return count;
		fields[count++] = to = at;
		quoted = *at == '"';
		if (!quoted) {
			at += strcspn(at, ends);
			to = at;
		} else {
			for (at++; *at && (*at != '"' || at[1] == '"'); *to++ = *at++)
				at += *at == '"';
			if (*at++ != '"' || (*at && *at != separator))
				return 0;
		}
		if (!*at) {
			*to = '\0';
			return count;
		}
		at++;
		*to = '\0';
	}
}

bool trace_digits(const char **text, uint64_t most, uint64_t *value)
{
	const char *at = *text;
	uint64_t v = 0;

	for (; *at >= '0' && *at <= '9'; at++) {
		v = 10 * v + (uint64_t)(*at - '0');
		if (v > most)
			return false;
	}
	if (at == *text)
		return false;
	*text = at;
	*value = v;
	return true;
}

bool trace_number(const char *text, uint64_t most, uint64_t *number)
{
	return trace_digits(&text, most, number) && !*text;
}

bool trace_part(const char **text, uint64_t *ns)
{
	const char *at = *text;
	unsigned digits = 0;

	*ns = 0;
	if (*at == '.') {
		for (at++; *at >= '0' && *at <= '9'; at++, digits++)
			if (digits < NS_DIGITS)
				*ns = 10 * *ns + (uint64_t)(*at - '0');
		if (!digits)
			return false;
	}
	for (; digits < NS_DIGITS; digits++)
		*ns *= 10;
	*text = at;
	return true;
}

bool trace_zone(const char *text, int64_t *seconds)
{
	const char *minutes;

	*seconds = 0;
	if (strcmp(text, "Z") == 0)
		return true;
	if ((*text != '+' && *text != '-') || strlen(text) < 3)
		return false;
	minutes = text + (text[3] == ':' ? 4 : 3);
	if (strspn(text + 1, "0123456789") < 2 || strlen(minutes) != 2 ||
	    strspn(minutes, "0123456789") != 2)
		return false;
	*seconds = ((text[1] - '0') * 10 + text[2] - '0') * 3600 +
		   ((minutes[0] - '0') * 10 + minutes[1] - '0') * 60;
	*seconds = *text == '-' ? -*seconds : *seconds;
	return true;
}

int trace_refuse(enum trace_fault *fault, enum trace_fault what, struct err *err,
		 const char *wanted, const char *text)
{
	char quoted[JSON_QUOTE_BYTES];

	*fault = what;
	return err_set(err, -EINVAL, "%s, is %s", wanted, json_quote(quoted, text));
}

int trace_take_key(struct trace_reader *t, const char *text, struct trace_row *row,
		   enum trace_fault *fault, struct err *err)
{
	size_t length = strlen(text);

	/* Names of objects are made from it by trace_escape, so ".." leads nowhere. */
	if (!length || length > TRACE_KEY_MAX || !json_text_plain(text))
		return trace_refuse(fault, TRACE_FAULT_KEY, err,
				    "Key must be plain text of 1 to 1,024 bytes", text);
	memcpy(t->key, text, length + 1);
	row->key = t->key;
	row->key_length = length;
	return 0;
}
