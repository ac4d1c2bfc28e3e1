/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a rank that loads its shard, by its pattern.
 *
 *	side by side   headers of all files | meet | pieces of all files, which the threads share
 *	by file        header of a file, its pieces | those of the next file that no thread has taken | …
 *	ahead          blocks of whole files into the page cache, beside a thread that goes by file */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/clock_wait.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/load/run.h"

static const uint64_t meeting_nap_ns = 10 * NS_PER_MS;
static const uint64_t load_file_most = UINT64_C(1) << 50; /* no file has more bytes */

/* A range and its file. */
struct load_at {
	const struct load_run *run;
	uint64_t file, file_bytes;
	const struct load_range *range;
};

static int load_reader_open(struct piece_reader *x, const void *range)
{
	const struct load_at *at = range;
	const struct load_run *r = at->run;

	load_names_key(&r->names, r->options->folder, at->file, x->object.key);
	x->object.size = at->file_bytes;
	return 0;
}

static uint64_t load_reader_begin(const struct piece_reader *x, const void *range)
{
	const struct load_at *at = range;

	(void)x;
	return at->range->offset;
}

/* Hands a piece on to the ranks that do not read. */
static int load_reader_received(struct piece_reader *x, const struct request *req,
				const void *bytes)
{
	struct load_run *r = x->owner;
	uint32_t thread = (uint32_t)(x->thread - r->crew.members);
	uint64_t began_ns;
	int rc;

	x->thread->counts[LOAD_COUNT_FAULTS] += x->touch && r->modelled;
	if (!r->hand.others)
		return 0;
	began_ns = clock_now(r->store.clock);
	rc = load_hand_give(&r->hand, thread, bytes, req->length, &r->crew.halt);
	r->members[thread].hand_ns += clock_now(r->store.clock) - began_ns;
	return rc;
}

static const struct piece_hooks load_hooks = {
	.open = load_reader_open,
	.begin = load_reader_begin,
	.received = load_reader_received,
};

/* The thread that loads while others read ahead comes behind them. */
static bool load_goes_ahead(const struct load_run *r, uint64_t thread)
{
	return r->pattern->ahead && thread < r->options->threads;
}

static struct piece_reader load_reader(struct load_run *r, uint32_t i)
{
	bool ahead = load_goes_ahead(r, i);
	struct piece_reader x = {
		.thread = &r->crew.members[i],
		.hooks = &load_hooks,
		.owner = r,
		.next = r->pattern->by_file ? &r->members[i].own_piece : &r->next_piece,
		.chunk = r->options->chunk,
		.depth = r->pieces,
		.memory = (char *)r->ring.base + i * r->pieces * r->window_bytes,
		.window_bytes = r->window_bytes,
		.counts_errors = r->options->on_error == ON_ERROR_COUNT,
		.touch = r->pattern->touch && !ahead,
		.first = r->sharer,
		.stride = r->pattern->dealt ? r->sharers : 0,
	};

	if (x.touch && r->modelled)
		x.chunk = r->options->readahead;
	else if (r->pattern->whole && !store_can(&r->store, BACKEND_CONTENT))
		x.chunk = load_file_most;
	return x;
}

int load_readers_open(struct load_run *r, struct err *err)
{
	uint64_t each = r->pieces * r->window_bytes;
	int rc;

	pthread_mutex_init(&r->meeting.lock, NULL);
	pthread_cond_init(&r->meeting.changed, NULL);
	r->members = calloc(r->crew.threads, sizeof(*r->members));
	if (!r->headers)
		r->headers = calloc(r->names.count, sizeof(*r->headers));
	if (!r->members || !r->headers)
		return err_set(err, -ENOMEM, "no memory for %u threads", r->crew.threads);
	rc = buffers_init(&r->ring, 1, r->crew.threads * each, err);
	for (uint32_t i = 0; rc == 0 && i < r->crew.threads; i++) {
		queue_memory(&r->crew.members[i].queue, r->ring.base, r->ring.mapped_bytes);
		r->members[i].pieces = load_reader(r, i);
		rc = piece_reader_open(&r->members[i].pieces, err);
	}
	return rc;
}

static void load_headers_clear(struct load_run *r)
{
	for (uint64_t i = 0; r->headers && i < r->names.count; i++)
		load_header_free(&r->headers[i]);
}

void load_headers_free(struct load_run *r)
{
	load_headers_clear(r);
	free(r->headers);
	r->headers = NULL;
}

void load_readers_close(struct load_run *r)
{
	if (!r->members)
		return;
	pthread_mutex_destroy(&r->meeting.lock);
	pthread_cond_destroy(&r->meeting.changed);
	for (uint32_t i = 0; i < r->crew.threads; i++)
		piece_reader_close(&r->members[i].pieces);
	buffers_free(&r->ring);
	free(r->members);
	r->members = NULL;
}

void load_readers_reset(struct load_run *r)
{
	if (!r->known)
		load_headers_clear(r);
	atomic_store(&r->next_header, 0);
	atomic_store(&r->next_piece, 0);
	atomic_store(&r->next_ahead, 0);
	atomic_store(&r->ready, false);
	for (uint64_t i = 0; r->cached && i < r->names.count; i++)
		atomic_store(&r->cached[i], 0);
	r->meeting.arrived = 0;
	r->meeting.headers_ns = 0;
	if (r->hand.group)
		load_hand_reset(&r->hand);
	for (uint32_t i = 0; i < r->crew.threads; i++) {
		r->members[i].cost = (struct load_header_cost){0};
		r->members[i].request_ns = r->members[i].hand_ns = 0;
		r->members[i].handed_bytes = 0;
	}
}

/* A file whose header is wrong has no ranges. */
static int load_header(struct load_run *r, struct crew_thread *w, struct load_member *m, uint64_t i)
{
	const struct load_header_way way = {.whole = r->pattern->whole, .touch = r->pattern->touch};
	struct load_header *h = &r->headers[i];
	struct object o = {.size = 0};
	uint64_t bytes;
	int rc = 0;

	if (!r->known || r->modelled) {
		load_names_key(&r->names, r->options->folder, i, o.key);
		if (r->modelled)
			rc = load_header_ask(h, w, &o, way, &m->cost);
		else
			rc = load_header_read(h, w, &o, &r->rule, &r->names.tensors[i], way,
					      &m->cost);
		bytes = !way.whole ? h->header_bytes : r->modelled ? 0 : h->file_bytes;
		w->counts[LOAD_COUNT_HEADER_BYTES] += h->header_bytes;
		w->counts[LOAD_COUNT_BYTES] += bytes;
		w->counts[LOAD_COUNT_STORE_BYTES] += r->pattern->ahead ? 0 : bytes;
		meter_live(&w->meter, w->queue.now_ns);
	}
	w->counts[LOAD_COUNT_NEEDED_BYTES] += h->needed_bytes;
	if (r->sharer == 0 || r->pattern->own)
		w->counts[LOAD_COUNT_MODEL_BYTES] += h->tensor_bytes;
	return rc < 0 && r->options->on_error == ON_ERROR_COUNT ? 0 : rc;
}

/* Reads the headers that this thread takes. */
static int load_headers(struct load_run *r, struct crew_thread *w, struct load_member *m)
{
	int rc = 0;

	while (rc == 0) {
		uint64_t i = atomic_fetch_add_explicit(&r->next_header, 1, memory_order_relaxed);

		if (i >= r->names.count)
			return 0;
		if (atomic_load_explicit(&r->crew.halt, memory_order_relaxed))
			return -ECANCELED;
		rc = load_header(r, w, m, i);
	}
	return rc;
}

/* Waits until all threads of the rank have read their headers. A thread that never comes has halted
 * the crew. */
static void load_meet(struct load_run *r, struct crew_thread *w)
{
	struct load_meeting *m = &r->meeting;

	pthread_mutex_lock(&m->lock);
	m->arrived++;
	m->headers_ns = max_u64(m->headers_ns, w->queue.now_ns);
	pthread_cond_broadcast(&m->changed);
	while (m->arrived < r->crew.threads && !atomic_load(&r->crew.halt)) {
		clock_cond_wait(&m->changed, &m->lock, clock_kernel_ns() + meeting_nap_ns);
		pthread_mutex_unlock(&m->lock);
		crew_look(w);
		pthread_mutex_lock(&m->lock);
	}
	pthread_mutex_unlock(&m->lock);
}

/* What a walk has read is counted. */
static int load_walked(struct load_run *r, struct load_member *m, int rc)
{
	struct piece_reader *x = &m->pieces;
	int ended = piece_reader_end(x);

	m->request_ns += x->request_ns;
	x->thread->counts[LOAD_COUNT_BYTES] += x->bytes;
	x->thread->counts[LOAD_COUNT_STORE_BYTES] += x->touch && r->pattern->ahead ? 0 : x->bytes;
	return rc < 0 ? rc : ended;
}

/* Reads those pieces of the rank's shard that this thread takes. */
static int load_pieces(struct load_run *r, struct load_member *m)
{
	struct load_at at = {.run = r};
	int rc = 0;

	piece_reader_start(&m->pieces);
	for (; rc == 0 && at.file < r->names.count; at.file++) {
		const struct load_header *h = &r->headers[at.file];

		at.file_bytes = h->file_bytes;
		for (uint64_t i = 0; rc == 0 && i < h->count; i++) {
			at.range = &h->ranges[i];
			rc = piece_reader_range(&m->pieces, at.file, at.range->length, &at);
		}
	}
	return load_walked(r, m, rc);
}

/* Touches what is not in the model's page cache, fault by fault. */
static int load_uncached(struct load_run *r, struct piece_reader *x, struct load_at *at)
{
	const struct load_range *whole = at->range;
	struct load_range fault;
	int rc = 0;

	for (uint64_t from = 0; rc == 0 && from < whole->length; from += x->chunk) {
		fault = (struct load_range){whole->offset + from,
					    min_u64(x->chunk, whole->length - from)};
		if (fault.offset + fault.length <= atomic_load(&r->cached[at->file]))
			continue;
		at->range = &fault;
		rc = piece_reader_range(x, at->file, fault.length, at);
	}
	at->range = whole;
	return rc;
}

/* All ranges of a file, by this thread alone. */
static int load_file(struct load_run *r, struct load_member *m, uint64_t file)
{
	const struct load_header *h = &r->headers[file];
	struct load_at at = {.run = r, .file = file, .file_bytes = h->file_bytes};
	int rc = 0;

	atomic_store_explicit(&m->own_piece, 0, memory_order_relaxed);
	piece_reader_start(&m->pieces);
	for (uint64_t i = 0; rc == 0 && i < h->count; i++) {
		at.range = &h->ranges[i];
		if (r->cached)
			rc = load_uncached(r, &m->pieces, &at);
		else
			rc = piece_reader_range(&m->pieces, file, at.range->length, &at);
	}
	return load_walked(r, m, rc);
}

/* File after file, as far as they are this rank's. What was read whole with its header is there. */
static int load_by_file(struct load_run *r, struct crew_thread *w, struct load_member *m)
{
	bool there = r->pattern->whole && !r->known;
	int rc = 0;

	while (rc == 0) {
		uint64_t i = atomic_fetch_add_explicit(&r->next_header, 1, memory_order_relaxed);

		if (i >= r->names.count)
			break;
		if (r->pattern->own && !load_names_own(&r->names, i, r->sharer))
			continue;
		if (atomic_load_explicit(&r->crew.halt, memory_order_relaxed))
			return -ECANCELED;
		rc = load_header(r, w, m, i);
		if (rc == 0 && !there)
			rc = load_file(r, m, i);
	}
	return rc;
}

/* Reads a whole file, block by block, as long as somebody waits for it. */
static int load_file_ahead(struct load_run *r, struct crew_thread *w, struct load_member *m,
			   uint64_t file)
{
	struct load_at at = {.run = r, .file = file, .file_bytes = r->headers[file].file_bytes};
	struct object o = {.size = 0};
	struct request size = {.op = REQ_STAT, .object = &o};
	struct load_range block = {0};
	int rc = 0;

	load_names_key(&r->names, r->options->folder, file, o.key);
	if (!r->known) {
		queue_do(&w->queue, &size);
		m->request_ns += size.answer.done_ns - size.answer.submit_ns;
		at.file_bytes = o.size;
	}
	at.range = &block;
	atomic_store_explicit(&m->own_piece, 0, memory_order_relaxed);
	piece_reader_start(&m->pieces);
	for (; rc == 0 && block.offset < at.file_bytes && !atomic_load(&r->ready);
	     block.offset += block.length) {
		if (r->cached && m->pieces.walked)
			atomic_store(&r->cached[file], block.offset);
		block.length = min_u64(r->options->chunk, at.file_bytes - block.offset);
		rc = piece_reader_range(&m->pieces, file, block.length, &at);
	}
	rc = load_walked(r, m, rc);
	if (rc == 0 && r->cached && block.offset >= at.file_bytes)
		atomic_store(&r->cached[file], block.offset);
	return rc;
}

/* Ranks that share the model divide its files: every one of their number. */
static int load_ahead(struct load_run *r, struct crew_thread *w, struct load_member *m)
{
	int rc = 0;

	while (rc == 0 && !atomic_load(&r->ready)) {
		uint64_t i = atomic_fetch_add_explicit(&r->next_ahead, 1, memory_order_relaxed);

		i = i * r->sharers + r->sharer;
		if (i >= r->names.count)
			break;
		rc = load_file_ahead(r, w, m, i);
	}
	return rc;
}

/* Gets what the same thread of another rank reads. */
static int load_take(struct load_run *r, struct crew_thread *w, uint32_t thread)
{
	struct load_member *m = &r->members[thread];
	uint64_t length = 0;
	int rc;

	for (uint64_t i = 0;; i++) {
		rc = load_hand_take(&r->hand, thread, i, m->pieces.memory, &length, &r->crew.halt);
		if (rc < 0 || !length)
			break;
		m->handed_bytes += length;
		crew_look(w);
	}
	w->end_ns = clock_now(r->store.clock);
	return rc;
}

int load_thread(struct crew_thread *w, uint64_t thread)
{
	struct load_run *r = w->crew->argument;
	struct load_member *m = &r->members[thread];
	int rc = 0;

	clock_sleep_until(r->store.clock, r->repeat.start_ns);
	if (r->hand.group && !r->hand.reads)
		return load_take(r, w, (uint32_t)thread);
	if (load_goes_ahead(r, thread))
		return load_ahead(r, w, m);
	if (r->pattern->by_file) {
		rc = load_by_file(r, w, m);
		if (r->pattern->ahead)
			atomic_store(&r->ready, true);
		w->end_ns = w->queue.now_ns;
		return rc;
	}
	rc = load_headers(r, w, m);
	if (!r->known || r->modelled)
		load_meet(r, w);
	if (rc == 0)
		rc = load_pieces(r, m);
	if (r->hand.group)
		load_hand_end(&r->hand, (uint32_t)thread);
	w->end_ns = r->hand.group ? clock_now(r->store.clock) : w->queue.now_ns;
	return rc;
}
