/* Signal thread: signals arrive at one thread, which asks for a stop. It also watches that a write
 * of results ends.
 *
 * signals_start blocks TERM, INT, HUP and USR1 for the whole process. Call it before MPI_Init, so
 * that every later thread inherits the mask. */
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
		/* when the current write of results counts as too slow; 0: no write is under way */
		overrun_ns;
	_Atomic uint32_t quit;
};

int signals_start(struct signals *s, struct stop *stop, struct err *err);
void signals_end(struct signals *s);

/* Brackets a write of results. A write that takes longer than limit_ns ends this process, and with
 * it the run, because the others would wait for ever. The file stays as last published. */
void signals_watch(struct signals *s, uint64_t limit_ns);
void signals_unwatch(struct signals *s);

#endif
