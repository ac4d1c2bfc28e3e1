/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of waiting at the barrier of a step, as processor time of the ranks that wait. All ranks of a node that is not
 * crowded compute (they sleep), and one rank of the run comes late to each barrier.
 *
 *	mpiexec -n 2 bench_wait [NODES]
 *
 * treats this machine as NODES nodes (default 1), of which each leader waits for messages of the others. A row holds
 * compute and lateness of a step, and of the ranks that wait: the share of a core that a rank uses within the barrier
 * (mean of all, the greatest), the share that the whole process uses, and how long after the last arrival it leaves
 * (mean, and median of the steps). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/clock.h"
#include "ranks/mpi/group.h"
#include "ranks/node/nodes.h"

enum { ROW_NS = 2000000000, STEPS_MIN = 20, STEPS_MAX = 400 };

/* What a rank has measured. */
enum {
	COST_BARRIER_NS,
	COST_PROCESS_NS,
	COST_WALL_NS,
	COST_LEAVING_NS,
	COST_LEAVING_MEDIAN_NS,
	COST_RANKS,
	COSTS
};

struct load {
	uint64_t compute_ns, late_ns;
};

static uint64_t used_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void compute_until(uint64_t end_ns)
{
	struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u),
			       .tv_nsec = (long)(end_ns % 1000000000u)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* One row's steps. The last rank is the late one. */
static void steps_run(struct group *g, const struct load *load, uint64_t cost[COSTS])
{
	uint64_t steps = ROW_NS / (load->compute_ns + load->late_ns), begun_ns, process_ns;
	uint64_t leaving_ns[STEPS_MAX] = {0};
	bool late = g->rank == g->size - 1;

	steps = steps < STEPS_MIN ? STEPS_MIN : steps > STEPS_MAX ? STEPS_MAX : steps;
	group_barrier(g);
	begun_ns = clock_kernel_ns();
	process_ns = used_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (uint64_t i = 0; i < steps; i++) {
		struct status mine = {.step = i}, merged;
		uint64_t start_ns = clock_kernel_ns(), thread_ns;

		compute_until(start_ns + load->compute_ns + (late ? load->late_ns : 0));
		mine.arrived_ns = clock_kernel_ns();
		thread_ns = used_ns(CLOCK_THREAD_CPUTIME_ID);
		group_status(g, &mine, &merged);
		cost[COST_BARRIER_NS] += used_ns(CLOCK_THREAD_CPUTIME_ID) - thread_ns;
		start_ns = clock_kernel_ns();
		if (merged.arrived_ns && start_ns > merged.arrived_ns)
			leaving_ns[i] = start_ns - merged.arrived_ns;
		cost[COST_LEAVING_NS] += leaving_ns[i] / steps;
	}
	cost[COST_WALL_NS] = clock_kernel_ns() - begun_ns;
	cost[COST_PROCESS_NS] = used_ns(CLOCK_PROCESS_CPUTIME_ID) - process_ns;
	qsort(leaving_ns, steps, sizeof(leaving_ns[0]), compare_u64);
	cost[COST_LEAVING_MEDIAN_NS] = leaving_ns[steps / 2];
	cost[COST_RANKS] = 1;
}

static void row_print(struct group *g, const struct load *load)
{
	uint64_t cost[COSTS] = {0}, most;
	double wall;

	steps_run(g, load, cost);
	/* The late rank does not wait. */
	if (g->rank == g->size - 1 && g->size > 1)
		for (int i = 0; i < COSTS; i++)
			cost[i] = 0;
	most = cost[COST_BARRIER_NS];
	group_allreduce(g, MERGE_SUM, cost, COSTS);
	group_allreduce(g, MERGE_MAX, &most, 1);
	wall = (double)cost[COST_WALL_NS];
	if (g->rank == 0)
		printf("%8.1f ms %8.1f ms %9.2f %% %9.2f %% %9.2f %% %9.1f us %9.1f us\n",
		       (double)load->compute_ns / 1e6, (double)load->late_ns / 1e6,
		       100 * (double)cost[COST_BARRIER_NS] / wall,
		       100 * (double)most * (double)cost[COST_RANKS] / wall,
		       100 * (double)cost[COST_PROCESS_NS] / wall,
		       (double)cost[COST_LEAVING_NS] / (double)cost[COST_RANKS] / 1e3,
		       (double)cost[COST_LEAVING_MEDIAN_NS] / (double)cost[COST_RANKS] / 1e3);
	fflush(stdout);
}

static int table_print(struct group *world, uint32_t count, struct err *err)
{
	static const struct load loads[] = {
		{3500000, 0},        {3500000, 500000},   {3500000, 3500000},
		{20000000, 5000000}, {93254000, 5000000}, {93254000, 93254000},
	};
	struct nodes nodes;
	int rc = nodes_find(&nodes, world, count, err);

	if (rc == 0)
		rc = nodes_align(&nodes, err);
	if (rc < 0)
		return rc;
	mpi_group_set_patient(world, false);
	node_status_set_crowded(&nodes.node_status, false);
	mpi_group_set_node_status(world, &nodes.node_status);
	if (world->rank == 0)
		printf("%u ranks on %u nodes\n%11s %11s %11s %11s %11s %12s %12s\n", world->size,
		       nodes.count, "compute", "late by", "barrier", "greatest", "process",
		       "leaving", "median");
	for (unsigned i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		row_print(world, &loads[i]);
	mpi_group_set_node_status(world, NULL);
	nodes_free(&nodes);
	return 0;
}

int main(int argc, char **argv)
{
	struct group *world;
	struct err err = {0};
	int provided, rc;

	/* As haul does (ranks/run/run.c). */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	rc = mpi_group_world(&world, &err);
	if (rc == 0)
		rc = table_print(world, argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1, &err);
	if (rc < 0)
		fprintf(stderr, "bench_wait: %s\n", err.text);
	else
		group_free(world);
	MPI_Finalize();
	return rc < 0;
}
