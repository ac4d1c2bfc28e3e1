/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the watch over the ranks of a node, at times that the test gives: who is named, in whose
 * log, and how soon. test_stall_watch.c has what makes one rank stand out, and test_leader_link.c
 * what goes between nodes. */
#include "ranks/mpi/node_status.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"

enum { RANKS = 4, NOBODY = RANKS, SILENT_S = 5, END_S = 20 };
#define SECOND   UINT64_C(1000000000)
#define STEP_NS  (SECOND / 20)
#define START_NS (1000 * SECOND)

static const struct row {
	uint32_t silent; /* this rank does not go on after SILENT_S */
	uint32_t waits;  /* this one then waits for storage, and says so */
	uint64_t limit_ns;
	/* The log in which a line begins with `says`, and when it is there at the earliest and at
	 * the latest: the limit, and an eighth of it until somebody looks, in either direction. */
	uint32_t log;
	const char *says;
	double from_s, to_s;
} rows[] = {
	{NOBODY, NOBODY, SECOND, NOBODY, NULL, 0, 0},
	{2, NOBODY, 0, NOBODY, NULL, 0, 0},
	{2, NOBODY, SECOND, 0, "rank 2 has not answered for 1.", 6, 6.3},
	{3, NOBODY, 4 * SECOND, 0, "rank 3 has not answered for ", 9, 10.1},
	{NOBODY, 1, SECOND, 0, "rank 1 has waited 1.", 6, 6.3},
	/* Rank 0 cannot watch itself. */
	{0, NOBODY, SECOND, 1, "rank 0 has not answered for 1.", 6, 6.3},
	{0, NOBODY, 4 * SECOND, 1, "rank 0 has not answered for ", 9, 10.1},
};

struct fixture {
	const struct row *row;
	struct group *alone;
	struct node_watch watches[RANKS];
	struct log logs[2];
	int readers[2];
};

static bool log_has(struct fixture *x, uint32_t log, const char *text)
{
	char line[4096] = "";

	return read(x->readers[log], line, sizeof(line) - 1) > 0 && strstr(line, text);
}

/* The ranks poll one after the other, so the test needs one thread of them. */
static void watch(struct fixture *x)
{
	const struct row *r = x->row;
	double said_s = 0;

	for (uint64_t ns = 0; ns < END_S * SECOND && said_s == 0; ns += STEP_NS) {
		bool later = ns >= SILENT_S * SECOND;
		struct group_wait wait = {.elapsed_ns = later ? ns - SILENT_S * SECOND : 0,
					  .object = "mem://a/b"};

		for (uint32_t rank = 0; rank < RANKS; rank++) {
			if (rank == r->waits)
				node_watch_tell(&x->watches[rank], &wait);
			if (rank != r->silent || !later)
				node_watch_poll(&x->watches[rank], START_NS + ns);
		}
		for (uint32_t log = 0; log < 2; log++)
			if (log == r->log ? log_has(x, log, r->says) : log_has(x, log, "rank"))
				said_s = log == r->log ? (double)ns / SECOND : -1;
	}
	CU_ASSERT(said_s >= r->from_s && said_s <= r->to_s);
	if (!(said_s >= r->from_s && said_s <= r->to_s))
		fprintf(stderr, "row %u: said after %.2f s\n", (unsigned)(r - rows), said_s);
}

static int rank_body(struct group *g, void *argument)
{
	struct fixture *x = argument;
	struct node_watch *w = &x->watches[g->rank];
	char who[16];
	struct err err = {0};
	int rc = node_watch_open(w, g, g->rank == 0 ? x->alone : NULL, NULL, &err);

	if (rc < 0)
		return rc;
	snprintf(who, sizeof(who), "rank %u", g->rank);
	node_watch_set(w, who, g->rank < 2 ? &x->logs[g->rank] : NULL, x->row->limit_ns);
	group_barrier(g);
	if (g->rank == 0)
		watch(x);
	group_barrier(g);
	node_watch_close(w);
	return 0;
}

static void test_who_is_named(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct fixture x = {.row = &rows[i]};
		struct err err = {0};
		int ends[2][2];

		CU_ASSERT_EQUAL_FATAL(group_alone(&x.alone, &err), 0);
		for (uint32_t log = 0; log < 2; log++) {
			CU_ASSERT_EQUAL_FATAL(pipe2(ends[log], O_NONBLOCK | O_CLOEXEC), 0);
			x.readers[log] = ends[log][0];
			log_init(&x.logs[log], ends[log][1], LOG_WARNING, log, RANKS);
		}
		CU_ASSERT_EQUAL(thread_group_run(RANKS, rank_body, &x, &err), 0);
		for (uint32_t log = 0; log < 2; log++) {
			close(ends[log][0]);
			close(ends[log][1]);
		}
		group_free(x.alone);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"who is named", test_who_is_named},
		CU_TEST_INFO_NULL,
	};

	return unit_main("node_watch", tests);
}
