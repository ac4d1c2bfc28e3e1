/* SPDX-License-Identifier: Apache-2.0 */
/* Signal thread: signals arrive at one thread, which looks after the watchdog (watchdog.h): that
 * asks for a stop.
 *
 * signals_start blocks TERM, INT, HUP, USR1, and ABRT, for broken invariants (core/invariant.h), for the whole process, and ignores
 * PIPE. Call it
 * before MPI_Init, so that every later thread inherits the mask. */
#ifndef HAUL_RANKS_RUN_SIGNALS_H
#define HAUL_RANKS_RUN_SIGNALS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/err.h"
#include "ranks/run/watchdog.h"

struct signals {
	pthread_t thread;
	struct watchdog *watchdog;
	_Atomic uint32_t quit;
};

int signals_start(struct signals *s, struct watchdog *watchdog, struct err *err);
void signals_end(struct signals *s);

#endif
