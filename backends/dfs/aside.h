/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the library that may never return, since it asks a server that does not answer again and
 * again: each is made by a thread of its own, and whoever waits for it can leave it to that
 * thread. */
#ifndef HAUL_BACKENDS_DFS_ASIDE_H
#define HAUL_BACKENDS_DFS_ASIDE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/stop.h"

/* How long somebody waits: for ever, until limit_ns have passed since the first look, or until a
 * stop was asked for and its grace has passed. Times are the kernel's, whatever clock the store
 * has. */
struct dfs_patience {
	const struct stop *stop; /* NULL: nobody asks for one */
	uint64_t limit_ns;       /* 0: none */
	uint64_t began_ns, stopped_ns;
};

/* Between two looks, whoever waits sleeps at most as long. */
enum { DFS_LOOK_NS = 50000000 };

/* Whether the wait shall be given up. Called again and again during one wait. */
bool dfs_patience_ends(struct dfs_patience *p);

/* What a wait that was given up is: -ECANCELED after a stop, which is no error of the store, else -ETIMEDOUT. */
static inline int dfs_patience_error(const struct dfs_patience *p)
{
	return p->stopped_ns ? -ECANCELED : -ETIMEDOUT;
}

/* Does work(argument), and waits for it. False: it was given up, and argument is the thread's,
 * which ends it by drop(argument) when work returns, if ever. */
bool dfs_aside_do(struct dfs_patience *p, void (*work)(void *), void (*drop)(void *),
		  void *argument);

#endif
