/* Polite wait: see wait.h. */
#include "ranks/mpi/wait.h"

#include <sched.h>
#include <time.h>

#include "core/clock.h"
#include "ranks/mpi/polite.h"

enum {
	WAIT_YIELDS = 20,
	WAIT_YIELD_NS = 200000,
	WAIT_SLEEP_MIN_NS = 20000,
	WAIT_SLEEP_MAX_NS = 1000000
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

void wait_until(bool (*done)(void *argument), void *argument, struct waiting *how, const char *what)
{
	struct timespec pause = {0, WAIT_SLEEP_MIN_NS};
	struct waiting_slow slow = {0};
	uint64_t yield_until = 0;
	unsigned tests = 0;

	while (!done(argument)) {
		if (++tests <= WAIT_YIELDS) {
			sched_yield();
			continue;
		}
		if (!how->patient) {
			uint64_t now = clock_kernel_ns();

			if (!yield_until)
				yield_until = now + WAIT_YIELD_NS;
			if (now < yield_until) {
				sched_yield();
				continue;
			}
		}
		/* The clock is read only once a wait has begun to sleep. */
		wait_say_slow(how, what, &slow, clock_kernel_ns());
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < WAIT_SLEEP_MAX_NS)
			pause.tv_nsec += pause.tv_nsec / 2;
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
