/* SPDX-License-Identifier: Apache-2.0 */
/* Writer: see writer.h. */
#include "workloads/common/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time_ns.h"

enum piece_state { PIECE_IDLE, PIECE_ASKED, PIECE_FILLING, PIECE_FULL };

/* A piece of an object, and the buffer that it is made in. It belongs to the writer, except between
 * PIECE_FILLING and PIECE_FULL. Each has a cache line of its own. */
struct piece {
	_Alignas(64) _Atomic uint32_t state; /* enum piece_state */
	uint64_t at, length;                 /* bytes of the object */
	void *memory;
	uint64_t fill_ns; /* the time that making it took */
	/* Makes bytes [at, at + length) of the object at memory; several threads call it at
	 * once. */
	void (*image)(const void *argument, uint64_t at, void *to, uint64_t bytes);
	const void *argument;
	struct filled *filled;
};

static const uint64_t fillers_wait_ns = NS_PER_S;

static bool piece_fill(struct piece *p, struct clock *clock)
{
	uint32_t asked = PIECE_ASKED;
	uint64_t before_ns;

	if (!atomic_compare_exchange_strong_explicit(&p->state, &asked, PIECE_FILLING,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	before_ns = clock_now(clock);
	p->image(p->argument, p->at, p->memory, p->length);
	p->fill_ns = clock_now(clock) - before_ns;
	return true;
}

/* Called after piece_fill on a thread other than the writer's. Either the writer, which has
 * announced that it waits, is seen here, or the writer sees the state in filled_wait. */
static void piece_give_back(struct piece *p)
{
	struct filled *filled = p->filled;

	atomic_store(&p->state, PIECE_FULL);
	if (atomic_load(&filled->waited_for) && atomic_exchange(&filled->waited_for, false))
		sem_post(&filled->posted);
}

static void filled_wait(struct filled *f, const struct piece *pieces, uint32_t count)
{
	bool full = false;

	atomic_store(&f->waited_for, true);
	for (uint32_t i = 0; i < count && !full; i++)
		full = atomic_load(&pieces[i].state) == PIECE_FULL;
	/* A filler that has taken the announcement posts the semaphore, so that post must be taken,
	 * too. */
	if (full && atomic_exchange(&f->waited_for, false))
		return;
	while (sem_wait(&f->posted) < 0 && errno == EINTR)
		;
}

/* Makes one requested piece, of any writer. The writers are served in turn. */
static bool fillers_work(struct fillers *f, uint32_t *turn)
{
	for (uint32_t n = 0; n < f->writers; n++) {
		uint32_t w = (*turn)++ % f->writers;

		for (uint32_t i = 0; i < f->piece_counts[w]; i++) {
			struct piece *p = &f->pieces[w][i];

			if (atomic_load_explicit(&p->state, memory_order_relaxed) != PIECE_ASKED ||
			    !piece_fill(p, f->clock))
				continue;
			piece_give_back(p);
			return true;
		}
	}
	return false;
}

static void *fillers_run(void *argument)
{
	struct fillers *f = argument;
	uint32_t turn = 0;

	while (!atomic_load_explicit(&f->closing, memory_order_relaxed))
		if (credits_take(&f->asked, fillers_wait_ns) == 0)
			fillers_work(f, &turn);
	return NULL;
}

int fillers_open(struct fillers *f, uint32_t count, uint32_t writers_max, struct clock *clock,
		 struct err *err)
{
	*f = (struct fillers){.clock = clock, .writers_max = writers_max};
	if (!count)
		return 0;
	credits_init(&f->asked, 0);
	f->threads = calloc(count, sizeof(*f->threads));
	f->pieces = calloc(writers_max, sizeof(struct piece *));
	f->piece_counts = calloc(writers_max, sizeof(*f->piece_counts));
	if (!f->threads || !f->pieces || !f->piece_counts)
		return err_set(err, -ENOMEM, "no memory for %u threads that make bytes", count);
	for (; f->count < count; f->count++) {
		int rc = pthread_create(&f->threads[f->count], NULL, fillers_run, f);

		if (rc)
			return err_set(err, -rc, "no thread %u of %u to make bytes: %s",
				       f->count + 1, count, strerror(rc));
	}
	return 0;
}

void fillers_close(struct fillers *f)
{
	atomic_store(&f->closing, true);
	if (f->count)
		credits_give(&f->asked, f->count);
	for (uint32_t i = 0; i < f->count; i++)
		pthread_join(f->threads[i], NULL);
	free(f->threads);
	free(f->pieces);
	free(f->piece_counts);
	*f = (struct fillers){0};
}

static void fillers_add(struct fillers *f, struct piece *pieces, uint32_t count)
{
	if (!f->count)
		return;
	f->pieces[f->writers] = pieces;
	f->piece_counts[f->writers] = count;
	f->writers++;
}

static void fillers_ask(struct fillers *f, uint32_t count)
{
	if (f->count && count)
		credits_give(&f->asked, count);
}

/* While a filler is at work, the writer waits at most this long for the store before it looks
 * again. */
static const uint64_t writer_wait_ns = 200000;

int writer_open(struct writer *w, struct err *err)
{
	sem_init(&w->filled.posted, 0, 0);
	w->pieces = aligned_alloc(_Alignof(struct piece), w->buffers * sizeof(*w->pieces));
	w->requests = calloc(w->buffers, sizeof(*w->requests));
	w->done = calloc(w->buffers, sizeof(struct request *));
	if (!w->pieces || !w->requests || !w->done)
		return err_set(err, -ENOMEM, "no memory for %u pieces under way", w->buffers);
	memset(w->pieces, 0, w->buffers * sizeof(*w->pieces));
	for (uint32_t i = 0; i < w->buffers; i++) {
		w->pieces[i].filled = &w->filled;
		w->idle[w->idle_count++] = w->buffers - 1 - i;
	}
	if (w->fillers)
		fillers_add(w->fillers, w->pieces, w->buffers);
	return 0;
}

void writer_close(struct writer *w)
{
	if (w->pieces)
		sem_destroy(&w->filled.posted);
	free(w->pieces);
	free(w->requests);
	free(w->done);
	w->pieces = NULL;
	w->requests = NULL;
	w->done = NULL;
}

static uint32_t piece_state(const struct piece *p)
{
	return atomic_load_explicit(&p->state, memory_order_acquire);
}

/* Whether a piece is made before it is written. */
static bool writer_makes(const struct writer *w, uint64_t length)
{
	return w->now->bytes ? w->making : w->memory && length <= w->buffer_bytes;
}

/* Takes the next piece of the object for an idle buffer. Returns false where none is left. */
static bool writer_take(struct writer *w)
{
	const struct writer_object *o = w->now;
	uint64_t at = o->next ? atomic_fetch_add(o->next, o->piece) : w->at;
	struct piece *p;
	uint32_t i;

	w->ended = at >= o->size;
	if (w->ended)
		return false;
	w->at = at + o->piece;
	i = w->idle[--w->idle_count];
	p = &w->pieces[i];
	/* In the object's own memory, or in the buffer of the piece. */
	p->memory = o->bytes    ? (char *)o->bytes + at
		    : w->memory ? (char *)w->memory + i * w->buffer_bytes
				: NULL;
	p->at = at;
	p->length = o->size - at < o->piece ? o->size - at : o->piece;
	p->image = o->image;
	p->argument = o->argument;
	p->fill_ns = 0;
	w->made[w->made_count++] = i;
	atomic_store_explicit(&p->state, writer_makes(w, p->length) ? PIECE_ASKED : PIECE_FULL,
			      memory_order_release);
	return true;
}

/* Asks for as many pieces as there are buffers. Fillers are woken for half of the buffers at once
 * instead of for each, and not for a piece that the writer makes immediately. */
static void writer_ask(struct writer *w)
{
	bool ahead = w->fillers && writer_makes(w, w->now->piece);
	uint32_t asked = 0, most = ahead ? w->buffers : w->depth, own = w->made_count == 0;

	if (w->made_count > most / 2)
		return;
	while (w->idle_count && w->made_count < most && writer_take(w))
		asked++;
	if (ahead && asked > own)
		fillers_ask(w->fillers, asked - own);
}

/* Takes piece number i of the requested pieces out of their row. */
static struct piece *writer_pick(struct writer *w, uint32_t i)
{
	struct piece *p = &w->pieces[w->made[i]];

	w->made_count--;
	memmove(&w->made[i], &w->made[i + 1], (w->made_count - i) * sizeof(w->made[0]));
	return p;
}

static void writer_idle(struct writer *w, struct piece *p)
{
	atomic_store_explicit(&p->state, PIECE_IDLE, memory_order_relaxed);
	w->idle[w->idle_count++] = (uint32_t)(p - w->pieces);
}

/* The next piece to write: the first one that is full, else the first one that no thread makes yet,
 * which is made here. */
static struct piece *writer_next(struct writer *w)
{
	struct piece *p;

	for (uint32_t i = 0; i < w->made_count; i++)
		if (piece_state(&w->pieces[w->made[i]]) == PIECE_FULL)
			return writer_pick(w, i);
	for (uint32_t i = 0; i < w->made_count; i++) {
		p = &w->pieces[w->made[i]];
		if (piece_state(p) == PIECE_ASKED && piece_fill(p, w->queue->channel.store->clock))
			return writer_pick(w, i);
	}
	return NULL;
}

/* Makes bytes of a piece that is longer than its buffer, while the store waits for them. This time
 * is not counted as the store's. */
static int writer_chunk(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct writer *w = req->user;
	struct clock *clock = w->queue->channel.store->clock;
	uint64_t before_ns = clock_now(clock), ns;

	w->now->image(w->now->argument, offset - w->now->offset, data, length);
	ns = clock_now(clock) - before_ns;
	w->fill_ns += ns;
	w->write_ns -= ns;
	return 0;
}

static int writer_send(struct writer *w, struct piece *p)
{
	struct request *req = &w->requests[p - w->pieces];

	w->fill_ns += p->fill_ns;
	*req = (struct request){.op = REQ_WRITE,
				.object = w->now->object,
				.offset = w->now->offset + p->at,
				.length = p->length,
				.data = p->memory,
				.user = w};
	if (!w->now->bytes && w->memory && p->length > w->buffer_bytes) {
		req->buffer_bytes = w->buffer_bytes;
		req->chunk = writer_chunk;
	}
	return queue_submit(w->queue, &req, 1);
}

/* Receives completed writes. Waits for at least one, unless a piece may become full before. Time
 * with several writes in flight counts once. */
static int writer_receive(struct writer *w)
{
	struct clock *clock = w->queue->channel.store->clock;
	uint64_t until_ns = w->made_count ? clock_now(clock) + writer_wait_ns : UINT64_MAX;
	uint32_t n = queue_reap(w->queue, w->done, 1, w->depth, until_ns);
	int rc = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct request *req = w->done[i];
		uint64_t from_ns =
			req->answer.submit_ns > w->done_ns ? req->answer.submit_ns : w->done_ns;
		int status = req->answer.status;

		if (req->answer.done_ns > from_ns) {
			w->write_ns += req->answer.done_ns - from_ns;
			w->done_ns = req->answer.done_ns;
		}
		if (status < 0 && rc == 0)
			rc = w->failed ? w->failed(w->argument, req, status) : status;
		else if (status == 0 && w->written)
			w->written(w->argument, req->object, req->offset, req->length);
		writer_idle(w, &w->pieces[req - w->requests]);
	}
	return rc;
}

/* After an error: pieces return to the idle ones as soon as no filler works on them. */
static void writer_drop(struct writer *w)
{
	while (w->made_count) {
		struct piece *p = &w->pieces[w->made[0]];
		uint32_t asked = PIECE_ASKED;

		while (!atomic_compare_exchange_strong(&p->state, &asked, PIECE_IDLE) &&
		       piece_state(p) == PIECE_FILLING) {
			filled_wait(&w->filled, p, 1);
			asked = PIECE_ASKED;
		}
		writer_idle(w, writer_pick(w, 0));
	}
}

/* Does one step: sends a piece, or waits. A piece that is only made is done once it is full. */
static int writer_step(struct writer *w)
{
	struct piece *p = w->queue->in_flight < w->depth ? writer_next(w) : NULL;

	if (p && !w->making)
		return writer_send(w, p);
	if (p) {
		writer_idle(w, p);
		return 0;
	}
	if (w->queue->in_flight)
		return writer_receive(w);
	filled_wait(&w->filled, w->pieces, w->buffers);
	return 0;
}

static int writer_work(struct writer *w, const struct writer_object *object, bool making)
{
	int rc = 0, received;

	w->now = object;
	w->making = making;
	w->at = 0;
	w->ended = false;
	for (;;) {
		if (w->halt && atomic_load_explicit(w->halt, memory_order_relaxed))
			rc = -ECANCELED;
		if (rc == 0 && !w->ended)
			writer_ask(w);
		if (rc < 0 || (w->ended && !w->made_count && !w->queue->in_flight))
			break;
		rc = writer_step(w);
	}
	writer_drop(w);
	while (w->queue->in_flight) {
		received = writer_receive(w);
		rc = rc ? rc : received;
	}
	return rc;
}

int writer_put(struct writer *w, const struct writer_object *object)
{
	return writer_work(w, object, false);
}

int writer_make(struct writer *w, const struct writer_object *object)
{
	return writer_work(w, object, true);
}

/* Keeps the error for the phase, unless an earlier request of this thread has failed. */
static int shared_object_fail(struct crew_thread *w, const struct request *req, int rc,
			      const char *text, struct err *err)
{
	crew_fail(w, req, rc, text);
	return err_set(err, rc, "%s", w->err.text);
}

/* What rank 0 sends to the others. */
struct begun {
	struct shared_version version;
	char uri[URI_BYTES];
};

/* Each rank may have a URI of its own. */
static int shared_object_check_uri(const struct shared_object *s, const char *first,
				   const struct crew_thread *w, struct err *err)
{
	const char *uri = w->crew->store->uri;

	if (strcmp(uri, first) == 0)
		return 0;
	return err_set(err, -EINVAL, "%s/%s: rank 0 has %s, and one object cannot be in both", uri,
		       s->object.key, first);
}

static int shared_object_begin_one(struct shared_object *s, struct shared_version *version,
				   uint64_t part, struct crew_thread *w, struct err *err)
{
	struct request req = {.op = REQ_BEGIN,
			      .object = &s->object,
			      .length = s->length,
			      .begin.part = part,
			      .begin.shared = version};
	int rc = queue_do(&w->queue, &req);

	s->begun = rc == 0;
	return rc < 0 ? shared_object_fail(w, &req, rc, request_text(&req), err) : 0;
}

int shared_object_begin(struct shared_object *s, uint64_t length, uint64_t part,
			struct crew_thread *w, struct group *g, struct err *err)
{
	struct begun begun = {0};
	bool whole = false;
	int rc = 0;

	s->length = length;
	s->begun = false;
	if (g->rank == 0) {
		memcpy(begun.uri, w->crew->store->uri, sizeof(begun.uri));
		rc = shared_object_begin_one(s, &begun.version, part, w, err);
	}
	rc = group_agree(g, rc, err);
	if (rc < 0)
		return rc;
	rc = group_broadcast(g, &begun, sizeof(begun));
	if (rc == 0)
		rc = shared_object_check_uri(s, begun.uri, w, err);
	if (rc == 0 && g->rank != 0)
		rc = shared_object_begin_one(s, &begun.version, part, w, err);
	rc = group_agree(g, rc, err);
	if (rc < 0)
		shared_object_end(s, &whole, w, g, NULL);
	return rc;
}

static int shared_object_publish(struct shared_object *s, struct crew_thread *w, struct err *err)
{
	struct request req = {.op = REQ_COMMIT, .object = &s->object, .length = s->length};
	char text[FAILURE_TEXT_BYTES];
	int rc = queue_do(&w->queue, &req);

	if (rc == 0 && req.answer.done_bytes == s->length)
		return 0;
	/* The request itself succeeded, so this error has to be recorded here. */
	if (rc == 0)
		meter_error(&w->meter);
	snprintf(text, sizeof(text), "%s", request_text(&req));
	if (rc == 0 || rc == -ENODATA)
		snprintf(text, sizeof(text),
			 "%s%sthe store has %" PRIu64 " bytes of it, not %" PRIu64,
			 req.answer.why ? req.answer.why : "", req.answer.why ? ": " : "",
			 req.answer.done_bytes, s->length);
	return shared_object_fail(w, &req, rc ? rc : -EIO, text, err);
}

static int shared_object_drop(struct shared_object *s, struct crew_thread *w, struct err *err)
{
	struct request req = {.op = REQ_ABORT, .object = &s->object};
	int rc = queue_do(&w->queue, &req);

	return rc < 0 ? shared_object_fail(w, &req, rc, request_text(&req), err) : 0;
}

static int shared_object_end_one(struct shared_object *s, bool whole, struct crew_thread *w,
				 struct group *g, struct err *err)
{
	int rc;

	if (!s->begun)
		return 0;
	s->begun = false;
	if (g->rank != 0)
		return queue_do(&w->queue,
				&(struct request){.op = REQ_CLOSE, .object = &s->object});
	if (!whole)
		return shared_object_drop(s, w, err);
	rc = shared_object_publish(s, w, err);
	if (rc < 0 && s->object.state[0])
		shared_object_drop(s, w, NULL);
	return rc;
}

int shared_object_end(struct shared_object *s, bool *whole, struct crew_thread *w, struct group *g,
		      struct err *err)
{
	uint64_t all = *whole && s->begun;
	int rc = group_allreduce(g, MERGE_MIN, &all, 1), ended;

	ended = shared_object_end_one(s, rc == 0 && all, w, g, err);
	rc = group_agree(g, rc < 0 ? rc : ended, err);
	*whole = rc == 0 && all;
	return rc;
}
