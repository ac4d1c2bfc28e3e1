/* SPDX-License-Identifier: Apache-2.0 */
/* MLPerf Storage's class of a workload: see class.h. It is the beginning of the SHA-256 of the keys
 * that count, in the order of their names, as JSON without blanks. */
#include "import/dlio/class.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/numbers.h"

enum { PATH_BYTES = 128, DEPTH_MAX = 16, DIGITS_MAX = 17 };

static const double whole_most = 1e15;

/* Keys that count; one that ends in "." stands for all below it. */
static const char *const training[] = {"framework",
				       "metric.au",
				       "model.",
				       "workflow.",
				       "checkpoint.",
				       "dataset.format",
				       "dataset.num_samples_per_file",
				       "dataset.record_length_bytes",
				       "dataset.record_length_bytes_stdev",
				       "dataset.record_length_bytes_resize",
				       "dataset.record_length",
				       "dataset.record_length_stdev",
				       "dataset.record_length_resize",
				       "reader.data_loader",
				       "reader.batch_size",
				       "reader.file_shuffle",
				       "reader.sample_shuffle",
				       "reader.shuffle_size",
				       "train.epochs",
				       "train.computation_time",
				       "train.computation_time_stdev",
				       "train.total_training_steps",
				       NULL};
static const char *const checkpointing[] = {"framework", "model.", "workflow.", "checkpoint.",
					    NULL};
static const char *const training_not[] = {"checkpoint.checkpoint_folder", NULL};
static const char *const checkpointing_not[] = {"checkpoint.checkpoint_folder",
						"checkpoint.num_checkpoints_read",
						"checkpoint.num_checkpoints_write", NULL};

/* Classes that have published results, or that an edition has. */
static const struct {
	const char *class, *of, *editions;
} published[] = {
	{"0d3ad0dec188becd", "unet3d on b200", "3.0"},
	{"f636f5a57473fca2", "unet3d on b200 with checkpoints", ""},
	{"20c73f53486caba0", "retinanet on b200", "3.0"},
	{"66c43604eb650987", "retinanet on mi355", "3.0"},
	{"f4d46006aa421634", "unet3d on h100", "1.0"},
	{"0f3dd7a4bf6433a3", "unet3d on h100", "2.0"},
	{"691cea309c4f2f52", "unet3d on a100", "2.0"},
	{"03a7be3df904e1e7", "resnet50 on h100", "2.0"},
	{"4b7b36339a2a5b0d", "cosmoflow on h100", "2.0"},
	{"68df04b7240e3fb0", "llama3-8b", "2.0, 3.0"},
	{"3c53fe70d64f91d4", "llama3-70b", "2.0, 3.0"},
	{"7adcfa87a5c4c8e6", "llama3-405b", "2.0, 3.0"},
	{"45fd627ad9dc5f4c", "llama3-1t", "2.0, 3.0"},
	{"c48a92d225d70ce8", "a subset of llama3-70b", "2.0"},
	{"7e9f853cebd52aa6", "a subset of llama3-405b", "2.0"},
	{"0918b2db633242db", "a subset of llama3-1t", "2.0"},
};

static bool class_is_of(const char *path, const char *const *keys)
{
	for (unsigned i = 0; keys[i]; i++) {
		size_t n = strlen(keys[i]);

		if (keys[i][n - 1] == '.' ? strncmp(path, keys[i], n) == 0
					  : strcmp(path, keys[i]) == 0)
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
static void class_collect(cJSON *rows, const cJSON *tree, const char *path, bool trains,
			  unsigned depth)
{
	const cJSON *one;
	char below[PATH_BYTES];

	cJSON_ArrayForEach(one, tree)
	{
		int n = snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "",
				 one->string ? one->string : "");

		if (n < 0 || (size_t)n >= sizeof(below))
			continue;
		if (cJSON_IsObject(one) && depth < DEPTH_MAX)
			class_collect(rows, one, below, trains, depth + 1);
		else if (class_is_of(below, trains ? training : checkpointing) &&
			 !class_is_of(below, trains ? training_not : checkpointing_not))
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

bool class_of(struct workload_class *out, const struct cJSON *tree, bool trains)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	cJSON *rows = cJSON_CreateObject();
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&text, &bytes);
	bool made;

	*out = (struct workload_class){.of = "", .editions = ""};
	if (rows && file) {
		class_collect(rows, tree, "", trains, 0);
		class_put_rows(file, rows);
	}
	made = rows && file && fclose(file) == 0 &&
	       EVP_Digest(text, bytes, digest, NULL, EVP_sha256(), NULL);
	for (unsigned i = 0; made && i < CLASS_DIGITS / 2; i++)
		snprintf(out->hash + 2 * i, 3, "%02x", digest[i]);
	for (unsigned i = 0; i < COUNT(published); i++) {
		if (strcmp(published[i].class, out->hash) != 0)
			continue;
		out->of = published[i].of;
		out->editions = published[i].editions;
	}
	free(text);
	cJSON_Delete(rows);
	return made;
}

struct cJSON *class_keys(const struct cJSON *tree, bool trains)
{
	cJSON *rows = cJSON_CreateObject(), *keys = cJSON_CreateArray();

	if (rows && keys)
		class_collect(rows, tree, "", trains, 0);
	while (rows && keys && rows->child) {
		const cJSON *first = class_first(rows);

		cJSON_AddItemToArray(keys, cJSON_CreateString(first->string));
		cJSON_DeleteItemFromObjectCaseSensitive(rows, first->string);
	}
	cJSON_Delete(rows);
	return keys;
}
