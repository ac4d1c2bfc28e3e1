/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading a whole file, up to a limit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file_read.h"
#include "tests/unit.h"

enum { LIMIT = 200000 };
static const char path[] = "test_file_read.bytes";

static void write_bytes(size_t n)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (size_t i = 0; i < n; i++)
		fputc((int)(i % 251), f);
	fclose(f);
}

/* Sizes around the first buffer, and around the limit. */
static void reads_whole_files(void)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, LIMIT - 1, LIMIT};
	struct err err = {0};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t length = 7;
		char *text = NULL;

		write_bytes(sizes[i]);
		CU_ASSERT_EQUAL_FATAL(file_read(path, LIMIT, &text, &length, &err), 0);
		CU_ASSERT_EQUAL(length, sizes[i]);
		CU_ASSERT_EQUAL(text[length], '\0');
		for (size_t k = 0; k < length; k++)
			if ((unsigned char)text[k] != k % 251)
				CU_FAIL_FATAL("a byte differs");
		free(text);
	}
	unlink(path);
}

static void reads_one_byte_more_than_the_limit(void)
{
	struct err err = {0};
	size_t length = 0;
	char *text = NULL;

	write_bytes(LIMIT + 5000);
	CU_ASSERT_EQUAL_FATAL(file_read(path, LIMIT, &text, &length, &err), 0);
	CU_ASSERT_EQUAL(length, LIMIT + 1);
	free(text);
	unlink(path);
}

static void says_why_not(void)
{
	struct err err = {0};
	size_t length;
	char *text;

	CU_ASSERT_EQUAL(file_read("/nonexistent/file", LIMIT, &text, &length, &err), -ENOENT);
	CU_ASSERT_STRING_EQUAL(err.text, "No such file or directory");
	CU_ASSERT_EQUAL(file_read("/", LIMIT, &text, &length, &err), -EISDIR);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"reads whole files", reads_whole_files},
		{"reads one byte more than the limit", reads_one_byte_more_than_the_limit},
		{"says why not", says_why_not},
		CU_TEST_INFO_NULL,
	};

	return unit_main("file_read", tests);
}
