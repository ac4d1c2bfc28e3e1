#include "ranks/mpi/wait.h"

#include <sched.h>
#include <time.h>

#include "core/clock.h"

enum {
	WAIT_YIELDS = 20,
	WAIT_YIELD_NS = 200000,
	WAIT_SLEEP_MIN_NS = 20000,
	WAIT_SLEEP_MAX_NS = 1000000
};

/* The clock is read only where a wait has come to sleep. */
static void say_slow(struct waiting *how, const char *what, uint64_t *since, bool *message)
{
	uint64_t now;

	if (!how->log || *message)
		return;
	now = clock_kernel_ns();
	if (!*since)
		*since = now;
	if (now - *since < how->say_after_ns)
		return;
	log_say(how->log, LOG_INFO, "still waiting for other ranks, %.3g s in %s",
		(double)(now - *since) / 1e9, what);
	*message = true;
	how->say_after_ns *= 2;
}

void wait_until(bool (*done)(void *argument), void *argument, struct waiting *how, const char *what)
{
	struct timespec pause = {0, WAIT_SLEEP_MIN_NS};
	uint64_t yield_until = 0, since = 0;
	bool message = false;
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
		say_slow(how, what, &since, &message);
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < WAIT_SLEEP_MAX_NS)
			pause.tv_nsec += pause.tv_nsec / 2;
	}
}

static bool request_done(void *request)
{
	int done;

	MPI_Test(request, &done, MPI_STATUS_IGNORE);
	return done;
}

void wait_for(MPI_Request *request, struct waiting *how, const char *what)
{
	wait_until(request_done, request, how, what);
}
