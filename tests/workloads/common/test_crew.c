/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the crew: each file is processed once, whatever the numbers of ranks and threads, and a
 * thread or a rank that is held up delays only its own file. */
#include "workloads/common/crew.h"

#include <stdlib.h>
#include <string.h>

#include "tests/backends/rig.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"

enum { FILES_MAX = 1000 };

struct crew_case {
	uint64_t files;
	uint32_t threads;
	struct rig *rig;
	_Atomic uint32_t done[FILES_MAX];
	_Atomic uint32_t finished; /* files of all ranks */
	sem_t others;              /* posted when all other files are done */
	bool hold;
};

static int do_file(struct crew_thread *w, uint64_t i)
{
	struct crew_case *s = w->crew->argument;

	/* File 0, of rank 0, waits for all other files. */
	if (s->hold && i == 0)
		sem_wait(&s->others);
	atomic_fetch_add(&s->done[i], 1);
	if (s->hold && atomic_fetch_add(&s->finished, 1) + 1 == s->files - 1)
		sem_post(&s->others);
	return 0;
}

static int body(struct group *g, void *argument)
{
	struct crew_case *s = argument;
	enum stop_reason stopped;
	struct crew crew = {.files = s->files,
			    .store = &s->rig->store,
			    .group = g,
			    .threads = s->threads,
			    .kind = "test",
			    .argument = s};
	int rc = crew_open(&crew, NULL);

	if (rc == 0)
		rc = crew_run(&crew, do_file, &stopped, NULL);
	crew_close(&crew);
	return rc;
}

static void run(uint64_t files, uint32_t ranks, uint32_t threads, bool hold)
{
	static struct crew_case s;
	struct rig rig;

	memset(&s, 0, sizeof(s));
	s.files = files;
	s.threads = threads;
	s.rig = &rig;
	s.hold = hold;
	sem_init(&s.others, 0, 0);
	rig_init(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_open(&rig, "{\"uri\": \"null://\"}"), 0);
	CU_ASSERT_EQUAL(thread_group_run(ranks, body, &s, NULL), 0);
	for (uint64_t i = 0; i < files; i++)
		CU_ASSERT_EQUAL(s.done[i], 1);
	rig_close(&rig);
	sem_destroy(&s.others);
}

static void test_each_file_once(void)
{
	static const uint64_t files[] = {0, 1, 7, FILES_MAX};
	static const uint32_t ranks[] = {1, 3, 8}, threads[] = {1, 4};

	for (unsigned i = 0; i < 24; i++)
		run(files[i % 4], ranks[i / 4 % 3], threads[i / 12], false);
}

/* This test would hang if files were assigned to threads in advance. */
static void test_straggler_holds_up_nobody(void)
{
	run(100, 1, 2, true);
	run(100, 2, 3, true);
}

/* Would hang where files were dealt out to ranks beforehand: the only thread of rank 0 waits until
 * the other ranks have done all other files. */
static void test_slow_rank_holds_up_nobody(void)
{
	run(2, 2, 1, true);
	run(100, 2, 1, true);
	run(101, 3, 1, true);
	run(FILES_MAX, 8, 1, true);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"each file once", test_each_file_once},
		{"a slow file holds up no other", test_straggler_holds_up_nobody},
		{"a slow rank holds up no file that it has not begun",
		 test_slow_rank_holds_up_nobody},
		CU_TEST_INFO_NULL,
	};

	return unit_main("crew", tests);
}
