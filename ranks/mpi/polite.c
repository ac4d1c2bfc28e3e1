/* SPDX-License-Identifier: Apache-2.0 */
/* Polite progress: see polite.h. */
#include "ranks/mpi/polite.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock_wait.h"

/* A wait that is over after a few polls costs no system call. Then the core is offered to others;
 * then the rank sleeps, since a yield alone lets ranks without work go round among themselves. A
 * rank with a core of its own spins for about 0.1 ms first, and sleeps only after 10 ms of yields:
 * somebody else may use that core. */
enum { SPIN_POLLS = 20, YIELD_POLLS = 40, POLITE_SLEEP_NS = 200000 };
enum { ALONE_SPIN_POLLS = 1000, ALONE_YIELD_POLLS = 20000 };

typedef unsigned progress_function(void *worker);

/* UCX's function, which the one in this file replaces and calls. */
unsigned ucp_worker_progress(void *worker);

struct polite_state {
	progress_function *next;
	unsigned idle; /* polls in turn that found nothing */
	bool known;    /* crowded is set or guessed */
	bool crowded;
};

/* UCX calls without an argument of ours, so its replacement can find its state only here. */
static struct polite_state state;

unsigned ucp_worker_progress(void *worker)
{
	unsigned events;

	if (!state.next) {
		*(void **)&state.next = dlsym(RTLD_NEXT, "ucp_worker_progress");
		if (!state.next)
			abort(); /* somebody calls UCX without having loaded it */
	}
	if (!state.known)
		polite_set_crowded(polite_guess());
	events = state.next(worker);
	state.idle = events ? 0 : state.idle + 1;
	if (state.idle > (state.crowded ? YIELD_POLLS : ALONE_YIELD_POLLS))
		clock_nap(POLITE_SLEEP_NS);
	else if (state.idle > (state.crowded ? SPIN_POLLS : ALONE_SPIN_POLLS))
		sched_yield();
	return events;
}

/* Ranks that the launcher starts on this node; 0: it does not say. */
static unsigned long launched_here(void)
{
	static const char *const names[] = {
		"MPI_LOCALNRANKS",           /* Hydra */
		"PALS_LOCAL_SIZE",           /* PALS */
		"SLURM_STEP_TASKS_PER_NODE", /* "4" or "4(x2)": of the first node, which is as full as any */
		"OMPI_COMM_WORLD_LOCAL_SIZE", /* Open MPI and its kin */
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = getenv(names[i]);

		if (text)
			return strtoul(text, NULL, 10);
	}
	return 0;
}

/* The launcher binds a rank after it has forked it, so its own mask has all processors of the job
 * on this node. */
static unsigned long processors_here(void)
{
	cpu_set_t mine, launcher;

	CPU_ZERO(&mine);
	CPU_ZERO(&launcher);
	sched_getaffinity(0, sizeof(mine), &mine);
	sched_getaffinity(getppid(), sizeof(launcher), &launcher);
	CPU_OR(&mine, &mine, &launcher);
	return (unsigned long)CPU_COUNT(&mine);
}

bool polite_guess(void)
{
	return launched_here() > processors_here();
}

void polite_set_crowded(bool crowded)
{
	state.known = true;
	state.crowded = crowded;
	state.idle = 0;
}

void polite_own_poll(void)
{
	state.idle = 0;
}

bool polite_interposed(void)
{
	/* The first is what MPI calls; the next, whether UCX is there at all. */
	return dlsym(RTLD_DEFAULT, "ucp_worker_progress") == (void *)ucp_worker_progress &&
	       dlsym(RTLD_NEXT, "ucp_worker_progress");
}
