/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of values from files as in /proc: lines of a key and a value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/proc.h"
#include "tests/unit.h"

static const char path[] = "test_proc.text";

static void finds_the_first_line_of_a_key(void)
{
	static const struct {
		const char *text, *key, *value;
	} cases[] = {
		{"processor\t: 0\nmodel name\t: One CPU\nmodel name\t: Two\n", "model name",
		 "One CPU"},
		{"MemTotal:       16384 kB\nMemFree: 1 kB\n", "MemTotal", "16384 kB"},
		{"MemFree: 1 kB", "MemFree", "1 kB"},
		{"no colon\nMemFree:\n", "MemFree", ""},
		{"MemFree: 1 kB\n", "MemTotal", ""},
		{"", "MemTotal", ""},
		{"key: longer than the room for it\n", "key", "longer than the"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		FILE *f = fopen(path, "w");
		char value[16];

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		fputs(cases[i].text, f);
		fclose(f);
		proc_value(path, cases[i].key, value, sizeof(value));
		CU_ASSERT_STRING_EQUAL(value, cases[i].value);
	}
	unlink(path);
}

static void a_file_that_is_not_there_has_no_values(void)
{
	char value[16] = "before";

	proc_value("no/such/file", "MemTotal", value, sizeof(value));
	CU_ASSERT_STRING_EQUAL(value, "");
}

static void memory_is_in_bytes(void)
{
	char kib[32];

	proc_value("/proc/meminfo", "MemTotal", kib, sizeof(kib));
	CU_ASSERT(proc_memory_bytes("MemTotal") > 0);
	CU_ASSERT_EQUAL(proc_memory_bytes("MemTotal"), strtoull(kib, NULL, 10) * 1024);
	CU_ASSERT_EQUAL(proc_memory_bytes("NoSuchMemory"), 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"finds the first line of a key", finds_the_first_line_of_a_key},
		{"a file that is not there has no values", a_file_that_is_not_there_has_no_values},
		{"memory is in bytes", memory_is_in_bytes},
		CU_TEST_INFO_NULL,
	};

	return unit_main("proc", tests);
}
