/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the lines of --live: one for each second, with what other phases do; lines for which a
 * pipe has no room are left out whole, and never waited for; nobody reads them any more. */
#include "ranks/run/live.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/test_folder.h"
#include "tests/unit.h"
#include "workloads/workload.h"

#define SECOND 1000000000ull

/* Figures of a run go into a pipe of the least size. Neither end waits, so a line that is written
 * although there is no room fails at once. */
struct fixture {
	struct live live;
	struct log log;
	int reader;
	char text[1 << 17]; /* what has been read */
};

static struct fixture *begin(void)
{
	struct fixture *x = calloc(1, sizeof(*x));
	int ends[2];

	CU_ASSERT_PTR_NOT_NULL_FATAL(x);
	CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	CU_ASSERT_FATAL(fcntl(ends[1], F_SETPIPE_SZ, 1) > 0);
	log_init(&x->log, -1, LOG_WARNING, 0, 1);
	x->reader = ends[0];
	x->live = (struct live){.fd = ends[1], .log = &x->log};
	live_begin(&x->live, 0);
	return x;
}

static void end(struct fixture *x)
{
	live_close(&x->live);
	if (x->reader >= 0)
		close(x->reader);
	free(x);
}

/* Reads all that is in the pipe, and returns the number of lines, which are whole. */
static unsigned lines_of(struct fixture *x)
{
	size_t used = 0;
	unsigned lines = 0;
	ssize_t n;

	while ((n = read(x->reader, x->text + used, sizeof(x->text) - 1 - used)) > 0)
		used += (size_t)n;
	x->text[used] = '\0';
	CU_ASSERT_TRUE_FATAL(!used || x->text[used - 1] == '\n');
	for (char *line = x->text; *line; line = strchr(line, '\n') + 1) {
		cJSON *row = cJSON_ParseWithLength(line, strcspn(line, "\n"));

		CU_ASSERT_PTR_NOT_NULL(row);
		cJSON_Delete(row);
		lines++;
	}
	return lines;
}

/* The only line that is in the pipe. */
static cJSON *line_of(struct fixture *x)
{
	CU_ASSERT_EQUAL_FATAL(lines_of(x), 1);
	return cJSON_Parse(x->text);
}

static double number(const cJSON *row, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, key);

	return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

static const char *text_of(const cJSON *row, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, key));

	return text ? text : "(none)";
}

static struct live_at at(double elapsed_s)
{
	return (struct live_at){.phase = "train",
				.beside = "reader: io · 1.2 GB | writer: checkpoint 1/4",
				.run = 2,
				.runs = 5,
				.elapsed_s = elapsed_s};
}

static void figures(const struct progress *p, struct progress_figures *out)
{
	(void)p;
	*out = (struct progress_figures){.work = "train",
					 .epoch = 1,
					 .epochs = 4,
					 .step = 7,
					 .steps = 10,
					 .au = 0.5,
					 .hit_share = NAN,
					 .bytes = 3000};
}

/* A phase of this rank with others beside it; then only the others; then the end of its own. */
static void phases_at_once(void)
{
	static const struct status merged = {.waiting = 3};
	const struct progress p = {.fraction = 0.25, .merged = &merged, .figures = figures};
	struct fixture *x = begin();
	cJSON *row;

	live_show(&x->live, at(0.5), &p, SECOND / 2);
	CU_ASSERT_EQUAL(lines_of(x), 0);
	live_show(&x->live, at(1.5), &p, 3 * SECOND / 2);
	live_show(&x->live, at(1.9), &p, 19 * SECOND / 10);
	row = line_of(x);
	CU_ASSERT_STRING_EQUAL(text_of(row, "state"), "running");
	CU_ASSERT_STRING_EQUAL(text_of(row, "phase"), "train");
	CU_ASSERT_STRING_EQUAL(text_of(row, "beside"), at(0).beside);
	CU_ASSERT_DOUBLE_EQUAL(number(row, "run"), 2, 0);
	CU_ASSERT_DOUBLE_EQUAL(number(row, "step"), 7, 0);
	CU_ASSERT_DOUBLE_EQUAL(number(row, "ranks_waiting"), 3, 0);
	CU_ASSERT_DOUBLE_EQUAL(number(row, "left_s"), 4.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(number(row, "bytes_per_second"), 2000, 1e-9);
	CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(row, "items")));
	cJSON_Delete(row);
	live_show_beside(&x->live, at(2), 2 * SECOND);
	row = line_of(x);
	CU_ASSERT_STRING_EQUAL(text_of(row, "state"), "waiting");
	CU_ASSERT_STRING_EQUAL(text_of(row, "beside"), at(0).beside);
	CU_ASSERT_PTR_NULL(cJSON_GetObjectItem(row, "step"));
	cJSON_Delete(row);
	live_end(&x->live, at(2.5), "ended");
	row = line_of(x);
	CU_ASSERT_STRING_EQUAL(text_of(row, "state"), "ended");
	CU_ASSERT_DOUBLE_EQUAL(number(row, "elapsed_s"), 2.5, 0);
	cJSON_Delete(row);
	end(x);
}

/* Nobody reads for a long time: the first lines are there, whole, the others are lost, and later
 * ones come again. */
static void full_pipe(void)
{
	enum { LINES = 2000 };
	struct fixture *x = begin();
	unsigned taken;
	cJSON *row;

	for (unsigned i = 1; i <= LINES; i++)
		live_show_beside(&x->live, at(i), i * SECOND);
	CU_ASSERT_TRUE_FATAL(x->live.fd >= 0);
	taken = lines_of(x);
	CU_ASSERT_TRUE(taken >= 1 && taken < LINES);
	row = cJSON_ParseWithLength(x->text, strcspn(x->text, "\n"));
	CU_ASSERT_DOUBLE_EQUAL(number(row, "elapsed_s"), 1, 0);
	cJSON_Delete(row);
	live_show_beside(&x->live, at(LINES + 1), (LINES + 1) * SECOND);
	row = line_of(x);
	CU_ASSERT_DOUBLE_EQUAL(number(row, "elapsed_s"), LINES + 1, 0);
	cJSON_Delete(row);
	end(x);
}

/* The lines end, and the run goes on. */
static void nobody_reads(void)
{
	struct fixture *x = begin();

	signal(SIGPIPE, SIG_IGN);
	close(x->reader);
	x->reader = -1;
	live_show_beside(&x->live, at(1), SECOND);
	CU_ASSERT_EQUAL(x->live.fd, -1);
	live_show_beside(&x->live, at(2), 2 * SECOND);
	live_end(&x->live, at(3), "done");
	CU_ASSERT_EQUAL(x->live.fd, -1);
	end(x);
}

/* A pipe that nobody reads from is refused at once: opening it would wait for a reader. A pipe with
 * a reader is written to, and what is neither a file nor a pipe tells why not. */
static void opens(void)
{
	char folder[TEST_FOLDER_BYTES], path[TEST_FOLDER_BYTES + 16], wanted[2 * sizeof(path)];
	struct err err = {0};
	struct live live;
	int reader;

	test_folder_make(folder);
	snprintf(path, sizeof(path), "%s/live", folder);
	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	CU_ASSERT_EQUAL(live_open(&live, path, NULL, &err), -ENXIO);
	snprintf(wanted, sizeof(wanted), "%s cannot be written: no program reads from it", path);
	CU_ASSERT_STRING_EQUAL(err.text, wanted);
	CU_ASSERT_EQUAL(live.fd, -1);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CU_ASSERT_EQUAL(live_open(&live, path, NULL, &err), 0);
	CU_ASSERT(fcntl(live.fd, F_GETFL) & O_NONBLOCK);
	live_close(&live);
	close(reader);
	CU_ASSERT_EQUAL(unlink(path), 0);
	CU_ASSERT_EQUAL(live_open(&live, path, NULL, &err), 0);
	live_close(&live);
	CU_ASSERT_EQUAL(access(path, W_OK), 0);
	CU_ASSERT_EQUAL(live_open(&live, folder, NULL, &err), -EISDIR);
	CU_ASSERT_EQUAL(live.fd, -1);
	test_folder_remove(folder);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"phases at once", phases_at_once},
		{"a full pipe", full_pipe},
		{"nobody reads", nobody_reads},
		{"opens", opens},
		CU_TEST_INFO_NULL,
	};

	return unit_main("live", tests);
}
