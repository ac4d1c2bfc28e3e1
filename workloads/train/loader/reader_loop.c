/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a reader: samples on their way, requests that go out, answers that come in. */
#include "workloads/train/loader/reader.h"

#define READER_SLICE_NS 10000000u
#define READER_RUN \
	1024 /* samples that need nothing from the store, from one look around to the next */

static bool reader_begin_samples(struct reader *w, uint64_t to);
static void reader_end_sample(struct reader *w, struct sample_read *r);
static void reader_exchange(struct reader *w);
static void reader_preprocess(struct reader *w);

/* Whether the work is given up: by the loader, or by the main thread that the reader works in. */
static bool reader_quits(const struct reader *w)
{
	const struct reader_options *o = w->options;

	if (o->cancel && atomic_load_explicit(o->cancel, memory_order_relaxed))
		return true;
	return o->pause && o->pause(o->pause_argument);
}

/* A read slot that comes free takes the next sample. Preprocessing is the work of this thread, done
 * while no request is in flight: after each sample where there is one read slot, else when all
 * samples have come. */
void reader_build(struct reader *w, const struct assignment *a, uint64_t k, uint64_t from,
		  uint64_t to, struct batch *b)
{
	uint32_t i;
	bool more;

	w->batch = b;
	w->assignment = a;
	w->step = k;
	w->next = from;
	w->position = UINT64_MAX - 1; /* no position follows it */
	for (i = 0; i < w->options->read_slots; i++)
		w->read_slots[i].next = from;
	w->mark_ns = clock_now(w->options->clock);
	do {
		if (reader_quits(w))
			b->cut = true;
		more = reader_begin_samples(w, to);
		if (w->idle_count < w->options->read_slots) {
			reader_exchange(w);
			snapshot_look(&w->part);
			more = true;
		}
		if (w->idle_count < w->options->read_slots)
			continue;
		reader_preprocess(w);
		more = more && !b->error && !b->cut;
	} while (more);
	meter_live(&w->meter, w->mark_ns);
}

/* r may have something to send. It stands in the list once, also when it is still there for lack of
 * free requests. */
static void reader_ready(struct reader *w, struct sample_read *r)
{
	if (r->ready)
		return;
	r->ready = true;
	w->ready[w->ready_count++] = r;
}

/* The position of the next sample for r, an idle read slot: any sample, or the next of its stream.
 * to: none is left. */
static uint64_t reader_next_position(struct reader *w, struct sample_read *r, uint64_t to)
{
	uint32_t stream = (uint32_t)(r - w->read_slots) * w->options->reader_count + w->index;
	uint64_t position;

	if (!reader_streams(w))
		return w->next < to ? w->next++ : to;
	position = sequence_stream_next(&w->assignment->sequence, stream, r->next, to);
	r->next = position + 1;
	return position;
}

/* The sample of r is on its way, for whoever looks. */
static void reader_show(const struct reader *w, struct sample_read *r)
{
	uint64_t file = r->sample / w->assignment->sequence.order.samples_per_file;

	atomic_store_explicit(&r->live_ns, r->began_ns, memory_order_relaxed);
	atomic_store_explicit(&r->live_file, file + 1, memory_order_relaxed);
}

/* Idle read slots take samples; those that need nothing from the store end at once, one after the
 * other. Returns whether these were enough that it is time to look around. */
static bool reader_begin_samples(struct reader *w, uint64_t to)
{
	uint32_t i = w->idle_count, run = 0;

	while (i-- && !w->batch->error && !w->batch->cut) {
		struct sample_read *r = w->idle[i];
		bool busy = false;
		uint64_t position;

		for (;
		     !busy && run < READER_RUN && (position = reader_next_position(w, r, to)) < to;
		     run++) {
			sample_read_begin(w, r, position);
			busy = r->state != SAMPLE_OVER;
			if (!busy)
				reader_end_sample(w, r);
		}
		if (!busy)
			continue;
		w->idle[i] = w->idle[--w->idle_count];
		reader_show(w, r);
		reader_ready(w, r);
	}
	return run == READER_RUN;
}

/* Makes all requests that may be sent, as long as there are free ones. */
static uint32_t reader_gather(struct reader *w)
{
	struct sample_read *r;
	uint32_t n = 0;

	while (w->free_count && w->ready_count) {
		struct request *req = w->free_reqs[w->free_count - 1];

		r = w->ready[w->ready_count - 1];
		if (sample_read_next(w, r, req)) {
			w->free_count--;
			w->out[n++] = req;
		} else {
			r->ready = false;
			w->ready_count--;
		}
	}
	return n;
}

/* Charges the stretch that ended with this request's completion, along the stamps of the
 * request. */
static void reader_mark_request(struct reader *w, const struct request *req, uint64_t now)
{
	enum account moving = req->op == REQ_READ ? ACCOUNT_TRANSFER : ACCOUNT_OPEN;
	uint64_t due = req->due_ns ? req->due_ns : req->answer.submit_ns;
	uint64_t done = req->answer.done_ns < now ? req->answer.done_ns : now;

	reader_mark(w, ACCOUNT_HAUL, due < now ? due : now);
	reader_mark(w, ACCOUNT_QUEUE, req->answer.submit_ns < now ? req->answer.submit_ns : now);
	if (req->op == REQ_READ && req->answer.first_byte_ns)
		reader_mark(w, ACCOUNT_FIRST_BYTE,
			    req->answer.first_byte_ns < done ? req->answer.first_byte_ns : done);
	reader_mark(w, moving, done);
}

/* A sample has come to its end. */
static void reader_end_sample(struct reader *w, struct sample_read *r)
{
	struct batch *b = w->batch;
	const struct arrivals *to = &b->arrivals;
	int rc = r->rc ? r->rc : reader_identify(w, r);
	struct brought_sample got = {
		.id = rc < 0 ? r->sample : r->id,
		.logical_bytes = r->layout.logical_bytes,
		.failed = rc < 0,
		.id_from_bytes = r->id_seen,
	};

	if (b->cut)
		return;
	if (!to->buffer)
		batch_take(b, &got);
	else if (r->position < to->ahead)
		to->buffer[r->position] = got;
	else
		to->here[r->position - to->first] = got;
	w->undone += rc == 0;
}

/* Sends what can be sent, and takes what has come. Time is charged before anything is done with the
 * bytes. */
static void reader_exchange(struct reader *w)
{
	struct queue *q = &w->queues[w->assignment->source];
	uint32_t n = reader_gather(w), i;

	/* Never more than depth, since there are no more requests. */
	if (n)
		queue_submit(q, w->out, n);
	n = queue_reap(q, w->done, 1, w->options->depth, UINT64_MAX);
	for (i = 0; i < n; i++)
		reader_mark_request(w, w->done[i], q->now_ns);
	reader_mark(w, ACCOUNT_HAUL, q->now_ns);
	for (i = 0; i < n; i++) {
		struct sample_read *r = w->done[i]->user;

		sample_read_answered(w, r, w->done[i]);
		w->free_reqs[w->free_count++] = w->done[i];
		if (r->state != SAMPLE_OVER) {
			reader_ready(w, r);
			continue;
		}
		atomic_store_explicit(&r->live_file, 0, memory_order_relaxed);
		reader_end_sample(w, r);
		w->idle[w->idle_count++] = r;
	}
}

/* Emulated work on the samples that were read. It sleeps in slices, so that giving up does not wait
 * for its end. */
static void reader_preprocess(struct reader *w)
{
	struct clock *clock = w->options->clock;
	uint64_t end, now;

	for (; w->undone && !w->batch->cut; w->undone--) {
		now = w->mark_ns;
		end = now + draw_next(&w->options->preprocess, &w->random);
		while (now < end) {
			clock_sleep_until(clock, end - now > READER_SLICE_NS ? now + READER_SLICE_NS
									     : end);
			now = clock_now(clock);
			snapshot_look(&w->part);
			if (now < end && reader_quits(w)) {
				w->batch->cut = true;
				break;
			}
		}
		reader_mark(w, ACCOUNT_DECODE, now < end ? now : end);
		reader_mark(w, ACCOUNT_HAUL, now);
	}
	w->undone = 0;
}
