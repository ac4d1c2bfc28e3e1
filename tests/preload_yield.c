/* Preloaded library for tests with more ranks than cores: under MPICH (ch4:ucx), a wait that finds
 * nothing gives its core to another rank. MPICH's own waits only spin, so every wait of a rank
 * costs a time slice for each other rank. With this library, 16 ranks on 2 cores start and end 20
 * times faster.
 *
 * It is never used for measurements, because it changes what an idle rank does. */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { SPIN_POLLS = 20, YIELD_POLLS = 40, SLEEP_NS = 200000 };

/* UCX's function, which this one replaces and calls. */
unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
	static unsigned (*next)(void *);
	static _Thread_local unsigned idle;
	unsigned events;

	if (!next) {
		next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
		if (!next)
			abort();
	}
	events = next(worker);
	if (events) {
		idle = 0;
		return events;
	}
	if (++idle > YIELD_POLLS) {
		const struct timespec pause = {.tv_nsec = SLEEP_NS};

		nanosleep(&pause, NULL);
	} else if (idle > SPIN_POLLS) {
		sched_yield();
	}
	return 0;
}
