/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshot: what a rank has counted so far, taken while its threads go on working, so that a phase can
 * be published before it ends.
 *
 *	main thread                              thread of the phase
 *	snapshot_poll: it is time
 *	   adds its own counts, asks ──flag──► snapshot_look, between two requests
 *	                                            adds its own counts to the snapshot's tally
 *	snapshot_poll: all have added ◄──count──
 *	   └─► status word `snapshot`, merged by minimum
 *	snapshot_publish, on all ranks at the same round
 *
 * Counts belong to the thread that counts, so each thread adds its own. Threads take turns, because
 * there is one tally; one whose turn it is not goes on, and tries again after its next request. So
 * nobody waits, and a look costs one relaxed load. What a thread counts while it looks is in the
 * snapshot up to that moment; threads look at slightly different times. The main thread comes first, so
 * that no sample is counted as used before its bytes are counted as read.
 *
 * A thread that rests (it waits for the main thread, or has ended) says so, and the main thread adds
 * its counts. Between two requests nothing is allocated, except for a row of the tally's table of
 * endpoints that is met for the first time. */
#ifndef HAUL_WORKLOADS_COMMON_SNAPSHOT_H
#define HAUL_WORKLOADS_COMMON_SNAPSHOT_H

#include <stdatomic.h>

#include "core/measure/tally.h"
#include "workloads/workload.h"

struct snapshot;

/* A thread's part. */
struct snapshot_part {
	struct snapshot *of; /* NULL: no snapshots are taken */
	struct snapshot_part *next;
	void (*add)(void *argument, struct tally *t);
	void *argument;
	uint32_t number;      /* of the last snapshot that has this thread's counts */
	_Atomic bool resting; /* the main thread may add them */
};

/* Of the main thread; each may be NULL. */
struct snapshot_hooks {
	/* Adds what it has counted itself beside ctx->tally, before the threads add theirs. */
	void (*own)(void *argument, struct tally *t);
	/* Completes the figures once all have added theirs. */
	void (*complete)(void *argument, struct tally *t);
};

struct snapshot {
	/* Written by the main thread: the snapshot that is wanted, from 1. */
	char apart_asked[64];
	_Atomic uint32_t asked;
	/* Written by all threads, each once per snapshot. */
	char apart_adding[64];
	_Atomic bool adding;    /* it is a thread's turn */
	_Atomic uint32_t added; /* threads whose counts the tally has */

	/* Main thread only, but for the tally, which belongs to the thread whose turn it is. */
	char apart_tally[64];
	struct tally tally;
	struct phase_context *ctx;
	struct snapshot_part *parts;
	uint32_t part_count;
	uint32_t ready, published; /* numbers of snapshots */
	uint64_t next_ns;          /* when the next one is due */
	struct snapshot_hooks hooks;
	void *argument;
	struct phase_context *phase;
	bool begun;   /* counting has begun */
	bool counted; /* the tally of the phase has what the threads have counted */
};

/* Not collective. Where ctx asks for none (ctx->publish_every_ns is 0), all other functions but
 * snapshot_freeze do nothing. Call snapshot_close also after an error. */
int snapshot_open(struct snapshot *s, struct phase_context *ctx, struct snapshot_hooks hooks,
		  void *argument, struct err *err);
void snapshot_close(struct snapshot *s);

/* The counts of one more thread. Before it works; it rests until snapshot_wake. */
void snapshot_join(struct snapshot *s, struct snapshot_part *part,
		   void (*add)(void *argument, struct tally *t), void *argument);

/* Main thread, before it sets the thread to work (again). */
static inline void snapshot_wake(struct snapshot_part *part)
{
	atomic_store_explicit(&part->resting, false, memory_order_relaxed);
}

/* The thread's last word before it ends, or waits until the main thread wakes it. The main thread
 * may say it for a thread that has nothing to do until then. */
static inline void snapshot_rest(struct snapshot_part *part)
{
	atomic_store_explicit(&part->resting, true, memory_order_release);
}

void snapshot_add(struct snapshot_part *part);
/* The thread, between requests, where its counts agree with each other. Often enough, also while it
 * waits for work. */
static inline void snapshot_look(struct snapshot_part *part)
{
	if (part->of &&
	    atomic_load_explicit(&part->of->asked, memory_order_relaxed) != part->number)
		snapshot_add(part);
}

/* Main thread: the counts of all threads go into the tally of the phase now. */
static inline void snapshot_count(struct snapshot *s)
{
	if (s)
		s->counted = true;
}

/* In a copy of the process in which no thread runs: t, which is like the tally of the phase, gets
 * what has been counted. */
void snapshot_freeze(struct snapshot *s, struct tally *t);

/* Main thread: counting begins at start_ns. The first snapshot is due that much later. */
void snapshot_start(struct snapshot *s, uint64_t start_ns);

/* Main thread, now and then: asks for a snapshot where one is due. Returns the number of the latest
 * one that this rank has, for struct status. */
uint64_t snapshot_poll(struct snapshot *s);

/* Whether threads still have to add their counts: those that sleep should be woken. */
static inline bool snapshot_wanted(const struct snapshot *s)
{
	return s->ctx && s->ready != atomic_load_explicit(&s->asked, memory_order_relaxed);
}

/* Publishes the snapshot if merged says that all ranks have it. Collective: every rank calls it
 * with the same merged words, and between the same collectives. Returns whether it was
 * published. */
bool snapshot_publish(struct snapshot *s, const struct status *merged);

#endif
