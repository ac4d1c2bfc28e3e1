/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of polite progress: a blocking call of MPI sleeps where the node is crowded, and a poll of
 * haul's own never does. Run by mpiexec on two ranks. */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "ranks/mpi/polite.h"
#include "ranks/mpi/wait.h"

enum { LATE_MS = 300, POLLS = 5000 };

static int failed;

static void expect(int holds, const char *what, long found)
{
	if (holds)
		return;
	failed++;
	fprintf(stderr, "does not hold: %s (%ld)\n", what, found);
}

/* Sleeps of this process so far. */
static long sleeps(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return use.ru_nvcsw;
}

static long processor_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static long passed_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Rank 1 comes late to a barrier; what rank 0 did meanwhile. */
static void wait_for_late_rank(int rank, long *slept, long *used_ms, long *waited_ms)
{
	const struct timespec late = {.tv_nsec = LATE_MS * 1000000L};

	MPI_Barrier(MPI_COMM_WORLD);
	*slept = -sleeps();
	*used_ms = -processor_ms();
	*waited_ms = -passed_ms();
	if (rank)
		nanosleep(&late, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	*slept += sleeps();
	*used_ms += processor_ms();
	*waited_ms += passed_ms();
}

static void test_crowded(int rank)
{
	long slept = 0, used_ms = 0, waited_ms = 0;

	polite_set_crowded(true);
	/* On a busy machine rank 0 may get no core until rank 1 has come: then it had nothing to wait for. */
	for (int tries = 0; tries < 20 && slept <= 10; tries++) {
		wait_for_late_rank(rank, &slept, &used_ms, &waited_ms);
		MPI_Bcast(&slept, 1, MPI_LONG, 0, MPI_COMM_WORLD);
	}
	if (rank)
		return;
	/* 300 ms are some 1,000 sleeps on an idle machine, and fewer on a busy one. */
	expect(slept > 10, "a crowded rank sleeps in a barrier", slept);
	expect(used_ms < waited_ms / 2, "it leaves its core to others", used_ms);
}

static void test_own_polls(void)
{
	long slept = -sleeps();

	polite_set_crowded(true);
	for (int i = 0; i < POLLS; i++)
		wait_probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, NULL);
	slept += sleeps();
	expect(slept < POLLS / 100, "a poll of haul's own does not sleep", slept);
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	expect(polite_interposed(), "MPICH over UCX calls the function of this program", 0);
	test_crowded(rank);
	test_own_polls();
	MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return failed != 0;
}
