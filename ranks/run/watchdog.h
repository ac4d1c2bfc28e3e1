/* SPDX-License-Identifier: Apache-2.0 */
/* Watchdog: ends a run that was told to end and does not.
 *
 *	stop: a signal,      grace                       the last words
 *	deadline, error        │                              │
 *	──────┼────────────────┼──────────────────────────────┼──────────► exit status 4
 *	      main threads come back by themselves      rank 0 publishes what it knows, names who did
 *	                                                not come back, and ends the processes
 *
 * It is looked after by the signal thread, which calls no MPI, so it goes on whatever the other threads are stuck in: open of
 * a file on a dead mount, a library, a collective with a rank that is stopped. A second signal ends the grace.
 *
 * The ranks of a node have a board in shared memory: for each rank when its watchdog looked last, and a beat of its main
 * thread. Rank 0 has the last word, in a copy of its process (fork): there nothing moves, so that the counts agree with each
 * other, and what goes wrong there costs nothing more. Where rank 0 itself is stopped, the next rank of its node that lives has
 * the last word. Ranks of other nodes end when the launcher has killed what it started there, or by themselves much later.
 *
 * Only one of main thread and watchdog works on the results at a time (watchdog_pen). */
#ifndef HAUL_RANKS_RUN_WATCHDOG_H
#define HAUL_RANKS_RUN_WATCHDOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/group/group.h"
#include "core/invariant.h"
#include "core/log.h"
#include "core/stop.h"
#include "ranks/node/nodes.h"

#define WATCHDOG_GRACE_NS 10000000000u /* the default */

enum { WATCHDOG_TEXT_BYTES = 320 };

struct watchdog_board;
struct watchdog_seen;

/* What the last words need. Called in the copy of the process. */
struct watchdog_words {
	void (*speak)(void *argument, enum stop_reason reason, const char *sentence);
	void *argument;
};

struct watchdog {
	/* Set by the main thread before others look. */
	struct stop *stop;
	const struct log *_Atomic log; /* NULL before MPI runs */
	_Atomic uint64_t grace_ns, deadline_ns;
	struct watchdog_board *_Atomic board; /* of the node; NULL: not open */
	_Atomic bool opened;
	uint32_t seat, seats; /* within the node, and of how many */
	bool first_node;      /* the node of rank 0 */
	bool one_node;        /* there is no other */
	pid_t parent;         /* shelter.h */
	struct watchdog_words words;
	struct rusage used; /* in the copy: by the process that it is one of */

	/* Main thread. */
	_Atomic uint64_t touched_ns; /* when it made its last step on the way out */
	_Atomic uint64_t
		write_ns; /* when its current step of a write counts as too slow; 0: none */
	_Atomic uint64_t write_bytes; /* of the results, as far as is known */
	_Atomic uint64_t
		overdue_ns;     /* the phase should be over since then; 0: it should not, or is */
	_Atomic uint32_t heard; /* enum stop_reason */
	_Atomic uint32_t pen;

	/* Signal thread, which holds the lock while it looks. */
	pthread_mutex_t looks;
	struct watchdog_seen *seen; /* [seats] */
	uint64_t asked_ns, signal_ns, looked_ns;
	uint64_t broken_ns; /* when the run ends, because an invariant is broken; 0: none is */
	uint32_t reason, signals;
};

void watchdog_init(struct watchdog *w, struct stop *stop);
/* Where the ranks of a node know each other. label: of this rank in messages. Collective over
 * node. */
int watchdog_open(struct watchdog *w, const struct nodes *nodes, const char *label,
		  struct err *err);
/* The results are complete: there is nothing more to say. Also where it was not opened. */
void watchdog_close(struct watchdog *w);
/* The main thread's beat, for mpi_group_set_watched. */
_Atomic uint64_t *watchdog_beat(struct watchdog *w);

/* Signal thread, some times a second. signalled: a signal has come just now. Does not return once
 * the run is over. */
void watchdog_look(struct watchdog *w, bool signalled);
/* Signal thread: a thread of this process, which goes no further, has found an invariant broken. The run ends at once, by the last
 * words where this is a rank of the first node, else by the launcher, as when a rank is killed. */
void watchdog_break(struct watchdog *w, const struct invariant *broken);
/* For how long the signal thread may sleep until the next look. */
uint64_t watchdog_nap_ns(const struct watchdog *w);

/* Main thread: it hears a reason to stop from others; it has made a step on its way out, which
 * begins a new grace. */
void watchdog_hear(void *watchdog, uint64_t reason);
void watchdog_touch(struct watchdog *w);
/* Main thread: phase_context.overdue. A grace later the run ends. */
void watchdog_overdue(void *watchdog, uint64_t since_ns);
/* Main thread: work on the files of the results begins, or has ended. Begins does not return where
 * the watchdog has the last word. */
void watchdog_pen(struct watchdog *w, bool begins);
/* Main thread: brackets a write of results, a step of which may take limit_ns. A step that takes
 * longer ends the run, because the others would wait for ever; the file stays as last published. 0:
 * no write goes on. */
void watchdog_write(struct watchdog *w, uint64_t limit_ns);

#endif
