/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the sentences about trainings: whose they are where a run has several. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "tests/unit.h"

enum { PHASES_MAX = 3 };
static struct results_column columns[] = {
	{.name = "bytes_read", .unit = "bytes"},
	{.name = "au", .unit = "fraction", .role = ROLE_UTILISATION, .real = true},
};
static union results_cell cells[PHASES_MAX][2];
static char empty[1], path[] = "r.h5";

static char *text_of(unsigned phases, const double *au)
{
	static const char *const names[PHASES_MAX] = {"first", "second", "third"};
	static const struct report_options plain = {.color = false};
	struct results_phase_read read[PHASES_MAX];
	struct results_file f = {.path = path,
				 .status = "done",
				 .build = empty,
				 .command_line = empty,
				 .error = empty,
				 .ranks = 1,
				 .nodes = 1,
				 .runs = 1,
				 .phase_count = phases,
				 .phases = read};

	for (uint32_t i = 0; i < phases; i++) {
		cells[i][0].count = 1000;
		cells[i][1].real = au[i];
		read[i] = (struct results_phase_read){
			.record = {.number = i,
				   .within = RECORD_NOT_WITHIN,
				   .run = 1,
				   .kind = "train",
				   .status = "done",
				   .null_au = NAN,
				   .target_au = NAN,
				   .seconds = 2},
			.merged = {.column_count = 2,
				   .row_count = 1,
				   .columns = columns,
				   .cells = cells[i]},
			.ranks = {.column_count = 2,
				  .row_count = 1,
				  .columns = columns,
				  .cells = cells[i]},
		};
		snprintf(read[i].record.name, sizeof(read[i].record.name), "%s", names[i]);
	}
	return report_text(&f, &plain);
}

static bool says(const char *text, const char *line)
{
	const char *at = text ? strstr(text, line) : NULL;

	return at && at > text && at[-1] == '\n';
}

/* The headline tells of one phase; each sentence about another begins with its name. */
static void test_names(void)
{
	static const double au[PHASES_MAX] = {0.25, 0.5, 0.75};
	char *text = text_of(1, au);

	CU_ASSERT_TRUE(says(text, "The accelerators were busy 25.0 % of the time.\n"));
	free(text);
	text = text_of(PHASES_MAX, au);
	CU_ASSERT_TRUE(says(text, "first: The accelerators were busy 25.0 % of the time.\n"));
	CU_ASSERT_TRUE(says(text, "second: The accelerators were busy 50.0 % of the time.\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "The accelerators were busy 75.0 % of the time."));
	if (!says(text, "second: The accelerators were busy 50.0 % of the time.\n"))
		fprintf(stderr, "%s", text);
	free(text);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"names", test_names},
		CU_TEST_INFO_NULL,
	};

	return unit_main("train", tests);
}
