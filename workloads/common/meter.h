/* SPDX-License-Identifier: Apache-2.0 */
/* Meter: counts one thread's requests, from its queues to the phase's tally.
 *
 * A meter observes the queues of its thread. It keeps their latencies in the histograms that the
 * phase asks for, a timeline, the first failures, and two live figures for the progress line. After
 * a warm-up it is cleared; at the end it is merged into the tally, once.
 *
 * A table beside the phase's measures (struct meter_layout) tells what is counted where. Only the
 * histograms that this table names are allocated, so a meter needs no more memory than its phase
 * shows.
 *
 * A meter belongs to the thread that works with its queues. Other threads may read the two live
 * figures at any time, and everything else while that thread does not run. Nothing allocates after
 * meter_attach. */
#ifndef HAUL_WORKLOADS_COMMON_METER_H
#define HAUL_WORKLOADS_COMMON_METER_H

#include <stdatomic.h>

#include "backends/queue/queue.h"
#include "core/measure/tally.h"

/* Time series: how much was done by when, in 4,096 intervals of a power of two ns, which double
 * whenever they run out. So what all had done when the first had finished can be told afterwards,
 * to within a 2,048th of the time, and nobody talks meanwhile. Owned by one thread. */
enum { SERIES_ROWS = 4096, SERIES_SHIFT_FIRST = 10 };

struct done_series {
	unsigned shift; /* an interval is 2^shift ns */
	uint64_t row[SERIES_ROWS];
};

void done_series_clear(struct done_series *s);
void done_series_fold(struct done_series *s);

static inline void done_series_add(struct done_series *s, uint64_t at_ns, uint64_t amount)
{
	while (at_ns >> s->shift >= SERIES_ROWS)
		done_series_fold(s);
	s->row[at_ns >> s->shift] += amount;
}

/* Spreads an amount evenly over the time in which it was done. done_series_divide does it where that is not within one
 * interval. */
void done_series_divide(struct done_series *s, uint64_t begin_ns, uint64_t end_ns, uint64_t amount);

static inline void done_series_spread(struct done_series *s, uint64_t begin_ns, uint64_t end_ns,
				      uint64_t amount)
{
	if (begin_ns >> s->shift == end_ns >> s->shift)
		done_series_add(s, end_ns, amount);
	else
		done_series_divide(s, begin_ns, end_ns, amount);
}

/* What was done up to the end of the interval in which at_ns lies. */
uint64_t done_series_until(const struct done_series *s, uint64_t at_ns);

enum { METER_QUEUES = 4, METER_NONE = -1 };

/* Where requests of one kind are counted: a measure of the rank's row, and histograms of the
 * phase's schema. METER_NONE: nowhere. Several kinds may have the same. */
struct meter_map {
	enum request_op op;
	int measure;
	int service;       /* time from submit to done */
	int response;      /* time from when it was due to done */
	int first_attempt; /* time of the first attempt, on stores that retry */
};

/* Where a phase counts its requests. Constant; shared by all its threads. */
struct meter_layout {
	const struct tally_schema *schema;
	const struct meter_map *maps;
	uint32_t map_count;
	int late, short_transfers; /* measures; 0: nowhere */
	/* Histograms of answer.sync_ns and publish_ns; 0: nowhere, so neither is a schema's
	 * first. */
	int sync, publish;
	const int *own; /* histograms that the thread fills itself (meter_hist) */
	uint32_t own_count;
	/* The thread counts its operations itself, by meter_operation. Else each request is one
	 * that is no part of another, such as an open. */
	bool counts_operations;
	enum request_op live_op; /* the operation whose 99th percentile the progress line shows */
};

/* Members of a layout: the schema, and an array of maps. */
#define METER_MAPS(of_schema, of_maps) \
	.schema = &(of_schema), .maps = (of_maps), .map_count = COUNT(of_maps)

struct meter {
	/* Bytes read and written so far (those of removed objects: crew_removed), and the 99th
	 * percentile of live_op's latencies; any thread may read. */
	_Atomic uint64_t live_bytes, live_p99_ns;

	const struct meter_layout
		*layout;     /* NULL: only failures, the timeline and live_bytes are kept */
	struct hist **hists; /* [schema->hist_count]; NULL where no histogram is kept */
	struct hist *memory; /* [hist_count]: all that are kept */
	uint32_t hist_count;
	struct queue_latency latency[REQ_OPS];
	struct queue *queues[METER_QUEUES];
	uint32_t queue_count;

	struct timeline timeline;
	uint64_t start_ns; /* time from which failures and the timeline count */
	uint64_t
		from_ns; /* the window's begin (core/measure/window.h), once it is entered; else 0 */
	uint64_t live_due_ns;
	uint64_t operations;    /* done, of those that the phase was asked for */
	uint64_t errors;        /* found in the data of successful requests: see meter_error */
	uint64_t failure_count; /* may exceed TALLY_FAILURES: only the first are kept */
	struct failure failures[TALLY_FAILURES];
	uint32_t rank, node;
	/* Where it counts the bytes that were moved by when, since *moved_from_ns; NULL:
	 * nowhere. */
	struct done_series *moved;
	const uint64_t *moved_from_ns;
};

/* layout may be NULL and must outlive the meter. Returns -ENOMEM with a sentence. */
int meter_open(struct meter *m, const struct meter_layout *layout, const struct rank_place *place,
	       uint64_t start_ns, struct err *err);
void meter_close(struct meter *m);

/* From now on the meter counts what q does, until q is closed. Call before q's first request. At
 * most METER_QUEUES. */
void meter_attach(struct meter *m, struct queue *q);

/* End of warm-up: resets all counters, and the window that is measured begins at start_ns. Returns how many requests were counted
 * before. */
uint64_t meter_clear(struct meter *m, uint64_t start_ns);
/* How many requests ended after that, but belong to the warm-up (core/measure/window.h). */
uint64_t meter_outside(const struct meter *m);

/* Sets the time from which failures and the timeline count. Call before the first request. */
void meter_start(struct meter *m, uint64_t start_ns);

/* From now on also counts in moved how many bytes were moved by when, since *from_ns, which must
 * not change while the thread runs. */
void meter_follow(struct meter *m, struct done_series *moved, const uint64_t *from_ns);

/* One of the histograms that the layout lists in own. */
static inline struct hist *meter_hist(struct meter *m, int hist)
{
	return m->hists[hist];
}

/* An operation that the phase was asked for is done. False: most of it lies before the window, and it does not count. */
bool meter_operation(struct meter *m, uint64_t begin_ns, uint64_t done_ns);

/* A request succeeded but its data is wrong: counts one error more. */
static inline void meter_error(struct meter *m)
{
	m->errors++;
}

/* Keeps the failure if it is among the first TALLY_FAILURES, and counts it; -ECANCELED is none. text
 * NULL: what the request's answer says. Returns the record, so that the caller can add epoch and step, or NULL
 * where none is kept. */
struct failure *meter_fail(struct meter *m, const struct request *req, int rc, uint64_t at_ns,
			   const char *text);

void meter_live_now(struct meter *m, uint64_t now_ns);
/* Call between requests: updates live_p99_ns now and then. Cheap. */
static inline void meter_live(struct meter *m, uint64_t now_ns)
{
	if (now_ns >= m->live_due_ns)
		meter_live_now(m, now_ns);
}

/* Adds everything to the tally. Main thread, while the meter's thread does not run. */
void meter_merge(const struct meter *m, struct tally *t);

/* The most bytes that a meter of that layout allocates. */
uint64_t meter_bytes(const struct meter_layout *layout);

#endif
