/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader owns, the batches that readers fill, and how their time is charged. */
#include "workloads/train/loader/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define READER_REQUEST_MIN (64u << 10)

static const uint64_t preprocess_stream = 0x70726570; /* "prep" */

void reader_mark(struct reader *w, enum account account, uint64_t to)
{
	if (to <= w->mark_ns)
		return;
	if (w->options->awaited)
		w->batch->blamed[account] +=
			awaited_span(w->options->awaited, w->batch->number, w->mark_ns, to);
	w->mark_ns = to;
}

/* A buffer for each request in flight, where any source gives bytes. */
static int reader_buffers(struct reader *w, struct err *err)
{
	const struct reader_options *o = w->options;
	uint64_t bytes = 0, buffer;
	unsigned s;

	for (s = 0; s < o->source_count; s++) {
		if (!store_can(o->sources[s].store, BACKEND_CONTENT))
			continue;
		buffer = queue_buffer_bytes(o->sources[s].store, o->sources[s].buffer_bytes);
		bytes = buffer > bytes ? buffer : bytes;
	}
	if (!bytes)
		return 0;
	return buffers_init(&w->buffers, o->depth > o->read_slots ? o->depth : o->read_slots, bytes,
			    err);
}

static int reader_allocate(struct reader *w, struct err *err)
{
	uint32_t depth = w->options->depth, read_slots = w->options->read_slots, i;

	w->reqs = calloc(depth, sizeof(*w->reqs));
	w->free_reqs = calloc(depth, sizeof(struct request *));
	w->done = calloc(depth, sizeof(struct request *));
	w->out = calloc(depth, sizeof(struct request *));
	w->read_slots = calloc(read_slots, sizeof(*w->read_slots));
	w->idle = calloc(read_slots, sizeof(struct sample_read *));
	w->ready = calloc(read_slots, sizeof(struct sample_read *));
	w->scratch = malloc(LAYOUT_SCRATCH_BYTES);
	if (!w->reqs || !w->free_reqs || !w->done || !w->out || !w->read_slots || !w->idle ||
	    !w->ready || !w->scratch)
		return err_set(err, -ENOMEM, "no memory for a reader of depth %u", depth);
	for (i = 0; i < depth; i++)
		w->free_reqs[i] = &w->reqs[i];
	w->free_count = depth;
	for (i = 0; i < read_slots; i++)
		w->idle[i] = &w->read_slots[i];
	for (i = 0; i < read_slots; i++) {
		w->read_slots[i].reader = w;
		reader_cache_init(&w->read_slots[i].cache, w->options->cache_groups);
	}
	w->idle_count = read_slots;
	return reader_buffers(w, err);
}

int reader_open(struct reader *w, const struct reader_options *options, uint32_t index,
		struct err *err)
{
	unsigned s;
	int rc;

	memset(w, 0, sizeof(*w));
	w->options = options;
	w->index = index;
	w->random.key = random_at(options->seed ^ preprocess_stream, options->place->rank, index);
	residency_init(&w->residency, options->evidence_bytes);
	rc = meter_open(&w->meter, options->layout, options->place, options->start_ns, err);
	if (rc == 0)
		rc = reader_allocate(w, err);
	for (s = 0; s < options->source_count && rc == 0; s++) {
		rc = queue_open(&w->queues[s], options->sources[s].store, options->depth, err);
		if (rc < 0)
			break;
		queue_memory(&w->queues[s], w->buffers.base, w->buffers.mapped_bytes);
		meter_attach(&w->meter, &w->queues[s]);
	}
	if (rc == 0 && options->snapshot)
		snapshot_join(options->snapshot, &w->part, options->count, w);
	if (rc < 0)
		reader_close(w);
	return rc;
}

void reader_close(struct reader *w)
{
	unsigned s;

	for (s = 0; s < READER_SOURCES; s++)
		queue_close(&w->queues[s]);
	meter_close(&w->meter);
	if (w->buffers.base)
		buffers_free(&w->buffers);
	free(w->reqs);
	free(w->free_reqs);
	free(w->done);
	free(w->out);
	free(w->read_slots);
	free(w->idle);
	free(w->ready);
	free(w->scratch);
	memset(w, 0, sizeof(*w));
}

uint64_t reader_request_bytes(uint64_t transfer, uint64_t budget, uint64_t largest)
{
	uint64_t bytes = transfer < budget ? transfer : budget;

	if (bytes > READER_REQUEST_MIN && bytes != transfer)
		bytes -= bytes % READER_REQUEST_MIN;
	if (bytes < READER_REQUEST_MIN && bytes != transfer)
		bytes = transfer < READER_REQUEST_MIN ? transfer : READER_REQUEST_MIN;
	return bytes < largest ? bytes : largest;
}

void batch_clear(struct batch *b, uint64_t number)
{
	memset(b, 0, sizeof(*b));
	b->number = number;
}

void batch_take(struct batch *b, const struct brought_sample *sample)
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

void awaited_set(struct awaited *w, uint64_t number, uint64_t since_ns)
{
	atomic_store_explicit(&w->since_ns, since_ns, memory_order_relaxed);
	atomic_store_explicit(&w->number, number, memory_order_release);
}

uint64_t awaited_span(const struct awaited *w, uint64_t number, uint64_t from, uint64_t to)
{
	uint64_t since;

	if (atomic_load_explicit(&w->number, memory_order_acquire) != number)
		return 0;
	since = atomic_load_explicit(&w->since_ns, memory_order_relaxed);
	from = from < since ? since : from;
	return to > from ? to - from : 0;
}
