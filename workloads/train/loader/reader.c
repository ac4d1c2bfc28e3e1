#include "workloads/train/loader/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_MIN (64u << 10)

static const uint64_t preprocess_stream = 0x70726570; /* "prep" */

/* Every finished request, in this worker's thread. */
static void worker_tap(void *argument, const struct io *io)
{
	struct worker *w = argument;
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

	for (s = 0; s < o->source_count; s++) {
		if (!store_can(o->sources[s].store, BACKEND_CONTENT))
			continue;
		window = queue_window(o->sources[s].store, o->sources[s].window_bytes);
		bytes = window > bytes ? window : bytes;
	}
	if (!bytes)
		return 0;
	return buffers_init(&w->windows, o->depth > o->lanes ? o->depth : o->lanes, bytes, err);
}

static int worker_allocate(struct worker *w, struct err *err)
{
	uint32_t depth = w->options->depth, lanes = w->options->lanes, i;

	w->ios = calloc(depth, sizeof(*w->ios));
	w->free_ios = calloc(depth, sizeof(struct io *));
	w->done = calloc(depth, sizeof(struct io *));
	w->out = calloc(depth, sizeof(struct io *));
	w->lanes = calloc(lanes, sizeof(*w->lanes));
	w->idle = calloc(lanes, sizeof(struct reading *));
	w->ready = calloc(lanes, sizeof(struct reading *));
	w->scratch = malloc(LAYOUT_SCRATCH_BYTES);
	if (!w->ios || !w->free_ios || !w->done || !w->out || !w->lanes || !w->idle || !w->ready ||
	    !w->scratch)
		return err_set(err, -ENOMEM, "no memory for a reader of depth %u", depth);
	for (i = 0; i < depth; i++)
		w->free_ios[i] = &w->ios[i];
	w->free_count = depth;
	for (i = 0; i < lanes; i++)
		w->idle[i] = &w->lanes[i];
	for (i = 0; i < lanes; i++) {
		w->lanes[i].worker = w;
		kept_init(&w->lanes[i].kept, w->options->keep);
	}
	w->idle_count = lanes;
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
		queue_listen(&w->queues[s], worker_tap, w);
	}
	if (rc < 0)
		worker_close(w);
	return rc;
}

void worker_close(struct worker *w)
{
	unsigned s;

	for (s = 0; s < WORKER_SOURCES; s++)
		queue_close(&w->queues[s]);
	if (w->windows.base)
		buffers_free(&w->windows);
	free(w->ios);
	free(w->free_ios);
	free(w->done);
	free(w->out);
	free(w->lanes);
	free(w->idle);
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

void batch_clear(struct batch *b, uint64_t serial)
{
	memset(b, 0, sizeof(*b));
	b->serial = serial;
}

void batch_take(struct batch *b, const struct arrival *sample)
{
	if (sample->failed) {
		b->failed++;
		b->failed_id_sum += sample->id;
		b->failed_id_hash += mix64(sample->id);
		return;
	}
	b->samples++;
	b->id_sum += sample->id;
	b->id_hash += mix64(sample->id);
	b->ids_from_bytes += sample->id_from_bytes;
	b->logical_bytes += sample->logical_bytes;
}

void batch_add(struct batch *b, const struct batch *part)
{
	b->samples += part->samples;
	b->id_sum += part->id_sum;
	b->id_hash += part->id_hash;
	b->failed += part->failed;
	b->failed_id_sum += part->failed_id_sum;
	b->failed_id_hash += part->failed_id_hash;
	b->ids_from_bytes += part->ids_from_bytes;
	b->logical_bytes += part->logical_bytes;
	b->cut = b->cut || part->cut;
	if (b->error || !part->error)
		return;
	b->error = part->error;
	b->failed_by = part->failed_by;
}

void wanted_set(struct wanted *w, uint64_t serial, uint64_t since_ns)
{
	atomic_store_explicit(&w->since_ns, since_ns, memory_order_relaxed);
	atomic_store_explicit(&w->serial, serial, memory_order_release);
}

uint64_t wanted_span(const struct wanted *w, uint64_t serial, uint64_t from, uint64_t to)
{
	uint64_t since;

	if (atomic_load_explicit(&w->serial, memory_order_acquire) != serial)
		return 0;
	since = atomic_load_explicit(&w->since_ns, memory_order_relaxed);
	from = from < since ? since : from;
	return to > from ? to - from : 0;
}
