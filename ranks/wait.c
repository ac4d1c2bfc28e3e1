#include "ranks/wait.h"

#include <sched.h>
#include <time.h>

#include "core/clock.h"

enum {
	WAIT_YIELDS = 20,
	WAIT_YIELD_NS = 200000,
	WAIT_SLEEP_MIN_NS = 20000,
	WAIT_SLEEP_MAX_NS = 1000000
};

void wait_for(MPI_Request *request, bool patient)
{
	struct timespec pause = {0, WAIT_SLEEP_MIN_NS};
	uint64_t yield_until = 0;
	unsigned tests = 0;
	int done = 0;

	for (;;) {
		MPI_Test(request, &done, MPI_STATUS_IGNORE);
		if (done)
			return;
		if (++tests <= WAIT_YIELDS) {
			sched_yield();
			continue;
		}
		if (!patient) {
			uint64_t now = clock_kernel_ns();

			if (!yield_until)
				yield_until = now + WAIT_YIELD_NS;
			if (now < yield_until) {
				sched_yield();
				continue;
			}
		}
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < WAIT_SLEEP_MAX_NS)
			pause.tv_nsec += pause.tv_nsec / 2;
	}
}
