/* SPDX-License-Identifier: Apache-2.0 */
/* MLPerf Storage's class of a workload: see class.h. It is the beginning of the SHA-256 of the keys
 * that count, in the order of their names, as JSON without blanks. */
#include "mlperf/class.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KEY_PATH_BYTES = 128, DEPTH_MAX = 16, DIGITS_MAX = 17 };

static const double whole_most = 1e15;

/* keys: a list of texts; one that ends in "." stands for all below it. */
static bool class_is_of(const char *path, const cJSON *keys)
{
	const cJSON *key;

	cJSON_ArrayForEach(key, keys)
	{
		const char *text = cJSON_IsString(key) ? key->valuestring : "";
		size_t n = strlen(text);

		if (n &&
		    (text[n - 1] == '.' ? strncmp(path, text, n) == 0 : strcmp(path, text) == 0))
			return true;
	}
	return false;
}

/* As Python writes it: the fewest digits that give the same number. */
static void class_put_number(FILE *out, double value)
{
	char text[64];

	if (value == floor(value) && fabs(value) < whole_most) {
		fprintf(out, "%.0f", value);
		return;
	}
	for (int digits = 1; digits <= DIGITS_MAX; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs(text, out);
}

static void class_put_text(FILE *out, const char *text)
{
	char *end;
	double number = strtod(text, &end);

	if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0) {
		fputs(strcasecmp(text, "true") == 0 ? "true" : "false", out);
	} else if (end != text && !*end && isfinite(number)) {
		class_put_number(out, number);
	} else {
		cJSON *quoted = cJSON_CreateString(text);
		char *print = quoted ? cJSON_PrintUnformatted(quoted) : NULL;

		fputs(print ? print : "\"\"", out);
		cJSON_free(print);
		cJSON_Delete(quoted);
	}
}

static void class_put(FILE *out, const cJSON *value)
{
	if (cJSON_IsBool(value))
		fputs(cJSON_IsTrue(value) ? "true" : "false", out);
	else if (cJSON_IsNumber(value))
		class_put_number(out, value->valuedouble);
	else if (cJSON_IsString(value))
		class_put_text(out, value->valuestring);
	else
		fputs("null", out);
}

/* The keys below a tree that count, as rows of a list: "path" and its value. */
static void class_collect(cJSON *rows, const cJSON *tree, const char *path, const cJSON *counts,
			  unsigned depth)
{
	const cJSON *one;
	char below[KEY_PATH_BYTES];

	cJSON_ArrayForEach(one, tree)
	{
		int n = snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "",
				 one->string ? one->string : "");

		if (n < 0 || (size_t)n >= sizeof(below))
			continue;
		if (cJSON_IsObject(one) && depth < DEPTH_MAX)
			class_collect(rows, one, below, counts, depth + 1);
		else if (class_is_of(below, cJSON_GetObjectItemCaseSensitive(counts, "keys")) &&
			 !class_is_of(below, cJSON_GetObjectItemCaseSensitive(counts, "not")))
			cJSON_AddItemReferenceToObject(rows, below, (cJSON *)(uintptr_t)one);
	}
}

static const cJSON *class_first(const cJSON *rows)
{
	const cJSON *row, *first = rows->child;

	cJSON_ArrayForEach(row, rows)
	{
		first = strcmp(row->string, first->string) < 0 ? row : first;
	}
	return first;
}

/* Takes the rows in the order of their names. */
static void class_put_rows(FILE *out, cJSON *rows)
{
	const char *before = "{";
	const cJSON *row;

	while (rows->child) {
		const cJSON *first = class_first(rows);

		fprintf(out, "%s\"%s\":", before, first->string);
		if (cJSON_IsArray(first)) {
			const char *comma = "[";

			cJSON_ArrayForEach(row, first)
			{
				fputs(comma, out);
				class_put(out, row);
				comma = ",";
			}
			fputs(*comma == '[' ? "[]" : "]", out);
		} else {
			class_put(out, first);
		}
		cJSON_DeleteItemFromObjectCaseSensitive(rows, first->string);
		before = ",";
	}
	fputc('}', out);
}

static const cJSON *class_counts(const struct edition_workload *benchmark)
{
	return benchmark ? edition_member(benchmark, "counts") : NULL;
}

bool class_of(struct workload_class *out, const struct edition_workload *benchmark,
	      const struct cJSON *tree)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	cJSON *rows = cJSON_CreateObject();
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&text, &bytes);
	bool made;

	*out = (struct workload_class){.of = "", .editions = ""};
	if (rows && file) {
		class_collect(rows, tree, "", class_counts(benchmark), 0);
		class_put_rows(file, rows);
	}
	made = rows && file && fclose(file) == 0 &&
	       EVP_Digest(text, bytes, digest, NULL, EVP_sha256(), NULL);
	for (unsigned i = 0; made && i < CLASS_DIGITS / 2; i++)
		snprintf(out->hash + 2 * i, 3, "%02x", digest[i]);
	if (made && benchmark)
		edition_of_class(benchmark->of, out->hash, out->of, out->editions);
	free(text);
	cJSON_Delete(rows);
	return made;
}

struct cJSON *class_keys(const struct edition_workload *benchmark, const struct cJSON *tree)
{
	cJSON *rows = cJSON_CreateObject(), *keys = cJSON_CreateArray();

	if (rows && keys)
		class_collect(rows, tree, "", class_counts(benchmark), 0);
	while (rows && keys && rows->child) {
		const cJSON *first = class_first(rows);

		cJSON_AddItemToArray(keys, cJSON_CreateString(first->string));
		cJSON_DeleteItemFromObjectCaseSensitive(rows, first->string);
	}
	cJSON_Delete(rows);
	return keys;
}
