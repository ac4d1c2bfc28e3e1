/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints of a store, and the choice among them: see endpoint.h. */
#include "backends/endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/time_ns.h"

enum { EJECTIONS_DOUBLED = 5, MEAN_SHIFT = 3, FORGET_SHIFT_MAX = 40 };
#define FORGET_NS NS_PER_S

const char *const balance_names[] = {"rank",         "node",    "round_robin", "random",
				     "least_loaded", "latency", NULL};

int endpoints_open(struct endpoints **out, const char *const *names, uint32_t count,
		   const struct endpoint_options *options, const struct rank_place *place,
		   struct err *err)
{
	struct endpoints *e;
	size_t bytes = sizeof(*e) + (size_t)count * sizeof(e->list[0]);

	*out = NULL;
	if (count == 0 || count > ENDPOINTS_MAX)
		return err_set(err, -EINVAL, "there may be 1 to %d endpoints, not %u",
			       ENDPOINTS_MAX, count);
	e = aligned_alloc(_Alignof(struct endpoints), bytes);
	if (!e)
		return err_set(err, -ENOMEM, "no memory for %u endpoints", count);
	memset(e, 0, bytes);
	e->options = options;
	e->count = count;
	e->own = (options->balance == BALANCE_NODE ? place->node : place->endpoint) % count;
	atomic_init(&e->next, e->own);
	for (uint32_t i = 0; i < count; i++)
		snprintf(e->list[i].name, sizeof(e->list[i].name), "%s", names[i]);
	*out = e;
	return 0;
}

void endpoints_close(struct endpoints *e)
{
	free(e);
}

static uint32_t endpoint_in_flight(const struct endpoint *p)
{
	return atomic_load_explicit(&p->in_flight, memory_order_relaxed);
}

/* Whether an attempt may go there: the endpoint is in use, or half open with nobody trying it
 * now. */
static bool endpoint_available(const struct endpoint *p, uint64_t now_ns)
{
	uint64_t until = atomic_load_explicit(&p->ejected_until_ns, memory_order_relaxed);

	return !until || (now_ns >= until && endpoint_in_flight(p) == 0);
}

/* The smaller the value, the better the endpoint. */
static uint64_t endpoint_rating(const struct endpoints *e, const struct endpoint *p,
				uint64_t now_ns)
{
	uint64_t load = endpoint_in_flight(p), mean, used, halvings;

	if (e->options->balance != BALANCE_LATENCY)
		return load;
	mean = atomic_load_explicit(&p->mean_ns, memory_order_relaxed);
	used = atomic_load_explicit(&p->last_used_ns, memory_order_relaxed);
	halvings = now_ns > used ? (now_ns - used) / FORGET_NS : 0;
	return (load + 1) * (mean >> min_u64(halvings, FORGET_SHIFT_MAX));
}

static bool endpoint_better(const struct endpoints *e, const struct endpoint *a,
			    const struct endpoint *b, uint64_t now_ns)
{
	uint64_t mine = endpoint_rating(e, a, now_ns), other = endpoint_rating(e, b, now_ns);

	if (mine != other)
		return mine < other;
	return atomic_load_explicit(&a->last_used_ns, memory_order_relaxed) <
	       atomic_load_explicit(&b->last_used_ns, memory_order_relaxed);
}

/* The best endpoint that may be taken, searched from start on. count: there is none. */
static uint32_t endpoints_best(const struct endpoints *e, uint32_t start, uint32_t avoid,
			       uint64_t now_ns)
{
	bool rated = e->options->balance >= BALANCE_LEAST_LOADED;
	uint32_t found = e->count;

	for (uint32_t k = 0; k < e->count; k++) {
		uint32_t i = (start + k) % e->count;

		if (i == avoid || !endpoint_available(&e->list[i], now_ns))
			continue;
		if (!rated)
			return i;
		if (found == e->count || endpoint_better(e, &e->list[i], &e->list[found], now_ns))
			found = i;
	}
	return found;
}

/* When all endpoints are ejected: the one that will be back first. */
static uint32_t endpoints_soonest(const struct endpoints *e, uint32_t avoid)
{
	uint64_t at, least = UINT64_MAX;
	uint32_t found = e->own;

	for (uint32_t i = 0; i < e->count; i++) {
		at = atomic_load_explicit(&e->list[i].ejected_until_ns, memory_order_relaxed);
		if (at >= least || (i == avoid && e->count > 1))
			continue;
		least = at;
		found = i;
	}
	return found;
}

static uint32_t endpoints_start(struct endpoints *e, struct random *r)
{
	switch (e->options->balance) {
	case BALANCE_RANK:
	case BALANCE_NODE:
		return e->own;
	case BALANCE_RANDOM:
		return (uint32_t)(random_next(r) % e->count);
	default:
		return atomic_fetch_add_explicit(&e->next, 1, memory_order_relaxed) % e->count;
	}
}

uint32_t endpoints_choose(struct endpoints *e, struct random *r, uint32_t avoid, uint64_t now_ns)
{
	/* A rank with an endpoint of its own stays there until the endpoint is ejected. */
	bool stays = e->options->balance <= BALANCE_NODE;
	uint32_t start = e->count > 1 ? endpoints_start(e, r) : 0;
	uint32_t i = endpoints_best(e, start, stays ? UINT32_MAX : avoid, now_ns);

	if (i == e->count && avoid < e->count && endpoint_available(&e->list[avoid], now_ns))
		i = avoid;
	if (i == e->count)
		i = endpoints_soonest(e, avoid);
	atomic_fetch_add_explicit(&e->list[i].in_flight, 1, memory_order_relaxed);
	atomic_store_explicit(&e->list[i].last_used_ns, now_ns, memory_order_relaxed);
	return i;
}

/* Whether the fault is evidence against the endpoint rather than the request. */
static bool endpoint_fault_counts(enum request_fault fault)
{
	return fault >= REQ_FAULT_CONNECT && fault <= REQ_FAULT_SERVER &&
	       fault != REQ_FAULT_THROTTLE;
}

static void endpoint_eject(const struct endpoints *e, struct endpoint *p, uint64_t now_ns)
{
	uint32_t times = atomic_fetch_add_explicit(&p->ejections, 1, memory_order_relaxed);

	times = min_u64(times, EJECTIONS_DOUBLED);
	atomic_store_explicit(&p->ejected_until_ns, now_ns + (e->options->eject_ns << times),
			      memory_order_relaxed);
}

/* Another thread's update may be lost; the next one makes up for it. Failures do not count. They
 * are often quick, and would attract more requests to where they happen. */
static void endpoint_note_time(struct endpoint *p, uint64_t took_ns)
{
	uint64_t mean = atomic_load_explicit(&p->mean_ns, memory_order_relaxed);

	mean = mean ? mean - (mean >> MEAN_SHIFT) + (took_ns >> MEAN_SHIFT) : took_ns;
	atomic_store_explicit(&p->mean_ns, mean, memory_order_relaxed);
}

static void endpoint_recover(struct endpoint *p)
{
	if (atomic_load_explicit(&p->failures, memory_order_relaxed))
		atomic_store_explicit(&p->failures, 0, memory_order_relaxed);
	if (atomic_load_explicit(&p->ejected_until_ns, memory_order_relaxed)) {
		atomic_store_explicit(&p->ejections, 0, memory_order_relaxed);
		atomic_store_explicit(&p->ejected_until_ns, 0, memory_order_relaxed);
	}
}

void endpoints_done(struct endpoints *e, uint32_t index, enum request_fault fault, uint64_t took_ns,
		    uint64_t now_ns)
{
	struct endpoint *p = &e->list[index];
	uint64_t limit = e->options->eject_failures;
	uint32_t failures;

	atomic_fetch_sub_explicit(&p->in_flight, 1, memory_order_relaxed);
	if (fault == REQ_FAULT_NONE)
		endpoint_note_time(p, took_ns);
	if (!endpoint_fault_counts(fault)) {
		endpoint_recover(p);
		return;
	}
	failures = atomic_fetch_add_explicit(&p->failures, 1, memory_order_relaxed) + 1;
	if (limit && failures >= limit &&
	    now_ns >= atomic_load_explicit(&p->ejected_until_ns, memory_order_relaxed))
		endpoint_eject(e, p, now_ns);
}

static const struct measure endpoint_measures[] = {ENDPOINT_LIST(MEASURE_ROW)};
_Static_assert(ENDPOINT_MEASURES == ENDPOINT_FAULTS + REQ_FAULTS - 1, "a measure for each fault");

static const struct figure endpoint_figures[] = {
	FIGURE_PER("mean_ns", "ns", 1, OF(ENDPOINT_TIME_NS), OF(ENDPOINT_ATTEMPTS),
		   "mean time of an attempt")};
static const struct hist_kind endpoint_hists[] = {
	{.name = "latency", .help = "how long attempts took", .coarse = true}};
static const struct code_kind endpoint_codes = {"statuses", "status", "requests",
						ENDPOINT_STATUSES};

const struct table_kind endpoint_table = {
	.name = "endpoints",
	.help = "one row per endpoint of the phase's stores",
	.key = TABLE_TEXT,
	.key_name = "endpoint",
	.columns = {endpoint_measures, ENDPOINT_MEASURES, endpoint_figures, 1},
	.hists = endpoint_hists,
	.hist_count = 1,
	.codes = &endpoint_codes,
	.rows_max = 2 * ENDPOINTS_MAX,
};

void endpoint_counts_add(const struct endpoint_counts *counts, const char *name, struct table *t)
{
	uint64_t from[ENDPOINT_MEASURES] = {
		[ENDPOINT_REQUESTS] = counts->requests,
		[ENDPOINT_ATTEMPTS] = counts->attempts,
		[ENDPOINT_FAILURES] = counts->failures,
		[ENDPOINT_BYTES] = counts->bytes,
		[ENDPOINT_WIRE_BYTES] = counts->wire_bytes,
		[ENDPOINT_CONNECTIONS] = counts->connections,
		[ENDPOINT_TIME_NS] = counts->time_ns,
		[ENDPOINT_MAX_NS] = counts->max_ns,
	};
	uint64_t *row = table_named(t, name), *status, *latency;

	if (!row)
		return;
	for (unsigned fault = 1; fault < REQ_FAULTS; fault++)
		from[ENDPOINT_FAULTS + fault - 1] = counts->fault[fault];
	columns_merge(&endpoint_table.columns, row, from);
	status = table_codes(&endpoint_table, row);
	for (unsigned i = 0; i < ENDPOINT_STATUSES; i++)
		status[i] += counts->status[i];
	latency = table_coarse_hist(&endpoint_table, row, 0)->bucket;
	for (unsigned i = 0; i < COARSE_BUCKETS; i++)
		latency[i] += counts->latency.bucket[i];
}
