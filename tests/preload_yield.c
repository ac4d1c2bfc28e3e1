/* For tests with more ranks than cores: preloaded under MPICH (ch4:ucx), it makes a wait that finds
 * nothing give its core away. MPICH's own waits only spin, so that every wait of a rank costs a time
 * slice for each other one: with this, 16 ranks on 2 cores start and end 20 times sooner.
 *
 * Never used to measure anything: it changes what an idle rank does. */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { SPIN_POLLS = 20, YIELD_POLLS = 40, SLEEP_NS = 200000 };

/* UCX's symbol, interposed. */
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
