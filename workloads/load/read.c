/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a rank that loads its shard. They take the files one after the other and read
 * their headers; when all headers are read, they share the pieces of all files. */
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

/* A range and its file. */
struct load_at {
	const struct load_run *run;
	uint64_t file;
	const struct load_range *range;
};

static int load_reader_open(struct piece_reader *x, const void *range)
{
	const struct load_at *at = range;
	const struct load_run *r = at->run;

	load_names_key(&r->names, r->options->folder, at->file, x->object.key);
	x->object.size = r->headers[at->file].file_bytes;
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
		r->members[i].pieces = (struct piece_reader){
			.thread = &r->crew.members[i],
			.hooks = &load_hooks,
			.owner = r,
			.next = &r->next_piece,
			.chunk = r->options->chunk,
			.depth = r->pieces,
			.memory = (char *)r->ring.base + i * each,
			.window_bytes = r->window_bytes,
			.counts_errors = r->options->on_error == ON_ERROR_COUNT,
		};
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
	r->meeting.arrived = 0;
	r->meeting.headers_ns = 0;
	if (r->hand.group)
		load_hand_reset(&r->hand);
	for (uint32_t i = 0; i < r->crew.threads; i++) {
		r->members[i].cost = (struct load_header_cost){0};
		r->members[i].hand_ns = r->members[i].handed_bytes = 0;
	}
}

/* Reads the headers that this thread takes. A file whose header is wrong has no ranges. */
static int load_headers(struct load_run *r, struct crew_thread *w, struct load_member *m)
{
	bool counts = r->options->on_error == ON_ERROR_COUNT;
	int rc = 0;

	while (rc == 0) {
		uint64_t i = atomic_fetch_add_explicit(&r->next_header, 1, memory_order_relaxed);
		struct load_header *h;
		struct object o = {.size = 0};

		if (i >= r->names.count)
			return 0;
		if (atomic_load_explicit(&r->crew.halt, memory_order_relaxed))
			return -ECANCELED;
		h = &r->headers[i];
		load_names_key(&r->names, r->options->folder, i, o.key);
		rc = load_header_read(h, w, &o, &r->part, &r->names.tensors[i], &m->cost);
		w->counts[LOAD_COUNT_HEADER_BYTES] += h->header_bytes;
		w->counts[LOAD_COUNT_BYTES] += h->header_bytes;
		meter_live(&w->meter, w->queue.now_ns);
		if (rc < 0 && counts)
			rc = 0;
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

/* Reads those pieces of the rank's shard that this thread takes. */
static int load_pieces(struct load_run *r, struct piece_reader *x)
{
	struct load_at at = {.run = r};
	int rc = 0, ended;

	piece_reader_start(x);
	for (; rc == 0 && at.file < r->names.count; at.file++) {
		const struct load_header *h = &r->headers[at.file];

		for (uint64_t i = 0; rc == 0 && i < h->count; i++) {
			at.range = &h->ranges[i];
			rc = piece_reader_range(x, at.file, at.range->length, &at);
		}
	}
	ended = piece_reader_end(x);
	return rc < 0 ? rc : ended;
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
	if (!r->known) {
		rc = load_headers(r, w, m);
		load_meet(r, w);
	}
	if (rc == 0) {
		rc = load_pieces(r, &m->pieces);
		w->counts[LOAD_COUNT_BYTES] += m->pieces.bytes;
	}
	if (r->hand.group)
		load_hand_end(&r->hand, (uint32_t)thread);
	w->end_ns = r->hand.group ? clock_now(r->store.clock) : w->queue.now_ns;
	return rc;
}
