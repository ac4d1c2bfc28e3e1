/* Signals arrive at one thread, which asks for a stop; it also watches that a results write ends.
 *
 * signals_start blocks TERM, INT, HUP and USR1 for the whole process: call it before MPI_Init, so that
 * every later thread inherits the mask. */
#ifndef HAUL_RANKS_RUN_SIGNALS_H
#define HAUL_RANKS_RUN_SIGNALS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/err.h"
#include "core/log.h"
#include "core/stop.h"

struct signals {
	pthread_t thread;
	struct stop *stop;
	const struct log *log; /* set once MPI runs; NULL before */
	_Atomic uint64_t
		overrun_ns; /* when a results write has taken too long; 0: none under way */
	_Atomic uint32_t quit;
};

int signals_start(struct signals *s, struct stop *stop, struct err *err);
void signals_end(struct signals *s);

/* Brackets a results write: a write that takes longer than limit_ns ends this process, and with it
 * the run, since the others would wait for ever (the file stands as last published). */
void signals_watch(struct signals *s, uint64_t limit_ns);
void signals_unwatch(struct signals *s);

#endif
