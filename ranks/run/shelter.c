/* SPDX-License-Identifier: Apache-2.0 */
/* Shelter of a rank: see shelter.h. */
#include "ranks/run/shelter.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks/run/exit_status.h"

/* Ends as the rank did, since the launcher tells its user. The rank has left the core file. */
static _Noreturn void end_like(int state)
{
	sigset_t all;

	if (WIFEXITED(state))
		_exit(WEXITSTATUS(state));
	prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
	signal(WTERMSIG(state), SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	raise(WTERMSIG(state));
	_exit(EXIT_FAILED);
}

/* All signals are blocked. */
static _Noreturn void stand_before(pid_t rank)
{
	sigset_t all;
	int state;

	signal(SIGCHLD, SIG_DFL); /* if it is ignored, nobody learns how a child ended */
	sigfillset(&all);
	for (;;) {
		int number = sigwaitinfo(&all, NULL);
		pid_t ended = waitpid(rank, &state, WNOHANG);

		if (ended == rank)
			end_like(state);
		if (ended < 0)
			_exit(EXIT_FAILED);
		if (number <= 0 || number == SIGCHLD)
			continue;
		kill(rank, number);
		/* Who is told to end must be able to: a rank that is stopped would hear of it when the
		 * others have ended, or never. */
		kill(rank, SIGCONT);
	}
}

pid_t shelter_enter(void)
{
	pid_t launched = getpid(), rank;
	sigset_t all, before;

	if (!getenv("HYDI_CONTROL_FD"))
		return 0;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	rank = fork();
	if (rank > 0)
		stand_before(rank);
	if (rank == 0) {
		/* The same session: else nothing would wake a stopped rank. */
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, (unsigned long)SIGTERM, 0UL, 0UL, 0UL);
		if (getppid() != launched)
			_exit(EXIT_INTERRUPTED);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rank == 0 ? launched : 0; /* without another process it goes on as it is */
}

bool shelter_lost(pid_t parent)
{
	return parent && getppid() != parent;
}
