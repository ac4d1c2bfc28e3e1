/* Preloaded library for tests with more ranks than cores: under MPICH (ch4:ucx), a wait that finds
 * nothing gives its core to another rank. MPICH's own waits only spin, so every wait of a rank
 * costs a time slice for each other rank. With this library, 16 ranks on 2 cores start and end 20
 * times faster.
 *
 * Waits for messages go through a function of UCX, which this library replaces. Within MPI_Init and
 * MPI_Finalize, the ranks of a node also wait at a barrier in shared memory, which calls nothing that
 * could be replaced. There a timer interrupts the rank, and the handler of its signal gives the core
 * away. The timer, the handler and the mask last as long as the call, and their signal is one that
 * nobody else handles, so haul's own signals are as without this library.
 *
 * It is never used for measurements, because it changes what an idle rank does. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_POLLS = 20, YIELD_POLLS = 40, SLEEP_NS = 200000, INTERRUPT_NS = 300000 };

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* UCX's function, which this one replaces and calls. */
unsigned ucp_worker_progress(void *worker);

/* MPI's functions, as its headers declare them. They are not included, because nothing else of MPI
 * is needed here. */
int MPI_Init(int *argc, char ***argv);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Finalize(void);

/* The timer of a call. */
struct interrupts {
	bool on;
	timer_t timer;
	int signal;
	struct sigaction action_before;
	sigset_t mask_before;
};

static void *next_function(const char *name)
{
	void *next = dlsym(RTLD_NEXT, name);

	if (!next)
		abort();
	return next;
}

unsigned ucp_worker_progress(void *worker)
{
	static unsigned (*next)(void *);
	static _Thread_local unsigned idle;
	unsigned events;

	if (!next)
		next = (unsigned (*)(void *))next_function("ucp_worker_progress");
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

static void give_core_away(int signal)
{
	(void)signal;
	sched_yield();
}

/* The signal and its handler, for this thread only: others may inherit the mask, but no signal is
 * sent to them. Returns false where somebody else handles the signal. */
static bool interrupts_receive(struct interrupts *i)
{
	struct sigaction action = {.sa_handler = give_core_away, .sa_flags = SA_RESTART};
	sigset_t set;

	i->signal = SIGRTMAX - 3;
	if (sigaction(i->signal, NULL, &i->action_before) < 0 ||
	    i->action_before.sa_handler != SIG_DFL || sigaction(i->signal, &action, NULL) < 0)
		return false;
	sigemptyset(&set);
	sigaddset(&set, i->signal);
	pthread_sigmask(SIG_UNBLOCK, &set, &i->mask_before);
	return true;
}

/* No signal is left: it is not blocked, so the thread has handled it when the timer is deleted. */
static void interrupts_ignore(const struct interrupts *i)
{
	sigaction(i->signal, &i->action_before, NULL);
	pthread_sigmask(SIG_SETMASK, &i->mask_before, NULL);
}

/* Where there is no timer, the call only takes longer. */
static void interrupts_begin(struct interrupts *i)
{
	const struct itimerspec every = {{.tv_nsec = INTERRUPT_NS}, {.tv_nsec = INTERRUPT_NS}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID};

	i->on = interrupts_receive(i);
	if (!i->on)
		return;
	event.sigev_signo = i->signal;
	event.sigev_notify_thread_id = gettid();
	i->on = timer_create(CLOCK_MONOTONIC, &event, &i->timer) == 0;
	if (i->on)
		timer_settime(i->timer, 0, &every, NULL);
	else
		interrupts_ignore(i);
}

static void interrupts_end(const struct interrupts *i)
{
	if (!i->on)
		return;
	timer_delete(i->timer);
	interrupts_ignore(i);
}

int MPI_Init(int *argc, char ***argv)
{
	int (*next)(int *, char ***) = (int (*)(int *, char ***))next_function("MPI_Init");
	struct interrupts interrupts;
	int rc;

	interrupts_begin(&interrupts);
	rc = next(argc, argv);
	interrupts_end(&interrupts);
	return rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int (*next)(int *, char ***, int, int *) =
		(int (*)(int *, char ***, int, int *))next_function("MPI_Init_thread");
	struct interrupts interrupts;
	int rc;

	interrupts_begin(&interrupts);
	rc = next(argc, argv, required, provided);
	interrupts_end(&interrupts);
	return rc;
}

int MPI_Finalize(void)
{
	int (*next)(void) = (int (*)(void))next_function("MPI_Finalize");
	struct interrupts interrupts;
	int rc;

	interrupts_begin(&interrupts);
	rc = next();
	interrupts_end(&interrupts);
	return rc;
}
