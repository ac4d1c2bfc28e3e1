/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the text of the progress line: what it tells of a training, of files that are made, and
 * of files that are removed. */
#include "ranks/run/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit.h"

static const char *line_phase;

static void fill(const struct progress *p, struct progress_figures *out)
{
	*out = *(const struct progress_figures *)p->phase;
}

/* That part of the phase took 10 s. */
static void shows_after(double fraction, const struct progress_figures *figures, const char *wanted)
{
	static const struct status merged = {.waiting = 2};
	const struct progress p = {
		.fraction = fraction, .merged = &merged, .figures = fill, .phase = figures};
	const struct progress_line line = {.run = 1, .runs = 1, .phase = line_phase};
	char text[PROGRESS_BYTES];

	progress_text(&line, &p, 10000000000ull, text);
	CU_ASSERT_STRING_EQUAL(text, wanted);
	if (strcmp(text, wanted) != 0)
		printf("%s, wanted %s\n", text, wanted);
}

static void shows(const struct progress_figures *figures, const char *wanted)
{
	shows_after(0.5, figures, wanted);
}

static void test_training(void)
{
	shows(&(struct progress_figures){.work = "train",
					 .epoch = 2,
					 .epochs = 5,
					 .step = 13,
					 .steps = 100,
					 .au = 0.931,
					 .hit_share = NAN,
					 .bytes = 30000000,
					 .p99_ns = 5000000},
	      "train 2/5 · step 13/100 · AU 93.1 % · 3 MB/s · read p99 5 ms · 2 ranks waiting · 0:10 left");
}

static void test_files(void)
{
	struct progress_figures f = {.work = "generate",
				     .items = 20,
				     .items_total = 40,
				     .items_name = "files",
				     .percent = true,
				     .au = NAN,
				     .hit_share = NAN,
				     .bytes = 30000000};

	shows(&f,
	      "generate · 50.0 % · 20 of 40 files · 30 MB · 3 MB/s · 2 ranks waiting · 0:10 left");
	f.work = "clean";
	f.removed = true;
	shows(&f, "clean · 50.0 % · 20 of 40 files · 30 MB · 2 ranks waiting · 0:10 left");
	f.bytes = 0;
	shows(&f, "clean · 50.0 % · 20 of 40 files · 2 ranks waiting · 0:10 left");
}

/* A time that is estimated from next to nothing is none. */
static void test_time_left(void)
{
	static const struct progress_figures f = {.work = "io", .au = NAN, .hit_share = NAN};

	shows_after(0, &f, "io · 2 ranks waiting");
	shows_after(2.4e-7, &f, "io · 2 ranks waiting");
	shows_after(0.01, &f, "io · 2 ranks waiting · 16:30 left");
}

/* Of many phases of a kind, the line names the one that runs. */
static void test_names(void)
{
	struct progress_figures f = {.work = "io", .au = NAN, .hit_share = NAN};

	line_phase = "get64k";
	shows(&f, "get64k: io · 2 ranks waiting · 0:10 left");
	line_phase = "io";
	shows(&f, "io · 2 ranks waiting · 0:10 left");
	line_phase = NULL;
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"a training", test_training},
		{"files that are made or removed", test_files},
		{"time left", test_time_left},
		{"names of phases", test_names},
		CU_TEST_INFO_NULL,
	};

	return unit_main("progress", tests);
}
