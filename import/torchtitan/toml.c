/* SPDX-License-Identifier: Apache-2.0 */
/* TOML reader for configurations: see import_torchtitan.h. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "import/torchtitan/import_torchtitan.h"

enum { TOML_TEXT_MAX = 1 << 20, TOML_VALUES_MAX = 1 << 14, TOML_WORD_BYTES = 1024, TOML_DEPTH = 8 };

struct toml {
	const char *at, *end;
	unsigned line, values;
	struct err *err;
};

static int toml_refuse(const struct toml *t, const char *sentence)
{
	return err_set(t->err, -EINVAL, "line %u: %s", t->line, sentence);
}

/* The next byte; the end is the end of a line. */
static char toml_now(const struct toml *t)
{
	return t->at < t->end ? *t->at : '\n';
}

static bool toml_takes(struct toml *t, char c)
{
	bool is = t->at < t->end && *t->at == c;

	t->at += is;
	return is;
}

static void toml_spaces(struct toml *t)
{
	while (toml_takes(t, ' ') || toml_takes(t, '\t') || toml_takes(t, '\r'))
		;
}

/* Spaces and comments, and where lines may end within a value, or between two, ends of lines. */
static void toml_blank(struct toml *t)
{
	for (toml_spaces(t); toml_now(t) == '#' || toml_now(t) == '\n'; toml_spaces(t)) {
		while (toml_now(t) != '\n')
			t->at++;
		if (!toml_takes(t, '\n'))
			return;
		t->line++;
	}
}

/* A text in quotes, or a bare word. */
static int toml_word(struct toml *t, char word[TOML_WORD_BYTES], bool *quoted)
{
	static const char escapes[] = "\"\\nt", means[] = "\"\\\n\t";
	char quote = toml_now(t);
	size_t n = 0;

	*quoted = quote == '"' || quote == '\'';
	if (*quoted && t->end - t->at > 2 && t->at[1] == quote && t->at[2] == quote)
		return toml_refuse(t, "a text of several lines is not read here");
	for (t->at += *quoted; toml_now(t) != '\n'; t->at++) {
		char c = *t->at;

		if (*quoted ? c == quote : c == '\0' || strchr(" \t\r#=,[]{}.\"'", c))
			break;
		if (quote == '"' && c == '\\') {
			const char *escape;

			t->at++;
			escape = toml_now(t) ? strchr(escapes, toml_now(t)) : NULL;
			if (!escape)
				return toml_refuse(t, "has an escape that is not read here");
			c = means[escape - escapes];
		}
		if (c == '\0' || n + 1 == TOML_WORD_BYTES)
			return toml_refuse(t, "a text is too long, or has a zero byte");
		word[n++] = c;
	}
	word[n] = '\0';
	if (*quoted && !toml_takes(t, quote))
		return toml_refuse(t, "a text does not end");
	return *quoted || n ? 0 : toml_refuse(t, "a key or a value is missing");
}

static cJSON *toml_bare(const char *word)
{
	char digits[TOML_WORD_BYTES], *end = digits;
	double number;

	if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
		return cJSON_CreateBool(word[0] == 't');
	for (const char *c = word; *c; c++)
		if (*c != '_')
			*end++ = *c;
	*end = '\0';
	number = strtod(digits, &end);
	return *digits && !*end && isfinite(number) ? cJSON_CreateNumber(number) : NULL;
}

/* A number with a fraction has a dot, which ends a bare word. */
static int toml_fraction(struct toml *t, char word[TOML_WORD_BYTES])
{
	size_t n = strlen(word);
	char rest[TOML_WORD_BYTES];
	bool quoted;
	int rc;

	if (!toml_takes(t, '.'))
		return 0;
	rc = toml_word(t, rest, &quoted);
	if (rc < 0 || quoted || n + strlen(rest) + 2 > TOML_WORD_BYTES)
		return rc < 0 ? rc : toml_refuse(t, "a value is not read here");
	word[n] = '.';
	strcpy(word + n + 1, rest);
	return 0;
}

static int toml_value(struct toml *t, unsigned depth, cJSON **out)
{
	char word[TOML_WORD_BYTES];
	bool quoted;
	int rc;

	if (t->values++ == TOML_VALUES_MAX || depth == TOML_DEPTH)
		return toml_refuse(t, "has too many values");
	if (toml_takes(t, '[')) {
		*out = cJSON_CreateArray();
		for (toml_blank(t); !toml_takes(t, ']'); toml_blank(t)) {
			cJSON *item = NULL;

			rc = toml_value(t, depth + 1, &item);
			if (!cJSON_AddItemToArray(*out, item))
				cJSON_Delete(item);
			if (rc < 0)
				return rc;
			toml_blank(t);
			if (!toml_takes(t, ',') && toml_now(t) != ']')
				return toml_refuse(t, "a list does not end");
		}
		return 0;
	}
	rc = toml_word(t, word, &quoted);
	if (rc == 0 && !quoted)
		rc = toml_fraction(t, word);
	if (rc < 0)
		return rc;
	*out = quoted ? cJSON_CreateString(word) : toml_bare(word);
	return *out ? 0
		    : toml_refuse(t, "a value is neither a text, a number, true, false nor a list");
}

/* "a.b.c": the table of the last part, which is in word; tables before it are made. */
static int toml_key(struct toml *t, cJSON **table, char word[TOML_WORD_BYTES])
{
	bool quoted;
	int rc = toml_word(t, word, &quoted);

	for (toml_spaces(t); rc == 0 && toml_takes(t, '.'); toml_spaces(t)) {
		cJSON *below = cJSON_GetObjectItemCaseSensitive(*table, word);

		if (!below)
			below = cJSON_AddObjectToObject(*table, word);
		if (!cJSON_IsObject(below) || t->values++ == TOML_VALUES_MAX)
			return toml_refuse(t, "a key is a value, and has keys below it");
		*table = below;
		toml_spaces(t);
		rc = toml_word(t, word, &quoted);
	}
	return rc;
}

/* A table's header, or a key and its value. */
static int toml_line(struct toml *t, cJSON *root, cJSON **table)
{
	bool header = toml_takes(t, '[');
	cJSON *in = header ? root : *table, *value = NULL;
	char word[TOML_WORD_BYTES];
	int rc;

	toml_spaces(t);
	rc = toml_key(t, &in, word);
	if (rc < 0)
		return rc;
	if (!toml_takes(t, header ? ']' : '='))
		return toml_refuse(t,
				   header ? "a table's name does not end" : "a key has no value");
	toml_spaces(t);
	if (header) {
		*table = cJSON_GetObjectItemCaseSensitive(in, word);
		if (!*table)
			*table = cJSON_AddObjectToObject(in, word);
		return cJSON_IsObject(*table) ? 0 : toml_refuse(t, "a table is a value, too");
	}
	if (cJSON_GetObjectItemCaseSensitive(in, word))
		return toml_refuse(t, "a key is given twice");
	rc = toml_value(t, 0, &value);
	if (rc < 0 || !cJSON_AddItemToObject(in, word, value)) {
		cJSON_Delete(value);
		return rc < 0 ? rc : err_set(t->err, -ENOMEM, "no memory for the values");
	}
	return 0;
}

int toml_read(struct cJSON **out, const char *text, size_t length, struct err *err)
{
	struct toml t = {.at = text, .end = text + length, .line = 1, .err = err};
	cJSON *root = cJSON_CreateObject(), *table = root;
	int rc = root ? 0 : err_set(err, -ENOMEM, "no memory for the values");

	if (length > TOML_TEXT_MAX)
		rc = err_set(err, -EINVAL, "is larger than a configuration");
	for (toml_blank(&t); rc == 0 && t.at < t.end; toml_blank(&t)) {
		rc = toml_line(&t, root, &table);
		toml_spaces(&t);
		if (rc == 0 && toml_now(&t) != '\n' && toml_now(&t) != '#')
			rc = toml_refuse(&t, "more follows than a key and its value");
	}
	*out = rc == 0 ? root : NULL;
	if (rc < 0)
		cJSON_Delete(root);
	return rc;
}
