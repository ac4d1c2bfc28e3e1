/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that may never return: see aside.h. */
#include "backends/dfs/aside.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"
#include "core/clock_wait.h"

/* A stop lets requests come to their end for so long. */
#define DFS_GRACE_NS UINT64_C(3000000000)

/* Who comes second, the thread at its end or whoever gives up, leaves the rest to the other. */
enum { ASIDE_OPEN, ASIDE_DONE, ASIDE_LEFT };

struct dfs_aside {
	void (*work)(void *argument);
	void (*drop)(void *argument);
	void *argument;
	sem_t ended;
	_Atomic int state;
};

bool dfs_patience_ends(struct dfs_patience *p)
{
	uint64_t now_ns = clock_kernel_ns();

	if (!p->began_ns)
		p->began_ns = now_ns;
	if (p->limit_ns && now_ns - p->began_ns >= p->limit_ns)
		return true;
	if (!p->stop || stop_asked(p->stop) == STOP_NONE)
		return false;
	if (!p->stopped_ns)
		p->stopped_ns = now_ns;
	return now_ns - p->stopped_ns >= DFS_GRACE_NS || now_ns >= stop_gives_up_at(p->stop);
}

static void aside_free(struct dfs_aside *a)
{
	sem_destroy(&a->ended);
	free(a);
}

static void *aside_run(void *from)
{
	struct dfs_aside *a = from;

	a->work(a->argument);
	if (atomic_exchange(&a->state, ASIDE_DONE) == ASIDE_OPEN) {
		sem_post(&a->ended);
		return NULL;
	}
	a->drop(a->argument);
	aside_free(a);
	return NULL;
}

static bool aside_start(struct dfs_aside *a)
{
	pthread_attr_t detached;
	pthread_t thread;
	int rc = pthread_attr_init(&detached);

	if (rc)
		return false;
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &detached, aside_run, a);
	pthread_attr_destroy(&detached);
	return rc == 0;
}

static bool aside_wait(struct dfs_aside *a, struct dfs_patience *p)
{
	while (!dfs_patience_ends(p))
		if (clock_sem_wait(&a->ended, clock_kernel_ns() + DFS_LOOK_NS))
			return true;
	/* It may have ended just now; its post comes then at once. */
	if (atomic_exchange(&a->state, ASIDE_LEFT) == ASIDE_OPEN)
		return false;
	while (sem_wait(&a->ended) < 0)
		;
	return true;
}

bool dfs_aside_do(struct dfs_patience *p, void (*work)(void *), void (*drop)(void *),
		  void *argument)
{
	struct dfs_aside *a = calloc(1, sizeof(*a));
	bool done;

	if (a) {
		*a = (struct dfs_aside){.work = work, .drop = drop, .argument = argument};
		sem_init(&a->ended, 0, 0);
	}
	/* Without a thread, nobody can be left behind. */
	if (!a || !aside_start(a)) {
		if (a)
			aside_free(a);
		work(argument);
		return true;
	}
	done = aside_wait(a, p);
	if (done)
		aside_free(a);
	return done;
}
