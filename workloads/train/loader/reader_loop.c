#include "workloads/train/loader/reader_internal.h"

#define SLICE_NS 10000000u
#define RUN      1024 /* samples that need nothing of the store, between two looks around */
#define LOOK_NS  250000000u

static bool build_start(struct worker *w, uint64_t to);
static void build_end(struct worker *w, struct reading *r);
static void build_exchange(struct worker *w);
static void worker_preprocess(struct worker *w);
static void worker_look(struct worker *w);

/* Given up: by the loader, or by the main thread that it works in. */
static bool worker_quits(const struct worker *w)
{
	const struct worker_options *o = w->options;

	if (o->cancel && atomic_load_explicit(o->cancel, memory_order_relaxed))
		return true;
	return o->pause && o->pause(o->pause_argument);
}

/* A lane that comes free takes the next sample. Preprocessing is one thread's work, done while nothing
 * is in flight: with one lane after each sample, else when all are there. */
void worker_build(struct worker *w, const struct assignment *a, uint64_t k, uint64_t from,
		  uint64_t to, struct batch *b)
{
	uint32_t i;
	bool more;

	w->batch = b;
	w->assignment = a;
	w->step = k;
	w->next = from;
	for (i = 0; i < w->options->lanes; i++)
		w->lanes[i].next = from;
	w->mark_ns = clock_now(w->options->clock);
	do {
		if (worker_quits(w))
			b->cut = true;
		more = build_start(w, to);
		if (w->idle_count < w->options->lanes) {
			build_exchange(w);
			more = true;
		}
		if (w->idle_count < w->options->lanes)
			continue;
		worker_preprocess(w);
		more = more && !b->error && !b->cut;
	} while (more);
	worker_look(w);
}

/* It may have something to send. One that stands there still, as requests ran out, stands there once. */
static void build_ready(struct worker *w, struct reading *r)
{
	if (r->ready)
		return;
	r->ready = true;
	w->ready[w->ready_count++] = r;
}

/* The next sample for r, an idle lane: any, or the next of its stream. Returns its place, or to: none. */
static uint64_t build_next(struct worker *w, struct reading *r, uint64_t to)
{
	uint32_t stream = (uint32_t)(r - w->lanes) * w->options->readers + w->index;
	uint64_t place;

	if (!worker_streams(w))
		return w->next < to ? w->next++ : to;
	place = share_stream_next(&w->assignment->share, stream, r->next, to);
	r->next = place + 1;
	return place;
}

/* Idle lanes take samples, those that need nothing of the store one after the other. Returns whether it
 * was long enough for a look around. */
static bool build_start(struct worker *w, uint64_t to)
{
	uint32_t i = w->idle_count, run = 0;

	while (i-- && !w->batch->error && !w->batch->cut) {
		struct reading *r = w->idle[i];
		bool busy = false;
		uint64_t place;

		for (; !busy && run < RUN && (place = build_next(w, r, to)) < to; run++) {
			reading_begin(w, r, place);
			busy = r->state != READING_OVER;
			if (!busy)
				build_end(w, r);
		}
		if (!busy)
			continue;
		w->idle[i] = w->idle[--w->idle_count];
		build_ready(w, r);
	}
	return run == RUN;
}

/* All requests that may be sent, as far as there are free ones. */
static uint32_t build_gather(struct worker *w)
{
	struct reading *r;
	uint32_t n = 0;

	while (w->free_count && w->ready_count) {
		struct io *io = w->free_ios[w->free_count - 1];

		r = w->ready[w->ready_count - 1];
		if (reading_next(w, r, io)) {
			w->free_count--;
			w->out[n++] = io;
		} else {
			r->ready = false;
			w->ready_count--;
		}
	}
	return n;
}

/* The stretch that a request's completion ended, charged along its stamps. */
static void worker_mark_io(struct worker *w, const struct io *io, uint64_t now)
{
	enum account moving = io->op == IO_READ ? ACCOUNT_TRANSFER : ACCOUNT_OPEN;
	uint64_t due = io->due_ns ? io->due_ns : io->submit_ns;
	uint64_t done = io->done_ns < now ? io->done_ns : now;

	worker_mark(w, ACCOUNT_HAUL, due < now ? due : now);
	worker_mark(w, ACCOUNT_QUEUE, io->submit_ns < now ? io->submit_ns : now);
	if (io->op == IO_READ && io->first_byte_ns)
		worker_mark(w, ACCOUNT_FIRST_BYTE,
			    io->first_byte_ns < done ? io->first_byte_ns : done);
	worker_mark(w, moving, done);
}

/* A sample has come to its end. */
static void build_end(struct worker *w, struct reading *r)
{
	struct batch *b = w->batch;
	const struct arrivals *to = &b->arrivals;
	int rc = r->rc ? r->rc : worker_identify(w, r);
	struct arrival got = {
		.id = rc < 0 ? r->sample : r->id,
		.logical_bytes = r->layout.logical_bytes,
		.failed = rc < 0,
		.id_from_bytes = r->id_seen,
	};

	if (b->cut)
		return;
	if (!to->window)
		batch_take(b, &got);
	else if (r->place < to->ahead)
		to->window[r->place] = got;
	else
		to->here[r->place - to->first] = got;
	w->undone += rc == 0;
}

/* Sends what can be sent, takes what has come. Time is charged before anything is done with it. */
static void build_exchange(struct worker *w)
{
	struct queue *q = &w->queues[w->assignment->source];
	uint32_t n = build_gather(w), i;

	/* Never more than depth: there are no more of them. */
	if (n)
		queue_submit(q, w->out, n);
	n = queue_reap(q, w->done, 1, w->options->depth, UINT64_MAX);
	for (i = 0; i < n; i++)
		worker_mark_io(w, w->done[i], q->now_ns);
	worker_mark(w, ACCOUNT_HAUL, q->now_ns);
	for (i = 0; i < n; i++) {
		struct reading *r = w->done[i]->user;

		reading_answered(w, r, w->done[i]);
		w->free_ios[w->free_count++] = w->done[i];
		if (r->state != READING_OVER) {
			build_ready(w, r);
			continue;
		}
		build_end(w, r);
		w->idle[w->idle_count++] = r;
	}
}

void worker_mark(struct worker *w, enum account account, uint64_t to)
{
	if (to <= w->mark_ns)
		return;
	if (w->options->wanted)
		w->batch->blamed[account] +=
			wanted_span(w->options->wanted, w->batch->serial, w->mark_ns, to);
	w->mark_ns = to;
}

/* Emulated work on the samples read: sleeps in slices, so that giving up does not wait for the end. */
static void worker_preprocess(struct worker *w)
{
	struct clock *clock = w->options->clock;
	uint64_t end, now;

	for (; w->undone && !w->batch->cut; w->undone--) {
		now = w->mark_ns;
		end = now + draw_next(&w->options->preprocess, &w->random);
		while (now < end) {
			clock_sleep_until(clock, end - now > SLICE_NS ? now + SLICE_NS : end);
			now = clock_now(clock);
			if (now < end && worker_quits(w)) {
				w->batch->cut = true;
				break;
			}
		}
		worker_mark(w, ACCOUNT_DECODE, now < end ? now : end);
		worker_mark(w, ACCOUNT_HAUL, now);
	}
	w->undone = 0;
}

/* The slowest percentile so far, for the progress line: only now and then, it reads all buckets. */
static void worker_look(struct worker *w)
{
	const struct queue *q = &w->queues[w->assignment->source];

	if (w->mark_ns - w->looked_ns < LOOK_NS)
		return;
	w->looked_ns = w->mark_ns;
	atomic_store_explicit(&w->live_p99_ns, hist_quantile_ns(&q->stats->service[IO_READ], 0.99),
			      memory_order_relaxed);
}
