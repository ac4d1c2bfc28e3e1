/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of groups on MPI: they keep the contract of groups with any number of ranks. Run by
 * mpiexec. Each rank checks for itself, and the sum of all failures decides the exit status of
 * every rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "ranks/mpi/group.h"
#include "ranks/node/nodes.h"

static uint64_t failed;

static void expect(int holds, const char *what)
{
	if (holds)
		return;
	failed++;
	fprintf(stderr, "does not hold: %s\n", what);
}

static void test_reductions(struct group *g)
{
	uint64_t n = g->size, words[3] = {g->rank, 1, g->rank * 7};

	group_allreduce(g, MERGE_SUM, words, 2);
	expect(words[0] == n * (n - 1) / 2 && words[1] == n, "allreduce sum");
	words[0] = g->rank;
	group_allreduce(g, MERGE_MIN, words, 1);
	expect(words[0] == 0, "allreduce min");
	words[0] = g->rank;
	group_reduce(g, MERGE_MAX, words, 1);
	expect(g->rank || words[0] == n - 1, "reduce max");
	/* MPICH's own MPI_MAX would compare these as negative numbers. */
	words[0] = words[1] = g->rank ? g->rank : UINT64_MAX;
	group_allreduce(g, MERGE_MAX, words, 1);
	group_allreduce(g, MERGE_MIN, words + 1, 1);
	expect(words[0] == UINT64_MAX && (n == 1 || words[1] == 1), "words above 2^63");
}

static void test_records(struct group *g)
{
	struct {
		uint64_t rank, square;
	} mine = {g->rank, (uint64_t)g->rank * g->rank}, *all = NULL, back = {0, 0};
	char text[1000];

	if (g->rank == 0)
		all = calloc(g->size, sizeof(*all));
	group_gather(g, &mine, sizeof(mine), all);
	for (uint32_t i = 0; g->rank == 0 && i < g->size; i++)
		expect(all[i].rank == i && all[i].square == (uint64_t)i * i, "gather");
	group_scatter(g, all, sizeof(back), &back);
	expect(back.rank == mine.rank && back.square == mine.square, "scatter");
	free(all);
	memset(text, g->rank ? 0 : 'x', sizeof(text));
	group_broadcast(g, text, sizeof(text));
	expect(text[0] == 'x' && text[999] == 'x', "broadcast");
}

/* Odd ranks send to the next rank, which looks for the message before it receives it. */
static void test_messages(struct group *g)
{
	uint32_t before = (g->rank + g->size - 1) % g->size, word = g->rank;

	if (g->size == 1)
		return;
	expect(!group_arrived(g, before), "no message before the send");
	group_barrier(g);
	if (g->rank % 2)
		group_send(g, (g->rank + 1) % g->size, &word, sizeof(word));
	if (before % 2) {
		while (!group_arrived(g, before))
			usleep(100);
		expect(group_receive(g, before, &word, sizeof(word)) == 0 && word == before,
		       "message");
	}
	expect(!group_arrived(g, before), "no message after the receive");
}

/* Each rank posts so many letters to each of the next three ranks on both channels, while it takes
 * what comes. */
static void test_letters(struct group *g)
{
	enum { EACH = 100, NEXT = 3 };
	uint64_t letter[24] = {0}, sent[GROUP_CHANNELS] = {0}, *got, wrong = 0, awaited;
	uint32_t from, next = g->size > NEXT ? NEXT : g->size;

	got = calloc((size_t)g->size * GROUP_CHANNELS, sizeof(*got));
	awaited = (uint64_t)EACH * next * GROUP_CHANNELS;
	while (awaited || sent[0] < EACH * next || sent[1] < EACH * next) {
		for (uint32_t c = 0; c < GROUP_CHANNELS; c++) {
			uint32_t to = (g->rank + 1 + (uint32_t)(sent[c] % next)) % g->size;

			letter[0] = sent[c] / next;
			letter[1] = c;
			letter[23] = g->rank;
			if (sent[c] < EACH * next &&
			    group_post(g, to, c, letter, sizeof(letter)) == 0)
				sent[c]++;
			while (group_take(g, c, &from, letter, sizeof(letter)) > 0) {
				wrong += letter[0] != got[from * GROUP_CHANNELS + c]++;
				wrong += letter[1] != c || letter[23] != from;
				awaited--;
			}
		}
		usleep(10);
	}
	expect(wrong == 0, "letters of a rank come in order");
	group_barrier(g);
	expect(group_take(g, 0, &from, letter, sizeof(letter)) == 0, "no letter is left");
	expect(group_post(g, g->size, 0, letter, 8) < 0, "no letter to a rank that is not there");
	free(got);
}

static void test_split(struct group *g)
{
	struct err err = {0};
	struct group *third, *copy;
	uint64_t one = 1, *block;
	void *memory;

	expect(group_split(g, g->rank % 3, &third, &err) == 0, "split");
	group_allreduce(third, MERGE_SUM, &one, 1);
	expect(one == third->size && third->size == (g->size + 2 - g->rank % 3) / 3,
	       "size of a third");
	expect(group_shared(third, 4096, &memory, &err) == 0, "shared block");
	block = memory;
	__atomic_fetch_add(block, 1, __ATOMIC_SEQ_CST);
	group_barrier(third);
	expect(__atomic_load_n(block, __ATOMIC_SEQ_CST) == third->size, "all ranks see one block");
	group_barrier(third);
	group_free(third);
	expect(group_duplicate(g, &copy, &err) == 0, "duplicate");
	expect(copy->rank == g->rank && copy->size == g->size, "duplicate keeps ranks");
	group_free(copy);
}

/* In each round, the words of all ranks of this round reach all ranks. */
static void test_status(struct group *g)
{
	enum { STEPS = 50 };
	uint64_t n = g->size;

	for (uint64_t step = 0; step < STEPS; step++) {
		struct status mine = {.stop = g->rank == n / 2 && step == STEPS - 1,
				      .step = g->rank + step,
				      .merge = STATUS_MERGE(0, MERGE_MAX) |
					       STATUS_MERGE(1, MERGE_SUM),
				      .word = {UINT64_MAX - step, 10 * step}},
			      all;

		expect(group_status(g, &mine, &all) == 0, "status");
		expect(all.stop == (step == STEPS - 1) && all.step == n - 1 + step &&
			       all.word[0] == UINT64_MAX - step && all.word[1] == 10 * step * n,
		       "merged words");
	}
}

/* Ranks that poll at different rates, some of them rarely, all end after the same round. */
static void test_rolling(struct group *g)
{
	uint64_t steps = 1 + g->rank % 5, done = 0, status_rounds = 0, words[2];
	struct status mine = {.unfinished = 1}, all = {0};

	for (group_status_post(g, &mine);; group_status_post(g, &mine)) {
		while (!group_status_test(g, &all))
			usleep(g->rank % 2 ? 100 : 1500);
		status_rounds++;
		if (!all.unfinished)
			break;
		done += done < steps;
		mine = (struct status){.unfinished = done < steps, .step = done, .waiting = 1};
	}
	expect(all.waiting == g->size && all.step == (g->size < 5 ? g->size : 5),
	       "the words of the last round");
	words[0] = status_rounds;
	words[1] = ~status_rounds;
	group_allreduce(g, MERGE_MAX, words, 2);
	expect(words[0] == status_rounds && words[1] == ~status_rounds,
	       "the same number of rounds");
}

static void test_agree(struct group *g)
{
	struct err err = {0};
	int rc = 0;

	expect(group_agree(g, 0, &err) == 0, "nobody has an error");
	if (g->rank == g->size - 1)
		rc = err_set(&err, -5, "the disk is gone");
	rc = group_agree(g, rc, &err);
	expect(rc == -5 && strstr(err.text, "the disk is gone"),
	       "all ranks return one rank's error");
}

/* Rank 0 waits for the last one, and logs in which call. The last one comes only then. */
static void test_slow_waits(struct group *g)
{
	const uint64_t slow_ns = 150000000;
	char text[512] = "", name[] = "/tmp/test_mpi_group.XXXXXX";
	struct log log = {.fd = -1};
	struct stat st = {.st_size = 0};
	ssize_t n;

	if (g->size == 1)
		return;
	if (g->rank == 0) {
		log_init(&log, mkstemp(name), LOG_INFO, 0, g->size);
		mpi_group_set_log(g, &log, slow_ns);
	}
	group_broadcast(g, name, sizeof(name));
	group_barrier(g);
	for (int looks = 0; g->rank == g->size - 1 && !st.st_size && looks < 120000; looks++) {
		usleep(1000);
		stat(name, &st);
	}
	group_barrier(g);
	if (g->rank)
		return;
	unlink(name);
	mpi_group_set_log(g, NULL, 0);
	n = pread(log.fd, text, sizeof(text) - 1, 0);
	close(log.fd);
	expect(n > 0 && strstr(text, "still waiting for other ranks") &&
		       strstr(text, "s in an all-reduce"),
	       "a slow wait logs its name");
}

static void test_nodes(struct group *g)
{
	uint32_t fake = g->size < 3 ? g->size : 3;
	struct nodes nodes;
	struct err err = {0};
	uint64_t least = UINT64_MAX;

	expect(nodes_find(&nodes, g, fake, &err) == 0, "nodes");
	expect(nodes.count == fake && nodes.index < fake, "the requested number of nodes");
	least = nodes.node->size;
	group_allreduce(g, MERGE_MIN, &least, 1);
	expect(least >= g->size / fake, "nodes of equal size");
	expect(nodes_align(&nodes, &err) == 0, "alignment");
	/* All nodes are this machine, so their clocks are the same. */
	expect(llabs(nodes.offset_ns) < 50000000, "the offset of the clock");
	expect(nodes.index == 0 ? nodes.offset_ns == 0 : nodes.error_ns > 0,
	       "the error of the alignment");
	nodes_free(&nodes);
}

/* Between two rounds, one rank has a reason to stop. All ranks learn it while they do something
 * else. */
static void test_stop(struct group *g)
{
	uint64_t heard = 0;

	group_barrier(g);
	expect(group_stop_heard(g) == 0, "no reason to stop yet");
	group_barrier(g);
	if (g->rank == g->size - 1)
		group_stop_tell(g, 3);
	for (int looks = 0; looks < 20000 && heard < 3; looks++) {
		heard = group_stop_heard(g);
		usleep(1000);
	}
	expect(heard == 3, "a reason to stop reaches all ranks");
	/* A smaller reason changes nothing. */
	group_stop_tell(g, 2);
	expect(group_stop_heard(g) == 3, "the largest reason counts");
}

/* The time at which the last rank arrived, on each rank's own clock. */
static void test_last_arrival(struct group *g)
{
	struct status mine = {0}, all;
	uint64_t before_ns;

	group_barrier(g);
	if (g->rank == g->size - 1)
		usleep(20000);
	before_ns = clock_kernel_ns();
	mine.arrived_ns = before_ns;
	group_status(g, &mine, &all);
	/* All ranks are on one machine, so their clocks differ only by the error of the
	 * alignment, which is larger where other work has the cores. */
	expect(all.arrived_ns + 10000000 >= before_ns, "no last arrival before this rank's");
	expect(all.arrived_ns <= clock_kernel_ns() + 10000000, "the last arrival is in the past");
}

/* Status rounds in which the ranks of a node meet first. This machine is one node, or is divided
 * into several. */
static void test_node_status(struct group *g, uint32_t fake)
{
	struct group *copy;
	struct nodes nodes;
	struct err err = {0};

	expect(nodes_find(&nodes, g, fake, &err) == 0, "nodes");
	expect(nodes_align(&nodes, &err) == 0, "alignment");
	/* Three groups after each other, as phases use them. */
	for (int i = 0; i < 3; i++) {
		expect(group_duplicate(g, &copy, &err) == 0, "duplicate");
		mpi_group_set_node_status(copy, &nodes.node_status);
		test_status(copy);
		test_rolling(copy);
		test_last_arrival(copy);
		if (i == 2)
			test_stop(copy);
		group_free(copy);
	}
	nodes_free(&nodes);
}

int main(int argc, char **argv)
{
	struct group *world;
	struct err err = {0};
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	if (mpi_group_world(&world, &err) < 0)
		return 1;
	test_reductions(world);
	test_records(world);
	test_messages(world);
	test_letters(world);
	test_split(world);
	test_status(world);
	test_rolling(world);
	test_agree(world);
	test_nodes(world);
	test_node_status(world, 0);
	test_node_status(world, 2);
	test_node_status(world, 3);
	test_slow_waits(world);
	group_allreduce(world, MERGE_SUM, &failed, 1);
	group_free(world);
	MPI_Finalize();
	return failed ? 1 : 0;
}
