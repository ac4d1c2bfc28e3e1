/* SPDX-License-Identifier: Apache-2.0 */
/* Space for new files: what is asked for against what a file system says it has, one that counts no
 * inodes among them. */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/numbers.h"
#include "plan/plan.h"
#include "plan/space.h"
#include "tests/unit.h"

static struct statvfs file_system;

/* Takes the place of the C library's. */
int statvfs(const char *path, struct statvfs *out)
{
	(void)path;
	*out = file_system;
	return 0;
}

static void test_lacking(void)
{
	static const struct {
		uint64_t blocks, files, free_files; /* of the file system */
		double bytes;                       /* asked for, with 1000 inodes */
		bool lacking;
		const char *says;
	} rows[] = {
		{1000, 5000, 1000, 4096000, false, "/ has 4.1 MB and 1,000 inodes free"},
		{1000, 5000, 999, 4096000, true, "/ has only 4.1 MB and 999 inodes free"},
		{1000, 5000, 1000, 4096001, true, "/ has only 4.1 MB and 1,000 inodes free"},
		/* btrfs and others make inodes as they are needed, and count none. */
		{1000, 0, 0, 4096000, false, "/ has 4.1 MB free"},
		{1000, 0, 0, 4096001, true, "/ has only 4.1 MB free"},
	};
	static const char text[] = "{\"stores\":{\"d\":{\"uri\":\"file:///\"}},\"phases\":[]}";
	struct err err = {0};
	struct job job;

	CU_ASSERT_EQUAL_FATAL(
		job_parse(&job, plan_schema(), "job.json", text, sizeof(text) - 1, NULL, 0, &err),
		0);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		const struct phase_store s = {
			.store = &job.stores[0], .space_bytes = rows[i].bytes, .inodes = 1000};
		char sentence[SPACE_BYTES];
		bool lacking;

		file_system = (struct statvfs){.f_frsize = 4096,
					       .f_bavail = rows[i].blocks,
					       .f_files = rows[i].files,
					       .f_favail = rows[i].free_files};
		CU_ASSERT_TRUE(space_sentence(&s, sentence, &lacking));
		CU_ASSERT_EQUAL(lacking, rows[i].lacking);
		if (!strstr(sentence, rows[i].says))
			printf("row %u: %s\n", i, sentence);
		CU_ASSERT_PTR_NOT_NULL(strstr(sentence, rows[i].says));
	}
	job_free(&job);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"what is lacking", test_lacking},
		CU_TEST_INFO_NULL,
	};

	return unit_main("space", tests);
}
