/* SPDX-License-Identifier: Apache-2.0 */
/* Polite wait: every MPI operation in haul is non-blocking and is waited for here, so that waiting
 * ranks leave the cores to I/O threads and to each other (MPICH would spin for ever). So are the
 * status rounds (node_status.h). */
#ifndef HAUL_RANKS_MPI_WAIT_H
#define HAUL_RANKS_MPI_WAIT_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/log.h"

/* How to wait. */
struct waiting {
	/* Ranks outnumber cores, so sleep early. Else yield for 200 us first, because a sleeping
	 * peer makes large messages slow. */
	bool patient;
	/* The log in which a wait that lasts longer than say_after_ns names itself, once; the next
	 * one has to last twice as long. NULL: none. */
	const struct log *log;
	uint64_t say_after_ns;
	/* Grows while the main thread looks for others; NULL: nobody looks at it. */
	_Atomic uint64_t *beat;
};

/* Main thread: it is not stuck in a call. */
static inline void wait_beat(const struct waiting *how)
{
	if (how->beat)
		atomic_fetch_add_explicit(how->beat, 1, memory_order_relaxed);
}

/* Names a wait that takes long, once, through how->log. slow is zeroed before the wait. what: the
 * operation, as a noun with its article. */
struct waiting_slow {
	uint64_t since_ns;
	bool named;
};
void wait_say_slow(struct waiting *how, const char *what, struct waiting_slow *slow,
		   uint64_t now_ns);

/* Waits until done returns true. done is called again and again, and may make MPI progress. what:
 * the operation, as a noun with its article. */
void wait_until(bool (*done)(void *argument), void *argument, struct waiting *how,
		const char *what);

/* MPI_Test: whether *request is done. One poll, which never sleeps (polite.h). */
bool wait_test(MPI_Request *request);

/* MPI_Iprobe: whether a message with the tag is there from the rank (or MPI_ANY_TAG,
 * MPI_ANY_SOURCE). As wait_test. from: NULL or who sent it. */
bool wait_probe(int source, int tag, MPI_Comm comm, MPI_Status *from);

/* Waits for *request. */
void wait_for(MPI_Request *request, struct waiting *how, const char *what);

#endif
