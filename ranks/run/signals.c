/* SPDX-License-Identifier: Apache-2.0 */
/* Signal thread: see state.h. */
#include "ranks/run/state.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock_wait.h"

static void signals_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGUSR1);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGABRT);
}

/* A broken invariant, or somebody's kill, which is to leave a core file. */
static void signals_abort(struct signals *s, const siginfo_t *info)
{
	if (info->si_code != SI_QUEUE || info->si_pid != getpid())
		abort();
	watchdog_break(s->watchdog, info->si_value.sival_ptr);
}

static void *signals_main(void *argument)
{
	struct signals *s = argument;
	sigset_t set;

	signals_set(&set);
	while (!atomic_load(&s->quit)) {
		siginfo_t info = {0};
		bool signalled = clock_signal_wait(&set, &info, watchdog_nap_ns(s->watchdog));

		if (info.si_signo == SIGABRT) {
			signals_abort(s, &info);
			continue;
		}
		if (!atomic_load(&s->quit))
			watchdog_look(s->watchdog, signalled);
	}
	return NULL;
}

int signals_start(struct signals *s, struct watchdog *watchdog, struct err *err)
{
	sigset_t set;
	int rc;

	memset(s, 0, sizeof(*s));
	s->watchdog = watchdog;
	signals_set(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* Who reads the output may end first: then a write fails, and the run goes on. */
	signal(SIGPIPE, SIG_IGN);
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
