/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of groups of threads: the contract of core/group/group.h, with 1 to 64 ranks. CUnit's
 * assertions are not thread-safe, so a rank returns the negated line of the first check that
 * failed. */
#include <CUnit/CUnit.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/content/random.h"
#include "core/stop.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"

#define HOLDS(condition) \
	do { \
		if (!(condition)) \
			return -__LINE__; \
	} while (0)

static const uint32_t sizes[] = {1, 2, 3, 64};
enum { SIZES = 4 };

static void run_all(int (*body)(struct group *g, void *argument))
{
	for (unsigned i = 0; i < SIZES; i++) {
		struct err err = {0};
		_Atomic uint32_t shared;
		int rc;

		atomic_init(&shared, 0);
		rc = thread_group_run(sizes[i], body, &shared, &err);
		if (rc != 0)
			printf("%u ranks: line %d: %s\n", sizes[i], -rc, err.text);
		CU_ASSERT_EQUAL(rc, 0);
	}
}

static int reduces(struct group *g, void *argument)
{
	(void)argument;
	for (uint64_t round = 0; round < 50; round++) {
		uint64_t words[3] = {g->rank + round, 1, UINT64_MAX - g->rank};
		uint64_t n = g->size, all = n * (n - 1) / 2 + n * round;
		uint64_t many[200];

		HOLDS(group_allreduce(g, MERGE_SUM, words, 2) == 0);
		HOLDS(words[0] == all && words[1] == n);
		HOLDS(words[2] == UINT64_MAX - g->rank);
		HOLDS(group_allreduce(g, MERGE_MIN, words + 2, 1) == 0);
		HOLDS(words[2] == UINT64_MAX - (n - 1));
		for (unsigned i = 0; i < 200; i++)
			many[i] = i * g->rank;
		HOLDS(group_allreduce(g, MERGE_MAX, many, 200) == 0);
		for (unsigned i = 0; i < 200; i++)
			HOLDS(many[i] == i * (n - 1));
		many[0] = 1;
		HOLDS(group_reduce(g, MERGE_SUM, many, 1) == 0);
		HOLDS(g->rank != 0 || many[0] == n);
		HOLDS(group_allreduce(g, MERGE_SUM, words, 0) == 0);
	}
	return 0;
}

/* One rank that differs from the others is enough, whichever it is and however much. */
static int compares(struct group *g, void *argument)
{
	static const uint64_t words[] = {0, 1, 7, UINT32_MAX, UINT64_MAX};

	(void)argument;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		bool same = false;

		HOLDS(group_same(g, words[i], &same) == 0 && same);
		for (uint32_t other = 0; other < g->size; other += 1 + g->size / 3) {
			uint64_t word = words[i] + (g->rank == other);

			HOLDS(group_same(g, word, &same) == 0);
			HOLDS(same == (g->size == 1));
		}
	}
	return 0;
}

static void same_words(void)
{
	run_all(compares);
}

static void allreduce_and_reduce(void)
{
	run_all(reduces);
}

struct record {
	uint32_t rank;
	char text[20];
};

static int moves_records(struct group *g, void *argument)
{
	struct record mine, all[64], first;

	(void)argument;
	for (uint32_t round = 0; round < 20; round++) {
		memset(&mine, 0, sizeof(mine));
		mine.rank = g->rank;
		snprintf(mine.text, sizeof(mine.text), "rank %u", g->rank);
		HOLDS(group_gather(g, &mine, sizeof(mine), g->rank == 0 ? all : NULL) == 0);
		for (uint32_t i = 0; g->rank == 0 && i < g->size; i++) {
			char text[20];

			snprintf(text, sizeof(text), "rank %u", i);
			HOLDS(all[i].rank == i && strcmp(all[i].text, text) == 0);
			all[i].rank = 1000 * round + i;
		}
		HOLDS(group_scatter(g, g->rank == 0 ? all : NULL, sizeof(mine), &mine) == 0);
		HOLDS(mine.rank == 1000 * round + g->rank);
		first.rank = g->rank == 0 ? round + 7 : 0;
		HOLDS(group_broadcast(g, &first, sizeof(first)) == 0);
		HOLDS(first.rank == round + 7);
	}
	return 0;
}

static void gather_scatter_broadcast(void)
{
	run_all(moves_records);
}

/* No rank leaves a barrier before all ranks have entered it. */
static int meets(struct group *g, void *argument)
{
	_Atomic uint32_t *come = argument;

	for (uint32_t round = 1; round <= 30; round++) {
		atomic_fetch_add(come, 1);
		HOLDS(group_barrier(g) == 0);
		HOLDS(atomic_load(come) >= round * g->size);
		HOLDS(group_barrier(g) == 0);
	}
	return 0;
}

static void barrier(void)
{
	run_all(meets);
}

/* Each rank sends two messages to every other rank before it receives. This must not hang, whatever
 * the order of sending, and the messages between two ranks must arrive in order. */
static int sends(struct group *g, void *argument)
{
	uint32_t word[2];

	(void)argument;
	for (uint32_t to = 0; to < g->size; to++) {
		for (uint32_t i = 0; i < 2; i++) {
			word[0] = g->rank * 100 + to;
			word[1] = i;
			HOLDS(group_send(g, to, word, sizeof(word)) == 0);
		}
	}
	for (uint32_t from = g->size; from-- > 0;) {
		for (uint32_t i = 0; i < 2; i++) {
			while (!group_arrived(g, from))
				sched_yield();
			HOLDS(group_receive(g, from, word, sizeof(word)) == 0);
			HOLDS(word[0] == from * 100 + g->rank && word[1] == i);
		}
	}
	for (uint32_t from = 0; from < g->size; from++)
		HOLDS(!group_arrived(g, from));
	HOLDS(group_barrier(g) == 0);
	HOLDS(group_send(g, g->size, word, 4) == -EINVAL);
	HOLDS(group_receive(g, g->size, word, 4) == -EINVAL);
	HOLDS(group_send(g, g->rank, word, 4) == 0);
	HOLDS(group_receive(g, g->rank, word, 8) == -EMSGSIZE);
	return 0;
}

static void send_and_receive(void)
{
	run_all(sends);
}

struct letter {
	uint64_t from, number, channel;
};

/* Takes all letters of a channel; got: by sender. Returns how many, or -1 where one was not the
 * next of its sender. */
static int take_letters(struct group *g, uint32_t channel, uint64_t *got)
{
	struct letter l;
	uint32_t from;
	int n = 0;

	while (group_take(g, channel, &from, &l, sizeof(l)) > 0) {
		if (l.from != from || l.channel != channel || l.number != got[from]++)
			return -1;
		n++;
	}
	return n;
}

/* Each rank posts to all ranks, itself among them, and tries again where there is no room. */
static int posts(struct group *g, void *argument)
{
	const uint64_t each = g->size > 8 ? 2 : 40;
	uint64_t sent[GROUP_CHANNELS][64] = {{0}}, got[GROUP_CHANNELS][64] = {{0}};
	uint64_t left = GROUP_CHANNELS * g->size * each, awaited = left;

	(void)argument;
	while (left || awaited) {
		for (uint32_t c = 0; c < GROUP_CHANNELS; c++) {
			int n = take_letters(g, c, got[c]);

			HOLDS(n >= 0);
			awaited -= (uint64_t)n;
			for (uint32_t to = 0; to < g->size; to++) {
				struct letter l = {g->rank, sent[c][to], c};
				int rc = l.number < each ? group_post(g, to, c, &l, sizeof(l))
							 : -EAGAIN;

				HOLDS(rc == 0 || rc == -EAGAIN);
				sent[c][to] += rc == 0;
				left -= rc == 0;
			}
		}
		sched_yield();
	}
	HOLDS(group_barrier(g) == 0);
	for (uint32_t c = 0; c < GROUP_CHANNELS; c++)
		HOLDS(take_letters(g, c, got[c]) == 0);
	HOLDS(group_post(g, g->size, 0, sent, 8) == -EINVAL);
	HOLDS(group_post(g, 0, GROUP_CHANNELS, sent, 8) == -EINVAL);
	return 0;
}

static void letters(void)
{
	run_all(posts);
}

/* A channel that is full does not stop the other one, and takes more when there is room. */
static void full_channel(void)
{
	struct letter l = {0, 0, 1};
	uint64_t got[1] = {0};
	struct err err = {0};
	struct group *g;
	int posted = 0;

	CU_ASSERT_EQUAL_FATAL(group_alone(&g, &err), 0);
	for (; group_post(g, 0, 1, &l, sizeof(l)) == 0; l.number++)
		posted++;
	CU_ASSERT(posted > 0);
	CU_ASSERT_EQUAL(group_post(g, 0, 1, &l, sizeof(l)), -EAGAIN);
	l = (struct letter){0, 0, 0};
	CU_ASSERT_EQUAL(group_post(g, 0, 0, &l, sizeof(l)), 0);
	CU_ASSERT_EQUAL(take_letters(g, 1, got), posted);
	l = (struct letter){0, got[0], 1};
	CU_ASSERT_EQUAL(group_post(g, 0, 1, &l, sizeof(l)), 0);
	CU_ASSERT_EQUAL(take_letters(g, 1, got), 1);
	got[0] = 0;
	CU_ASSERT_EQUAL(take_letters(g, 0, got), 1);
	group_free(g);
}

static int splits(struct group *g, void *argument)
{
	struct group *third, *again, *twin;
	struct err err = {0};
	uint64_t word;

	(void)argument;
	for (int round = 0; round < 5; round++) {
		HOLDS(group_split(g, g->rank % 3 + 10, &third, &err) == 0);
		HOLDS(third->size == (g->size - g->rank % 3 + 2) / 3);
		HOLDS(third->rank == g->rank / 3);
		word = g->rank % 3;
		HOLDS(group_allreduce(third, MERGE_SUM, &word, 1) == 0);
		HOLDS(word == (uint64_t)third->size * (g->rank % 3));

		HOLDS(group_split(third, third->rank / 2, &again, &err) == 0);
		HOLDS(again->size <= 2 && again->rank == third->rank % 2);
		group_free(third); /* a group outlives the group it was split from */
		HOLDS(group_barrier(again) == 0);
		group_free(again);

		/* Status rounds of a group and of its duplicate do not mix. */
		HOLDS(group_duplicate(g, &twin, &err) == 0);
		HOLDS(twin->rank == g->rank && twin->size == g->size);
		word = 1;
		HOLDS(group_allreduce(twin, MERGE_SUM, &word, 1) == 0);
		HOLDS(word == g->size);
		if (round < 4)
			group_free(twin); /* the last one is left for thread_group_run to free */
	}
	return 0;
}

static void split_and_duplicate(void)
{
	run_all(splits);
}

static int shares(struct group *g, void *argument)
{
	_Atomic uint64_t *block;
	struct err err = {0};
	void *first, *second;

	(void)argument;
	HOLDS(group_shared(g, 4096 * sizeof(*block), &first, &err) == 0);
	HOLDS(group_shared(g, 8, &second, &err) == 0);
	HOLDS(first != second);
	block = first;
	HOLDS(atomic_load(&block[4095]) == 0);
	HOLDS(group_barrier(g) == 0);
	atomic_fetch_add(&block[4095], g->rank + 1);
	HOLDS(group_barrier(g) == 0);
	HOLDS(atomic_load(&block[4095]) == (uint64_t)g->size * (g->size + 1) / 2);
	HOLDS(group_shared(g, (size_t)1 << 60, &first, &err) == -ENOMEM);
	HOLDS(strlen(err.text) > 10);
	return 0;
}

static void shared_blocks(void)
{
	run_all(shares);
}

/* Ranks do different numbers of steps without a collective, and all end after the same round. */
static int rolls(struct group *g, void *argument)
{
	uint64_t steps = 1 + random_at(3, 0, g->rank) % 200, done = 0, status_rounds = 0, most = 0,
		 word;
	struct status mine = {0}, merged = {0};

	(void)argument;
	for (uint32_t r = 0; r < g->size; r++)
		most = 1 + random_at(3, 0, r) % 200 > most ? 1 + random_at(3, 0, r) % 200 : most;
	mine.unfinished = 1;
	group_status_post(g, &mine);
	for (;;) {
		if (done < steps)
			done++;
		if (!group_status_test(g, &merged)) {
			struct timespec nap = {.tv_nsec = 20000};

			nanosleep(&nap, NULL);
			continue;
		}
		status_rounds++;
		HOLDS(merged.stop == STOP_NONE);
		if (!merged.unfinished)
			break;
		mine.unfinished = done < steps;
		mine.step = done;
		mine.merge = STATUS_MERGE(2, MERGE_SUM);
		mine.word[2] = done * 10;
		mine.waiting = 1;
		group_status_post(g, &mine);
	}
	HOLDS(merged.step == most);       /* a maximum */
	HOLDS(merged.waiting == g->size); /* a sum */
	word = status_rounds;
	HOLDS(group_allreduce(g, MERGE_MAX, &word, 1) == 0 && word == status_rounds);
	word = steps * 10;
	HOLDS(group_allreduce(g, MERGE_SUM, &word, 1) == 0 && word == merged.word[2]);
	return 0;
}

static void status_rounds(void)
{
	run_all(rolls);
}

static int waits_for_status(struct group *g, void *argument)
{
	(void)argument;
	for (uint64_t step = 0; step < 30; step++) {
		struct status mine = {.stop = g->rank == g->size - 1 && step == 29 ? STOP_SIGNAL
										   : 0,
				      .step = step + g->rank,
				      .merge = STATUS_MERGE(3, MERGE_SUM) |
					       STATUS_MERGE(1, MERGE_MIN),
				      .word = {0, 7 + g->rank, 0, 5}},
			      merged;

		HOLDS(group_status(g, &mine, &merged) == 0);
		HOLDS(merged.stop == (step == 29 ? STOP_SIGNAL : STOP_NONE));
		HOLDS(merged.step == step + g->size - 1);
		HOLDS(merged.word[3] == 5 * (uint64_t)g->size && merged.word[1] == 7);
	}
	return 0;
}

static void status_as_barrier(void)
{
	run_all(waits_for_status);
}

static int agrees(struct group *g, void *argument)
{
	struct err err = {0};
	uint32_t guilty = g->size > 2 ? 2 : g->size - 1;
	char expected[64];

	(void)argument;
	HOLDS(group_agree(g, 0, &err) == 0 && err.code == 0 && err.text[0] == '\0');

	/* Two ranks fail, each with its own sentence. The sentence of the lower rank is
	 * returned. */
	if (g->rank >= guilty && g->rank < guilty + 2)
		err_set(&err, g->rank == guilty ? -ENOSPC : -EIO, "disk %u is full", g->rank);
	HOLDS(group_agree(g, err.code, &err) == -ENOSPC);
	snprintf(expected, sizeof(expected), "rank %u: disk %u is full", guilty, guilty);
	HOLDS(err.code == -ENOSPC);
	HOLDS(strcmp(err.text, expected + (g->rank == guilty ? strlen("rank 0: ") : 0)) == 0);

	/* All ranks fail with the same sentence, so it names no rank. */
	memset(&err, 0, sizeof(err));
	err_set(&err, -EINVAL, "no such key");
	HOLDS(group_agree(g, -EINVAL, &err) == -EINVAL);
	HOLDS(strcmp(err.text, "no such key") == 0);

	/* A failure without a struct err has the errno's sentence. */
	memset(&err, 0, sizeof(err));
	HOLDS(group_agree(g, g->rank == 0 ? -EACCES : 0, g->rank == 0 ? NULL : &err) == -EACCES);
	HOLDS(g->rank == 0 || strcmp(err.text, "rank 0: Permission denied") == 0);
	return 0;
}

static void agree_on_an_error(void)
{
	run_all(agrees);
}

/* Rank 1 returns after two barriers. The others learn it in every kind of wait. */
static int leaves_early(struct group *g, void *argument)
{
	struct status mine = {.unfinished = 1}, merged;
	struct group *twin;
	struct err err = {0};
	uint64_t word = 5;

	(void)argument;
	HOLDS(group_duplicate(g, &twin, &err) == 0);
	HOLDS(group_barrier(g) == 0);
	HOLDS(group_barrier(twin) == 0);
	if (g->rank == 1) {
		HOLDS(group_send(g, 0, &word, sizeof(word)) == 0);
		return -ECANCELED;
	}
	if (g->rank == 0) {
		word = 0;
		HOLDS(group_receive(g, 1, &word, sizeof(word)) == 0 && word == 5);
		HOLDS(group_receive(g, 1, &word, sizeof(word)) == -EPIPE);
		HOLDS(group_arrived(g, 1));
	}
	for (int i = 0; i < 3; i++)
		HOLDS(group_barrier(g) == -EPIPE);
	HOLDS(group_status(g, &mine, &merged) == 0 && merged.stop == STOP_ERROR);
	HOLDS(group_split(twin, 0, &twin, &err) == -EPIPE);
	HOLDS(group_agree(g, 0, &err) == -EPIPE);
	return 0;
}

static void early_return_stops_the_others(void)
{
	struct err err = {0};

	CU_ASSERT_EQUAL(thread_group_run(2, leaves_early, NULL, &err), -ECANCELED);
	CU_ASSERT_EQUAL(thread_group_run(16, leaves_early, NULL, &err), -ECANCELED);
}

/* A rank that has returned with success does not cut off messages between the others. */
static int passes_on(struct group *g, void *argument)
{
	uint32_t word = 0;

	(void)argument;
	if (g->rank == 2) {
		struct timespec nap = {.tv_nsec = 2000000};

		nanosleep(&nap, NULL);
		word = 9;
		return group_send(g, 0, &word, sizeof(word));
	}
	if (g->rank == 0)
		HOLDS(group_receive(g, 2, &word, sizeof(word)) == 0 && word == 9);
	return 0;
}

static void a_finished_rank_cuts_off_nobody(void)
{
	struct err err = {0};

	CU_ASSERT_EQUAL(thread_group_run(3, passes_on, NULL, &err), 0);
}

static int fails_by_rank(struct group *g, void *argument)
{
	(void)argument;
	return g->rank < 2 ? 0 : -(int)g->rank;
}

static void first_failure_by_rank_is_returned(void)
{
	struct err err = {0};

	CU_ASSERT_EQUAL(thread_group_run(8, fails_by_rank, NULL, &err), -2);
	CU_ASSERT_EQUAL(thread_group_run(0, fails_by_rank, NULL, &err), -EINVAL);
}

static void alone(void)
{
	struct group *g, *part;
	struct err err = {0};
	struct status mine = {.step = 3, .word = {4}}, merged;
	void *block;

	CU_ASSERT_EQUAL_FATAL(group_alone(&g, &err), 0);
	CU_ASSERT_EQUAL(g->rank, 0);
	CU_ASSERT_EQUAL(g->size, 1);
	CU_ASSERT_PTR_NULL(g->node_blocks);
	CU_ASSERT_EQUAL(reduces(g, NULL), 0);
	CU_ASSERT_EQUAL(moves_records(g, NULL), 0);
	CU_ASSERT_EQUAL(sends(g, NULL), 0);
	CU_ASSERT_EQUAL(group_status(g, &mine, &merged), 0);
	CU_ASSERT_EQUAL(memcmp(&mine, &merged, sizeof(mine)), 0);
	CU_ASSERT_EQUAL(group_shared(g, 100, &block, &err), 0);
	g->node_blocks = &mine;
	CU_ASSERT_EQUAL(group_split(g, 4, &part, &err), 0);
	CU_ASSERT_PTR_EQUAL(part->node_blocks, &mine);
	group_free(g);
	CU_ASSERT_EQUAL(group_barrier(part), 0);
	group_free(part);
	group_free(NULL);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"all-reduce and reduce", allreduce_and_reduce},
		{"the same word", same_words},
		{"gather, scatter, broadcast", gather_scatter_broadcast},
		{"barrier", barrier},
		{"send and receive", send_and_receive},
		{"letters", letters},
		{"a channel that is full", full_channel},
		{"split and duplicate", split_and_duplicate},
		{"shared blocks", shared_blocks},
		{"status rounds end together", status_rounds},
		{"a status round as a barrier", status_as_barrier},
		{"agree on an error", agree_on_an_error},
		{"an early return stops the others", early_return_stops_the_others},
		{"a finished rank cuts off nobody", a_finished_rank_cuts_off_nobody},
		{"the first failure by rank is returned", first_failure_by_rank_is_returned},
		{"alone", alone},
		CU_TEST_INFO_NULL,
	};

	return unit_main("group", tests);
}
