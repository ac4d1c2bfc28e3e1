/* SPDX-License-Identifier: Apache-2.0 */
/* Meter: see meter.h. */
#include "workloads/common/meter.h"
#include "core/measure/quantile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/window.h"
#include "core/numbers.h"

static const uint64_t live_every_ns = 500000000;

static void meter_observe(void *argument, const struct request *req);

/* Marks the histograms that are kept. wanted: [schema->hist_count]. Returns their number. */
static uint32_t meter_wanted(const struct meter_layout *l, bool *wanted)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < l->map_count; i++) {
		const int hists[] = {l->maps[i].service, l->maps[i].response,
				     l->maps[i].first_attempt};

		for (unsigned h = 0; h < 3; h++)
			if (hists[h] != METER_NONE)
				wanted[hists[h]] = true;
	}
	for (uint32_t i = 0; i < l->own_count; i++)
		wanted[l->own[i]] = true;
	if (l->sync)
		wanted[l->sync] = true;
	if (l->publish)
		wanted[l->publish] = true;
	for (uint32_t i = 0; i < l->schema->hist_count; i++)
		count += wanted[i];
	return count;
}

/* First attempts need two more histograms: for requests with several attempts, one of the time of
 * all attempts and one of the first. So a usual request costs nothing more. */
static uint32_t meter_attempts(const struct meter_layout *l)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < l->map_count; i++)
		count += l->maps[i].first_attempt != METER_NONE ? 2 : 0;
	return count;
}

static int meter_allocate(struct meter *m)
{
	const struct meter_layout *l = m->layout;
	uint32_t count = l->schema->hist_count, kept;
	bool *wanted = calloc(count + 1, sizeof(*wanted));
	struct hist *next;

	m->hists = calloc(count + 1, sizeof(*m->hists));
	if (!wanted || !m->hists) {
		free(wanted);
		return -ENOMEM;
	}
	kept = meter_wanted(l, wanted) + meter_attempts(l);
	m->hist_count = kept;
	m->memory = calloc(kept + 1, sizeof(*m->memory));
	next = m->memory;
	for (uint32_t i = 0; next && i < count; i++)
		if (wanted[i])
			m->hists[i] = next++;
	free(wanted);
	if (!next)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->map_count; i++) {
		const struct meter_map *map = &l->maps[i];
		struct queue_latency *latency = &m->latency[map->op];

		if (map->service != METER_NONE)
			latency->service = m->hists[map->service];
		if (map->response != METER_NONE)
			latency->response = m->hists[map->response];
		if (map->first_attempt != METER_NONE) {
			latency->retried = next++;
			latency->first = next++;
		}
	}
	return 0;
}

int meter_open(struct meter *m, const struct meter_layout *layout, const struct rank_place *place,
	       uint64_t start_ns, struct err *err)
{
	memset(m, 0, sizeof(*m));
	m->layout = layout;
	m->rank = place->world_rank;
	m->node = place->node;
	meter_start(m, start_ns);
	if (!layout || meter_allocate(m) == 0)
		return 0;
	meter_close(m);
	return err_set(err, -ENOMEM, "no memory for the figures of a thread");
}

void meter_close(struct meter *m)
{
	free(m->hists);
	free(m->memory);
	m->hists = NULL;
	m->memory = NULL;
}

void meter_attach(struct meter *m, struct queue *q)
{
	m->queues[m->queue_count++] = q;
	for (int op = 0; op < REQ_OPS; op++)
		queue_record(q, (enum request_op)op, &m->latency[op]);
	queue_observe(q, meter_observe, m);
}

void meter_start(struct meter *m, uint64_t start_ns)
{
	m->start_ns = start_ns;
	timeline_init(&m->timeline, start_ns);
}

void meter_follow(struct meter *m, struct done_series *moved, const uint64_t *from_ns)
{
	m->moved = moved;
	m->moved_from_ns = from_ns;
}

uint64_t meter_clear(struct meter *m, uint64_t start_ns)
{
	uint64_t requests = 0;

	for (uint32_t i = 0; i < m->queue_count; i++) {
		for (int op = 0; op < REQ_OPS; op++)
			requests += m->queues[i]->op[op].operations;
		queue_clear(m->queues[i]);
	}
	for (uint32_t i = 0; i < m->hist_count; i++)
		hist_clear(&m->memory[i]);
	meter_start(m, start_ns);
	m->from_ns = start_ns;
	m->operations = m->errors = 0;
	m->failure_count = 0;
	return requests;
}

uint64_t meter_outside(const struct meter *m)
{
	uint64_t requests = 0;

	for (uint32_t i = 0; i < m->queue_count; i++)
		requests += m->queues[i]->outside;
	return requests;
}

/* Requests that are a part of what was asked for: of others, each is an operation. */
static const uint32_t request_parts = 1u << REQ_OPEN | 1u << REQ_CLOSE | 1u << REQ_BEGIN |
				      1u << REQ_COMMIT | 1u << REQ_ABORT | 1u << REQ_UPDATE;

bool meter_operation(struct meter *m, uint64_t begin_ns, uint64_t done_ns)
{
	if (!window_has(m->from_ns, begin_ns, done_ns))
		return false;
	m->operations++;
	/* As it is in the window where at least half of its time is, it is in the row of the
	 * middle. */
	timeline_add(&m->timeline, begin_ns + excess_u64(done_ns, begin_ns) / 2, SECOND_OPERATIONS,
		     1);
	return true;
}

static void meter_observe(void *argument, const struct request *req)
{
	struct meter *m = argument;
	const struct meter_layout *l = m->layout;
	const struct answer *a = &req->answer;

	if (!(l && l->counts_operations) && !(request_parts >> req->op & 1))
		meter_operation(m, a->submit_ns, a->done_ns);
	if (req->op == REQ_READ || req->op == REQ_WRITE) {
		timeline_spread(&m->timeline, max_u64(a->submit_ns, m->from_ns), a->done_ns,
				req->op == REQ_WRITE ? SECOND_BYTES_WRITTEN : SECOND_BYTES_READ,
				window_share(m->from_ns, a->submit_ns, a->done_ns, a->done_bytes));
		/* Only this thread adds. */
		atomic_store_explicit(&m->live_bytes,
				      atomic_load_explicit(&m->live_bytes, memory_order_relaxed) +
					      a->done_bytes,
				      memory_order_relaxed);
		if (m->moved && a->done_ns > *m->moved_from_ns)
			done_series_add(m->moved, a->done_ns - *m->moved_from_ns, a->done_bytes);
		return;
	}
	if (l && l->sync && a->sync_ns)
		hist_record(m->hists[l->sync], a->sync_ns);
	if (l && l->publish && a->publish_ns)
		hist_record(m->hists[l->publish], a->publish_ns);
}

struct failure *meter_fail(struct meter *m, const struct request *req, int rc, uint64_t at_ns,
			   const char *text)
{
	struct failure *f;

	/* Given up, because the run is to end. */
	if (rc == -ECANCELED)
		return NULL;
	if (m->failure_count++ >= TALLY_FAILURES)
		return NULL;
	f = &m->failures[m->failure_count - 1];
	*f = (struct failure){
		.time_ns = at_ns > m->start_ns ? at_ns - m->start_ns : 0,
		.offset = req->offset,
		.length = req->length,
		.rank = m->rank,
		.node = m->node,
		.error = rc,
		.protocol_status = req->answer.protocol_status,
		.attempts = req->answer.attempts,
	};
	snprintf(f->operation, sizeof(f->operation), "%s", request_op_name(req->op));
	snprintf(f->object, sizeof(f->object), "%.*s", FAILURE_OBJECT_BYTES - 1, req->object->key);
	snprintf(f->text, sizeof(f->text), "%s", text ? text : request_text(req));
	return f;
}

void meter_live_now(struct meter *m, uint64_t now_ns)
{
	const struct hist *h = m->latency[m->layout ? m->layout->live_op : REQ_READ].service;

	if (h)
		atomic_store_explicit(&m->live_p99_ns, quantile_ns(h, QUANTILE_P99),
				      memory_order_relaxed);
	m->live_due_ns = now_ns + live_every_ns;
}

static void meter_merge_queue(const struct meter_layout *l, const struct queue *q, uint64_t *row)
{
	for (int op = 0; op < REQ_OPS; op++) {
		const struct queue_counts *c = &q->op[op];

		row[TALLY_STORE_REQUESTS] += c->operations;
		row[TALLY_ERRORS] += c->errors;
		row[TALLY_RETRIES] += c->retries;
		if (l->late)
			row[l->late] += c->late;
		if (l->short_transfers)
			row[l->short_transfers] += c->short_transfers;
	}
	row[TALLY_BYTES_READ] += q->op[REQ_READ].bytes;
	row[TALLY_BYTES_WRITTEN] += q->op[REQ_WRITE].bytes;
	for (uint32_t i = 0; i < l->map_count; i++)
		if (l->maps[i].measure != METER_NONE)
			row[l->maps[i].measure] += q->op[l->maps[i].op].operations;
}

static bool meter_retries(const struct meter *m)
{
	for (uint32_t i = 0; i < m->queue_count; i++)
		if (m->queues[i]->channel.store->retry)
			return true;
	return false;
}

static void meter_merge_hists(const struct meter *m, struct tally *t)
{
	const struct meter_layout *l = m->layout;
	struct hist first;

	for (uint32_t i = 0; i < l->schema->hist_count; i++)
		if (m->hists[i])
			hist_merge(&t->hists[i], m->hists[i]);
	for (uint32_t i = 0; meter_retries(m) && i < l->map_count; i++) {
		if (l->maps[i].first_attempt == METER_NONE)
			continue;
		queue_first_attempts(&m->latency[l->maps[i].op], &first);
		hist_merge(&t->hists[l->maps[i].first_attempt], &first);
	}
}

void meter_merge(const struct meter *m, struct tally *t)
{
	uint64_t kept = m->failure_count < TALLY_FAILURES ? m->failure_count : TALLY_FAILURES;

	for (uint32_t i = 0; m->layout && i < m->queue_count; i++) {
		meter_merge_queue(m->layout, m->queues[i], t->rank_row);
		queue_count_endpoints(m->queues[i], tally_table(t, &endpoint_table));
	}
	if (m->layout && m->hists)
		meter_merge_hists(m, t);
	if (m->layout)
		t->rank_row[TALLY_OPERATIONS] += m->operations;
	t->rank_row[TALLY_ERRORS] += m->errors;
	timeline_merge(t->timeline, &m->timeline);
	for (uint64_t i = 0; i < kept; i++)
		tally_fail(t, &m->failures[i]);
	t->failure_count += (uint32_t)(m->failure_count - kept);
}

uint64_t meter_bytes(const struct meter_layout *layout)
{
	/* The greatest number: each kind of request has a histogram of its own. */
	return (layout->schema->hist_count + meter_attempts(layout)) * sizeof(struct hist);
}

void done_series_clear(struct done_series *s)
{
	memset(s->row, 0, sizeof(s->row));
	s->shift = SERIES_SHIFT_FIRST;
}

void done_series_fold(struct done_series *s)
{
	for (unsigned i = 0; i < SERIES_ROWS / 2; i++)
		s->row[i] = s->row[2 * i] + s->row[2 * i + 1];
	memset(s->row + SERIES_ROWS / 2, 0, sizeof(s->row) / 2);
	s->shift++;
}

void done_series_divide(struct done_series *s, uint64_t begin_ns, uint64_t end_ns, uint64_t amount)
{
	uint64_t given = 0, last, row;

	while (end_ns >> s->shift >= SERIES_ROWS)
		done_series_fold(s);
	last = end_ns >> s->shift;
	for (row = begin_ns >> s->shift; row < last; row++) {
		uint64_t until = ((row + 1) << s->shift) - begin_ns;
		uint64_t sum = (uint64_t)((unsigned __int128)amount * until / (end_ns - begin_ns));

		s->row[row] += sum - given;
		given = sum;
	}
	s->row[last] += amount - given;
}

uint64_t done_series_until(const struct done_series *s, uint64_t at_ns)
{
	uint64_t last = at_ns >> s->shift, sum = 0;

	for (uint64_t i = 0; i < SERIES_ROWS && i <= last; i++)
		sum += s->row[i];
	return sum;
}
