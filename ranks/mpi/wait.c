/* SPDX-License-Identifier: Apache-2.0 */
/* Polite wait: see wait.h. */
#include "ranks/mpi/wait.h"

#include <sched.h>

#include "core/clock.h"
#include "core/clock_wait.h"
#include "core/numbers.h"
#include "ranks/mpi/polite.h"

enum {
	WAIT_YIELDS = 20,
	WAIT_YIELD_NS = 200000,
	WAIT_SLEEP_MIN_NS = 20000,
	WAIT_SLEEP_MAX_NS = 1000000,
	WAIT_SLEEP_SHARE = 8
};

void wait_say_slow(struct waiting *how, const char *what, struct waiting_slow *slow,
		   uint64_t now_ns)
{
	if (!how->log || slow->named)
		return;
	if (!slow->since_ns)
		slow->since_ns = now_ns;
	if (now_ns - slow->since_ns < how->say_after_ns)
		return;
	log_say(how->log, LOG_INFO, "still waiting for other ranks, %.3g s in %s",
		(double)(now_ns - slow->since_ns) / 1e9, what);
	slow->named = true;
	how->say_after_ns *= 2;
}

/* A collective goes in rounds, and in each of them every rank waits for one that may be asleep. So
 * sleeps grow with the wait, slowly: a rank that has to wait long looks seldom, and one round adds
 * an eighth to the next. */
static uint64_t wait_pause_ns(uint64_t waited_ns)
{
	uint64_t ns = waited_ns / WAIT_SLEEP_SHARE;

	return max_u64(WAIT_SLEEP_MIN_NS, min_u64(ns, WAIT_SLEEP_MAX_NS));
}

void wait_until(bool (*done)(void *argument), void *argument, struct waiting *how, const char *what)
{
	struct waiting_slow slow = {0};
	uint64_t since_ns = 0;
	unsigned tests = 0;

	while (!done(argument)) {
		uint64_t now_ns;

		wait_beat(how);
		if (++tests <= WAIT_YIELDS) {
			sched_yield();
			continue;
		}
		/* The clock is read only once a wait is long. */
		now_ns = clock_kernel_ns();
		since_ns = since_ns ? since_ns : now_ns;
		if (!how->patient && now_ns < since_ns + WAIT_YIELD_NS) {
			sched_yield();
			continue;
		}
		wait_say_slow(how, what, &slow, now_ns);
		clock_nap(wait_pause_ns(now_ns - since_ns));
	}
}

bool wait_test(MPI_Request *request)
{
	int done;

	polite_own_poll();
	MPI_Test(request, &done, MPI_STATUS_IGNORE);
	return done;
}

bool wait_probe(int source, int tag, MPI_Comm comm, MPI_Status *from)
{
	int there;

	polite_own_poll();
	MPI_Iprobe(source, tag, comm, &there, from ? from : MPI_STATUS_IGNORE);
	return there;
}

static bool request_done(void *request)
{
	return wait_test(request);
}

void wait_for(MPI_Request *request, struct waiting *how, const char *what)
{
	wait_until(request_done, request, how, what);
}
