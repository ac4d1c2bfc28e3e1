/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the messages between the first ranks of nodes, each rank as such a one: rounds give the
 * same on all, and a message comes with a ring that ends a nap. Run by mpiexec with two ranks or
 * more. The sum of all failures decides the exit status of every rank. */
#include <mpi.h>
#include <stdio.h>

#include "ranks/mpi/group.h"
#include "ranks/mpi/leader_link.h"

enum { ROUNDS = 20, NAP_NS = 10000000 };

static uint64_t failed;

static void expect(int holds, const char *what)
{
	if (holds)
		return;
	failed++;
	fprintf(stderr, "does not hold: %s\n", what);
}

/* Returns how many naps a ring has ended. */
static uint64_t round_run(struct leader_link *l, struct status_tree *t, struct group *g,
			  uint64_t round, const struct wait_nap *nap)
{
	const struct status mine = {.step = round, .waiting = 1};
	struct status merged;
	uint64_t rung = 0;

	status_tree_post(t, &mine);
	while (!status_tree_poll(t, &merged)) {
		leader_link_ring(l);
		rung += leader_link_nap(l, nap);
	}
	leader_link_ring(l);
	expect(merged.step == round && merged.waiting == g->size, "the round is merged");
	return rung;
}

static void test_rounds(struct group *g)
{
	const struct wait_nap listens = {.ns = NAP_NS, .listens = true}, deaf = {.ns = 1000};
	struct leader_link *l;
	struct status_tree tree;
	struct err err = {0};
	uint64_t rung = 0, rung_deaf = 0;

	expect(leader_link_open(&l, g, mpi_group_comm(g), &err) == 0, "open");
	status_tree_init(&tree, leader_link_tree(l), g->rank, g->size);
	for (uint64_t round = 1; round <= ROUNDS; round++)
		rung += round_run(l, &tree, g, round, &listens);
	for (uint64_t round = 1; round <= ROUNDS; round++)
		rung_deaf += round_run(l, &tree, g, round, &deaf);
	group_allreduce(g, MERGE_SUM, &rung, 1);
	expect(rung > 0, "a ring ends a nap");
	expect(rung_deaf == 0, "a nap without listening is ended by nobody");
	leader_link_close(l);
}

int main(int argc, char **argv)
{
	struct group *world;
	struct err err = {0};
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	expect(mpi_group_world(&world, &err) == 0, "world");
	test_rounds(world);
	group_allreduce(world, MERGE_SUM, &failed, 1);
	group_free(world);
	MPI_Finalize();
	return failed ? 1 : 0;
}
