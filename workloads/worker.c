#include "workloads/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_MIN (64u << 10)
#define SLICE_NS    10000000u
#define LOOK_NS     250000000u

static const uint64_t preprocess_stream = 0x70726570; /* "prep" */
static const uint64_t verify_stream = 0x76657269;     /* "veri" */

static void worker_sample(struct worker *w, uint64_t id);
static void worker_look(struct worker *w);

/* Given up: by the loader, or by the main thread that it works in. */
static bool worker_quits(const struct worker *w)
{
	const struct worker_options *o = w->options;

	if (o->cancel && atomic_load_explicit(o->cancel, memory_order_relaxed))
		return true;
	return o->pause && o->pause(o->pause_argument);
}

void worker_build(struct worker *w, const struct assignment *a, uint64_t k, struct batch *b)
{
	uint64_t j;

	memset(b, 0, sizeof(*b));
	b->serial = a->first_serial + k;
	w->batch = b;
	w->assignment = a;
	w->step = k;
	w->mark_ns = clock_now(w->options->clock);
	for (j = 0; j < a->batch && !b->error && !b->cut; j++) {
		if (worker_quits(w))
			b->cut = true;
		else
			worker_sample(w, order_at(&a->order, order_position(k, a->batch, a->ranks,
									    a->rank, j)));
	}
	worker_look(w);
}

void worker_wanted(struct worker *w, uint64_t serial, uint64_t since_ns)
{
	atomic_store_explicit(&w->wait_since_ns, since_ns, memory_order_relaxed);
	atomic_store_explicit(&w->wait_serial, serial, memory_order_release);
}

/* Charges [from, to) to state where the main thread waits for just this batch. */
static void worker_blame(struct worker *w, enum account state, uint64_t from, uint64_t to)
{
	uint64_t since;

	if (atomic_load_explicit(&w->wait_serial, memory_order_acquire) != w->batch->serial)
		return;
	since = atomic_load_explicit(&w->wait_since_ns, memory_order_relaxed);
	if (from < since)
		from = since;
	if (to > from)
		w->batch->blamed[state] += to - from;
}

/* Closes the stretch since the last mark. */
static void worker_mark(struct worker *w, enum account state, uint64_t to)
{
	if (to <= w->mark_ns)
		return;
	worker_blame(w, state, w->mark_ns, to);
	w->mark_ns = to;
}

/* The same, along the stamps of the request whose completion ended it. */
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
	worker_mark(w, ACCOUNT_HAUL, now);
}

/* Keeps the failure (the first few whole) and, where errors stop the run, the batch's end. */
static void worker_fail(struct worker *w, const struct io *io, int rc, uint64_t offset,
			uint64_t length, const char *text)
{
	struct failure *f;

	if (!w->options->count_errors && !w->batch->error)
		w->batch->error = rc;
	if (w->failure_count++ >= TALLY_FAILURES)
		return;
	f = &w->failures[w->failure_count - 1];
	memset(f, 0, sizeof(*f));
	f->time_ns = w->mark_ns > w->options->start_ns ? w->mark_ns - w->options->start_ns : 0;
	f->offset = offset;
	f->length = length;
	f->rank = w->options->rank;
	f->node = w->options->node;
	f->error = rc;
	f->protocol_status = io->protocol_status;
	f->attempts = io->attempts;
	f->epoch = (uint32_t)w->assignment->epoch;
	f->step = (uint32_t)w->step + 1;
	snprintf(f->operation, sizeof(f->operation), "%s", io_op_name(io->op));
	snprintf(f->object, sizeof(f->object), "%.*s", FAILURE_OBJECT_BYTES - 1, w->object.key);
	snprintf(f->text, sizeof(f->text), "%s", text ? text : strerror(-rc));
}

/* Verifies what the job asks for. Returns length, or where the first wrong byte stands. */
static uint64_t worker_verify(struct worker *w, const struct io *io, const uint8_t *data)
{
	const struct worker_options *o = w->options;
	uint64_t at = 0, length = io->length, good;

	if (o->verify == VERIFY_SAMPLED && length > WORKER_PIECE_BYTES) {
		at = random_at(o->seed ^ verify_stream, w->sample,
			       io->offset ^ w->assignment->epoch << 48);
		at = at % (length - WORKER_PIECE_BYTES + 1) & ~(uint64_t)7;
		length = WORKER_PIECE_BYTES;
	}
	good = layout_verify(&w->layout, io->offset + at, data + at, length, w->scratch);
	return good == length ? io->length : at + good;
}

/* A read has completed: outcome, id, payload. */
static int worker_received(struct worker *w, const struct io *io)
{
	const struct dataset *d = w->options->sources[w->assignment->source].dataset;
	const uint8_t *data = io->data ? (const uint8_t *)io->data + io->lead : NULL;
	uint64_t at, good;
	char text[FAILURE_TEXT_BYTES];

	if (io->status < 0 && io->status != -ENODATA) {
		worker_fail(w, io, io->status, io->offset, io->length, NULL);
		return io->status;
	}
	if (io->status == -ENODATA || io->done_bytes < io->length) {
		w->short_objects++;
		snprintf(text, sizeof(text), "ends at byte %llu of %llu",
			 (unsigned long long)(io->offset + io->done_bytes),
			 (unsigned long long)w->layout.size);
		worker_fail(w, io, -ENODATA, io->offset, io->length, text);
		return -ENODATA;
	}
	if (!data)
		return 0;
	if (!w->id_seen && layout_id_at(&w->layout, w->sample % d->options.samples_per_file,
					io->offset, io->length, &at)) {
		w->id = layout_id(&w->layout, data + at);
		w->id_seen = true;
	}
	if (w->options->verify == VERIFY_NONE || d->existing)
		return 0;
	good = worker_verify(w, io, data);
	worker_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
	if (good == io->length)
		return 0;
	w->payload_errors++;
	snprintf(text, sizeof(text), "payload differs at byte %llu",
		 (unsigned long long)(io->offset + good));
	worker_fail(w, io, -EILSEQ, io->offset, io->length, text);
	return -EILSEQ;
}

static void worker_prepare(struct worker *w, struct io *io, enum io_op op, uint64_t offset,
			   uint64_t length)
{
	void *window = io->data;

	memset(io, 0, sizeof(*io));
	io->op = op;
	io->object = &w->object;
	io->offset = offset;
	io->length = length;
	io->data = window;
	io->due_ns = w->mark_ns;
}

/* Open or close. */
static int worker_touch(struct worker *w, struct queue *q, enum io_op op)
{
	struct io io = {.data = NULL};
	int rc;

	worker_prepare(w, &io, op, 0, 0);
	rc = queue_do(q, &io);
	worker_mark_io(w, &io, q->now_ns);
	if (rc < 0)
		worker_fail(w, &io, rc, 0, 0, NULL);
	return rc;
}

/* Reads an extent in requests, depth of them in flight. Ends when all in flight have completed. */
static int worker_extent(struct worker *w, struct queue *q, uint64_t request_bytes, struct extent e)
{
	uint64_t end = e.offset + e.length, at = e.offset, length;
	uint32_t flying = 0, n, i;
	int rc = 0, r;

	while ((at < end && rc == 0) || flying) {
		for (n = 0; at < end && rc == 0 && w->free_count; n++, at += length) {
			length = end - at < request_bytes ? end - at : request_bytes;
			w->ready[n] = w->free_ios[--w->free_count];
			worker_prepare(w, w->ready[n], IO_READ, at, length);
		}
		r = n ? queue_submit(q, w->ready, n) : 0;
		if (r < 0) {
			w->free_count += n; /* they stand there still */
			rc = r;
		} else {
			flying += n;
		}
		if (!flying)
			break;
		n = queue_reap(q, w->done, 1, w->options->depth, UINT64_MAX);
		for (i = 0; i < n; i++) {
			worker_mark_io(w, w->done[i], q->now_ns);
			r = worker_received(w, w->done[i]);
			rc = rc ? rc : r;
			w->free_ios[w->free_count++] = w->done[i];
		}
		flying -= n;
		if (rc == 0 && worker_quits(w)) {
			w->batch->cut = true;
			rc = -ECANCELED;
		}
	}
	return rc;
}

/* Emulated work on a sample: a sleep in slices, so that giving up does not wait for its end. */
static void worker_preprocess(struct worker *w)
{
	struct clock *clock = w->options->clock;
	uint64_t end = w->mark_ns + draw_next(&w->options->preprocess, &w->random),
		 now = w->mark_ns;

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

static void worker_lay_out(struct worker *w, uint64_t file)
{
	const struct dataset *d = w->options->sources[w->assignment->source].dataset;
	uint64_t wanted = file * WORKER_SOURCES + w->assignment->source + 1;

	if (w->laid_out == wanted)
		return;
	dataset_layout(d, file, &w->layout);
	dataset_key(d, file, w->object.key);
	w->laid_out = wanted;
}

/* Where files are of whatever size they have: the store told it at the open, or tells it now. */
static int worker_size(struct worker *w, struct queue *q)
{
	const struct source *s = &w->options->sources[w->assignment->source];
	struct io io = {.data = NULL};
	int rc = 0;

	if (s->dataset->options.sizes != SIZES_STAT || !store_can(s->store, BACKEND_CONTENT))
		return 0;
	worker_prepare(w, &io, IO_STAT, 0, 0);
	if (!w->object.size) {
		rc = queue_do(q, &io);
		worker_mark_io(w, &io, q->now_ns);
	}
	if (rc < 0)
		worker_fail(w, &io, rc, 0, 0, NULL);
	else if (!w->object.size)
		worker_fail(w, &io, rc = -ENODATA, 0, 0, "is empty");
	else
		dataset_layout_found(&w->layout, w->object.size);
	return rc;
}

/* Evidence of cold reads, before the first of them. Looking is haul's own time. */
static void worker_witness(struct worker *w, const struct extent *extents, uint32_t n)
{
	const struct store *store = w->options->sources[w->assignment->source].store;
	uint64_t looks = w->residency.looks;

	for (uint32_t i = 0; i < n; i++)
		residency_look(&w->residency, store, &w->object, extents[i].offset,
			       extents[i].length);
	if (w->residency.looks != looks)
		worker_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
}

/* Open, the extents a real reader takes in its order, close. */
static int worker_read(struct worker *w, uint64_t k)
{
	struct queue *q = &w->queues[w->assignment->source];
	struct extent extents[FORMAT_EXTENTS_MAX];
	uint64_t request_bytes = w->options->sources[w->assignment->source].request_bytes;
	uint64_t began_ns = w->mark_ns;
	uint32_t n, i;
	int rc, closed;

	w->object.size = 0;
	memset(w->object.state, 0, sizeof(w->object.state));
	rc = worker_touch(w, q, IO_OPEN);
	if (rc < 0)
		return rc;
	rc = worker_size(w, q);
	n = rc == 0 ? w->layout.format->extents(&w->layout, k, extents) : 0;
	worker_witness(w, extents, n);
	for (i = 0; i < n && rc == 0; i++)
		rc = worker_extent(w, q,
				   extents[i].step && extents[i].step < request_bytes
					   ? extents[i].step
					   : request_bytes,
				   extents[i]);
	if (rc == 0)
		hist_record(&w->sample_hist, w->mark_ns - began_ns);
	closed = worker_touch(w, q, IO_CLOSE);
	return rc ? rc : closed;
}

/* With verification the id in the bytes must be the one planned; without, the proof at the epoch's
 * end finds out. */
static int worker_identify(struct worker *w)
{
	struct io io = {.op = IO_READ, .attempts = 1};
	char text[FAILURE_TEXT_BYTES];

	if (!w->id_seen || w->id == w->sample || w->options->verify == VERIFY_NONE)
		return 0;
	w->payload_errors++;
	snprintf(text, sizeof(text), "holds sample %llu where sample %llu belongs",
		 (unsigned long long)w->id, (unsigned long long)w->sample);
	worker_fail(w, &io, -EILSEQ, 0, 0, text);
	return -EILSEQ;
}

static void worker_sample(struct worker *w, uint64_t id)
{
	uint64_t files = w->assignment->order.samples_per_file;
	struct batch *b = w->batch;
	int rc;

	worker_lay_out(w, id / files);
	w->sample = id;
	w->id = id;
	w->id_seen = false;
	worker_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
	rc = worker_read(w, id % files);
	if (rc == 0)
		rc = worker_identify(w);
	if (b->cut)
		return;
	if (rc < 0) {
		b->failed++;
		b->failed_id_sum += id;
		b->failed_id_hash += mix64(id);
		return;
	}
	b->samples++;
	b->id_sum += w->id;
	b->id_hash += mix64(w->id);
	b->ids_from_bytes += w->id_seen;
	b->logical_bytes += w->layout.sample_bytes;
	worker_preprocess(w);
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

/* Every finished request, in this worker's thread. */
static void worker_tap(void *tap_argument, const struct io *io)
{
	struct worker *w = tap_argument;
	uint64_t bytes;

	timeline_add(&w->timeline, io->done_ns, SECOND_OPERATIONS, 1);
	if (io->attempts > 1)
		w->retries += io->attempts - 1;
	if (io->op != IO_READ)
		return;
	timeline_add(&w->timeline, io->done_ns, SECOND_BYTES_READ, io->done_bytes);
	bytes = atomic_load_explicit(&w->live_bytes, memory_order_relaxed);
	atomic_store_explicit(&w->live_bytes, bytes + io->done_bytes, memory_order_relaxed);
}

/* One window a request in flight, where any source gives bytes. */
static int worker_windows(struct worker *w, struct err *err)
{
	const struct worker_options *o = w->options;
	uint64_t bytes = 0, window;
	unsigned s;
	uint32_t i;
	int rc;

	for (s = 0; s < o->source_count; s++) {
		if (!store_can(o->sources[s].store, BACKEND_CONTENT))
			continue;
		window = queue_window(o->sources[s].store, o->sources[s].request_bytes);
		bytes = window > bytes ? window : bytes;
	}
	if (!bytes)
		return 0;
	rc = buffers_init(&w->windows, o->depth, bytes, err);
	if (rc < 0)
		return rc;
	for (i = 0; i < o->depth; i++)
		w->ios[i].data = buffers_take(&w->windows);
	return 0;
}

static int worker_allocate(struct worker *w, struct err *err)
{
	uint32_t depth = w->options->depth, i;

	w->ios = calloc(depth, sizeof(*w->ios));
	w->free_ios = calloc(depth, sizeof(struct io *));
	w->done = calloc(depth, sizeof(struct io *));
	w->ready = calloc(depth, sizeof(struct io *));
	w->scratch = malloc(LAYOUT_SCRATCH_BYTES);
	if (!w->ios || !w->free_ios || !w->done || !w->ready || !w->scratch)
		return err_set(err, -ENOMEM, "no memory for a reader of depth %u", depth);
	for (i = 0; i < depth; i++)
		w->free_ios[i] = &w->ios[i];
	w->free_count = depth;
	return worker_windows(w, err);
}

int worker_open(struct worker *w, const struct worker_options *options, uint32_t index,
		struct err *err)
{
	unsigned s;
	int rc;

	memset(w, 0, sizeof(*w));
	w->options = options;
	w->index = index;
	w->random.key = random_at(options->seed ^ preprocess_stream, options->rank, index);
	timeline_init(&w->timeline, options->start_ns);
	residency_init(&w->residency, options->evidence_bytes);
	hist_clear(&w->sample_hist);
	rc = worker_allocate(w, err);
	for (s = 0; s < options->source_count && rc == 0; s++) {
		rc = queue_open(&w->queues[s], options->sources[s].store, options->depth, err);
		if (rc < 0)
			break;
		queue_memory(&w->queues[s], w->windows.base, w->windows.mapped_bytes);
		w->queues[s].tap = worker_tap;
		w->queues[s].tap_argument = w;
	}
	if (rc < 0)
		worker_close(w);
	return rc;
}

void worker_close(struct worker *w)
{
	unsigned s;

	for (s = 0; s < WORKER_SOURCES; s++)
		if (w->queues[s].tap)
			queue_close(&w->queues[s]);
	if (w->windows.base)
		buffers_free(&w->windows);
	free(w->ios);
	free(w->free_ios);
	free(w->done);
	free(w->ready);
	free(w->scratch);
	memset(w, 0, sizeof(*w));
}

uint64_t worker_request_bytes(uint64_t transfer, uint64_t budget, uint64_t largest)
{
	uint64_t bytes = transfer < budget ? transfer : budget;

	if (bytes > REQUEST_MIN && bytes != transfer)
		bytes -= bytes % REQUEST_MIN;
	if (bytes < REQUEST_MIN && bytes != transfer)
		bytes = transfer < REQUEST_MIN ? transfer : REQUEST_MIN;
	return bytes < largest ? bytes : largest;
}
