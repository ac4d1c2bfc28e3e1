/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the log: each event is one line, with the rank and the level. */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/unit.h"

enum { TEXT_BYTES = 8192 };

/* Reads from a pipe what log_say has written. */
static void read_pipe(char text[TEXT_BYTES], int fds[2])
{
	ssize_t n;

	close(fds[1]);
	n = read(fds[0], text, TEXT_BYTES - 1);
	text[n > 0 ? n : 0] = '\0';
	close(fds[0]);
}

static void lines_name_rank_and_level(void)
{
	char text[TEXT_BYTES];
	struct log log;
	int fds[2];

	CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
	log_init(&log, fds[1], LOG_INFO, 12, 64);
	log_say(&log, LOG_WARNING, "%d of %d", 3, 4);
	log_say(&log, LOG_ERROR, "gone");
	log_say(&log, LOG_DEBUG, "not asked for");
	read_pipe(text, fds);
	CU_ASSERT_STRING_EQUAL(text,
			       "haul: rank 12: warning: 3 of 4\nhaul: rank 12: error: gone\n");
}

static void a_rank_alone_has_no_number(void)
{
	char text[TEXT_BYTES];
	struct log log;
	double seconds;
	int fds[2], end = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
	log_init(&log, fds[1], LOG_DEBUG, 0, 1);
	log_say(&log, LOG_INFO, "hello");
	read_pipe(text, fds);
	CU_ASSERT_EQUAL(sscanf(text, "haul: %lf s: hello%n", &seconds, &end), 1);
	CU_ASSERT_TRUE(end > 0 && text[end] == '\n' && seconds >= 0);
}

static void one_event_is_one_line(void)
{
	char text[TEXT_BYTES], *longer = calloc(1, 5001);
	struct log log;
	int fds[2];

	CU_ASSERT_PTR_NOT_NULL_FATAL(longer);
	memset(longer, 'x', 5000);
	CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
	log_init(&log, fds[1], LOG_ERROR, 0, 1);
	log_say(&log, LOG_ERROR, "a\nb\033c %s", longer);
	read_pipe(text, fds);
	CU_ASSERT_EQUAL(strncmp(text, "haul: error: a b c xxx", 22), 0);
	CU_ASSERT_PTR_EQUAL(strchr(text, '\n'), text + strlen(text) - 1);
	free(longer);
	log_init(&log, -1, LOG_DEBUG, 0, 1);
	log_say(&log, LOG_ERROR, "nowhere");
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"lines name rank and level", lines_name_rank_and_level},
		{"a rank alone has no number", a_rank_alone_has_no_number},
		{"one event is one line", one_event_is_one_line},
		CU_TEST_INFO_NULL,
	};

	return unit_main("log", tests);
}
