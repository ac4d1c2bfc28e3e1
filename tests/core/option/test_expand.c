/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of options that name a file of other options: where the file is looked for, what it is put
 * in place of, and what is said of a file that cannot be taken. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/option/option.h"
#include "tests/test_folder.h"
#include "tests/unit.h"

struct inner {
	char *config;
};
struct outer {
	char *config, *plain;
	struct inner inner;
};

/* Tells the bytes of the file and its first word; refuses the file "bad". */
static int tell(struct cJSON *object, const char *text, size_t length, struct err *err)
{
	char word[16] = "";

	sscanf(text, "%15s", word);
	if (strcmp(word, "bad") == 0)
		return err_set(err, -EDOM, "is bad");
	cJSON_AddNumberToObject(object, "bytes", (double)length);
	cJSON_AddStringToObject(object, "word", word);
	return 0;
}

static const struct option inner_table[] = {
	OPT_TEXT("config", struct inner, config, .expand = tell), OPT_END};
static const struct option outer_table[] = {
	OPT_TEXT("config", struct outer, config, .expand = tell),
	OPT_TEXT("plain", struct outer, plain),
	OPT_TABLE("inner", struct outer, inner, .table = inner_table), OPT_END};
static const struct option *const outer_tables[] = {outer_table, NULL};

static char folder[] = "/tmp/haul-expand-XXXXXX";

/* A file in the folder: a word and spaces. */
static void write_file(const char *name, const char *word, size_t bytes)
{
	char path[TEST_FOLDER_BYTES + 32], *text = malloc(bytes + 1);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	CU_ASSERT_FATAL(f && text);
	memset(text, ' ', bytes);
	memcpy(text, word, strlen(word));
	CU_ASSERT_EQUAL(fwrite(text, 1, bytes, f), bytes);
	fclose(f);
	free(text);
}

/* The object as text after it was expanded, or the sentence why not. */
static int expand(const char *object, const char *beside, char *out, size_t size)
{
	cJSON *json = cJSON_Parse(object);
	struct err err = {0};
	int rc;

	CU_ASSERT_PTR_NOT_NULL_FATAL(json);
	rc = options_expand(outer_tables, json, "/p", beside, &err);
	if (rc < 0)
		snprintf(out, size, "%s", err.text);
	else
		cJSON_PrintPreallocated(json, out, (int)size, false);
	cJSON_Delete(json);
	return rc;
}

static void test_objects(void)
{
	static const struct {
		const char *object;
		int rc;
		const char *says;
	} rows[] = {
		{"{}", 0, "{}"},
		{"{\"plain\":\"a\"}", 0, "{\"plain\":\"a\"}"},
		{"{\"config\":\"\"}", 0, "{\"config\":\"\"}"},
		{"{\"config\":3}", 0, "{\"config\":3}"},
		{"{\"config\":\"a\"}", 0, "{\"bytes\":9,\"word\":\"one\"}"},
		{"{\"inner\":{\"config\":\"a\"}}", 0, "{\"inner\":{\"bytes\":9,\"word\":\"one\"}}"},
		{"{\"inner\":3}", 0, "{\"inner\":3}"},
		{"{\"config\":\"none\"}", -ENOENT, "/p/config: none: No such file or directory"},
		{"{\"inner\":{\"config\":\"none\"},\"plain\":\"a\"}", -ENOENT,
		 "/p/inner/config: none: No such file or directory"},
		{"{\"config\":\"bad\"}", -EDOM, "/p/config: bad: is bad"},
		/* The first sentence stays. */
		{"{\"config\":\"bad\",\"inner\":{\"config\":\"a\"}}", -EDOM,
		 "/p/config: bad: is bad"},
	};
	char out[256];

	write_file("a", "one", 9);
	write_file("bad", "bad", 9);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CU_ASSERT_EQUAL(expand(rows[i].object, folder, out, sizeof(out)), rows[i].rc);
		CU_ASSERT_STRING_EQUAL(out, rows[i].says);
	}
}

/* A file has at most 4 MiB. */
static void test_sizes(void)
{
	enum { MOST = 4 << 20 };
	static const struct {
		size_t bytes;
		int rc;
		const char *says;
	} rows[] = {
		{MOST - 1, 0, "{\"bytes\":4194303,\"word\":\"one\"}"},
		{MOST, 0, "{\"bytes\":4194304,\"word\":\"one\"}"},
		{MOST + 1, -EINVAL, "/p/config: a: is larger than 4 MiB"},
		{2 * MOST, -EINVAL, "/p/config: a: is larger than 4 MiB"},
	};
	char out[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		write_file("a", "one", rows[i].bytes);
		CU_ASSERT_EQUAL(expand("{\"config\":\"a\"}", folder, out, sizeof(out)), rows[i].rc);
		CU_ASSERT_STRING_EQUAL(out, rows[i].says);
	}
}

/* A relative path is that of a file beside the job, else of one where the process is. */
static void test_places(void)
{
	char out[256], here[4096], object[TEST_FOLDER_BYTES + 32];

	write_file("a", "beside", 6);
	snprintf(object, sizeof(object), "{\"config\":\"%s/a\"}", folder);
	CU_ASSERT_EQUAL(expand(object, "/nonexistent", out, sizeof(out)), 0);
	CU_ASSERT_STRING_EQUAL(out, "{\"bytes\":6,\"word\":\"beside\"}");
	CU_ASSERT_EQUAL(expand("{\"config\":\"a\"}", NULL, out, sizeof(out)), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(here, sizeof(here)));
	CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
	CU_ASSERT_EQUAL(mkdir("sub", 0700), 0);
	write_file("sub/a", "beneath", 7);
	CU_ASSERT_EQUAL(expand("{\"config\":\"a\"}", "sub", out, sizeof(out)), 0);
	CU_ASSERT_STRING_EQUAL(out, "{\"bytes\":7,\"word\":\"beneath\"}");
	CU_ASSERT_EQUAL(unlink("sub/a"), 0);
	CU_ASSERT_EQUAL(expand("{\"config\":\"a\"}", "sub", out, sizeof(out)), 0);
	CU_ASSERT_STRING_EQUAL(out, "{\"bytes\":6,\"word\":\"beside\"}");
	CU_ASSERT_EQUAL(chdir(here), 0);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"objects", test_objects},
		{"sizes", test_sizes},
		{"places", test_places},
		CU_TEST_INFO_NULL,
	};

	return test_folder_main("expand", tests, folder);
}
