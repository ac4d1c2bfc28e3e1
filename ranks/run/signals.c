/* Signal thread: see signals.h. */
#include "ranks/run/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

enum { SIGNALS_TICK_MS = 500, SIGNALS_EXIT = 1 };

static void signals_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGUSR1);
	sigaddset(set, SIGHUP);
}

static void *signals_main(void *argument)
{
	const struct timespec tick = {0, SIGNALS_TICK_MS * 1000000L};
	struct signals *s = argument;
	sigset_t set;

	signals_set(&set);
	while (!atomic_load(&s->quit)) {
		uint64_t overrun;

		if (sigtimedwait(&set, NULL, &tick) > 0 && !atomic_load(&s->quit))
			stop_ask(s->stop, STOP_SIGNAL);
		overrun = atomic_load(&s->overrun_ns);
		if (overrun && clock_kernel_ns() > overrun) {
			if (s->log)
				log_say(s->log, LOG_ERROR,
					"writing the results does not end; giving up, they stand as last published");
			/* MPI_Abort is not allowed here, because this is not the main thread. When
			 * a process exits without MPI_Finalize, the launcher ends the others. */
			_exit(SIGNALS_EXIT);
		}
	}
	return NULL;
}

int signals_start(struct signals *s, struct stop *stop, struct err *err)
{
	sigset_t set;
	int rc;

	memset(s, 0, sizeof(*s));
	s->stop = stop;
	signals_set(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	rc = pthread_create(&s->thread, NULL, signals_main, s);
	if (rc)
		return err_set(err, -rc, "signal thread: %s", strerror(rc));
	return 0;
}

void signals_end(struct signals *s)
{
	atomic_store(&s->quit, 1);
	pthread_kill(s->thread, SIGUSR1);
	pthread_join(s->thread, NULL);
}

void signals_watch(struct signals *s, uint64_t limit_ns)
{
	atomic_store(&s->overrun_ns, clock_kernel_ns() + limit_ns);
}

void signals_unwatch(struct signals *s)
{
	atomic_store(&s->overrun_ns, 0);
}
