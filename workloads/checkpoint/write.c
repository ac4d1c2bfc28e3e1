/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a checkpoint: see run.h. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/checkpoint/run.h"
#include "workloads/common/crew.h"

int checkpoint_write_open(struct checkpoint_run *r, struct err *err)
{
	struct checkpoint_write *c = &r->write;

	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	c->slots = calloc(r->options->writers, sizeof(*c->slots));
	return c->slots ? 0
			: err_set(err, -ENOMEM, "no memory for the files of %llu writers",
				  (unsigned long long)r->options->writers);
}

void checkpoint_write_close(struct checkpoint_run *r)
{
	struct checkpoint_write *c = &r->write;

	if (!c->slots)
		return;
	for (uint64_t i = 0; i < r->options->writers; i++)
		arena_free(&c->slots[i].arena);
	free(c->slots);
	c->slots = NULL;
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
}

void checkpoint_write_reset(struct checkpoint_run *r)
{
	struct checkpoint_write *c = &r->write;

	c->files = checkpoint_data_files(&r->shape, r->ctx->group->rank);
	c->next_file = 0;
	for (uint64_t i = 0; i < r->options->writers; i++) {
		c->slots[i].state = SLOT_FREE;
		c->slots[i].users = 0;
	}
}

static int checkpoint_slot_begin(struct checkpoint_run *r, struct checkpoint_slot *s, uint32_t i,
				 struct crew_thread *w)
{
	struct checkpoint_member *m = &r->members[w - r->crew.members];
	struct request req;
	int rc = checkpoint_slot_lay_out(r, s, i, &w->err);

	if (rc < 0)
		return rc;
	s->what.bytes = checkpoint_whole_bytes(r, i);
	if (r->shape.layout == CHECKPOINT_SHARED && !r->in_place) {
		s->object = r->shared.object; /* all ranks have begun it */
		return 0;
	}
	req = (struct request){
		.op = r->in_place ? REQ_UPDATE : REQ_BEGIN,
		.object = &s->object,
		.length = r->shape.layout == CHECKPOINT_SHARED
				  ? checkpoint_shared_bytes(&r->shape, r->ctx->group->size)
				  : s->archive.size,
		.begin.part = r->chunk};
	rc = crew_do(w, &req);
	m->request_ns += req.answer.done_ns - req.answer.submit_ns;
	return rc;
}

/* A file that others write and that has pieces left. */
static struct checkpoint_slot *checkpoint_write_join(struct checkpoint_run *r)
{
	for (uint64_t i = 0; i < r->options->writers; i++) {
		struct checkpoint_slot *s = &r->write.slots[i];

		if (s->state == SLOT_OPEN && atomic_load(&s->next) < s->what.size)
			return s;
	}
	return NULL;
}

static struct checkpoint_slot *checkpoint_write_slot(struct checkpoint_run *r,
						     enum checkpoint_slot_state state)
{
	for (uint64_t i = 0; i < r->options->writers; i++)
		if (r->write.slots[i].state == state)
			return &r->write.slots[i];
	return NULL;
}

/* The file that the thread writes next, which it has joined; NULL: there is none, or *rc says
 * why. */
static struct checkpoint_slot *checkpoint_write_take(struct checkpoint_run *r,
						     struct crew_thread *w, int *rc)
{
	struct checkpoint_write *c = &r->write;
	struct checkpoint_slot *s = NULL;
	uint32_t file;

	*rc = 0;
	pthread_mutex_lock(&c->lock);
	while (c->next_file >= c->files && !(s = checkpoint_write_join(r)) &&
	       checkpoint_write_slot(r, SLOT_OPENING))
		pthread_cond_wait(&c->changed, &c->lock);
	if (s) {
		s->users++;
	} else if (c->next_file < c->files && !atomic_load(&r->crew.halt)) {
		s = checkpoint_write_slot(r, SLOT_FREE);
		s->state = SLOT_OPENING;
		s->users = 1;
		file = c->next_file++;
		pthread_mutex_unlock(&c->lock);
		*rc = checkpoint_slot_begin(r, s, file, w);
		pthread_mutex_lock(&c->lock);
		s->state = *rc < 0 ? SLOT_FREE : SLOT_OPEN;
		s = *rc < 0 ? NULL : s;
		pthread_cond_broadcast(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
	return s;
}

static int checkpoint_slot_commit(struct checkpoint_run *r, struct checkpoint_slot *s,
				  struct crew_thread *w)
{
	struct checkpoint_member *m = &r->members[w - r->crew.members];
	struct request req = {.op = r->in_place ? REQ_CLOSE : REQ_COMMIT,
			      .object = &s->object,
			      .length = s->what.size};
	char text[FAILURE_TEXT_BYTES];
	int rc;

	if (r->shape.layout == CHECKPOINT_SHARED && !r->in_place)
		return 0;
	rc = crew_do(w, &req);
	m->request_ns += req.answer.done_ns - req.answer.submit_ns;
	if (rc == 0 && r->content && !r->in_place &&
	    !answer_text_committed(text, &req, s->what.size)) {
		meter_error(&w->meter);
		rc = crew_fail(w, &req, -EIO, text);
	}
	return rc;
}

/* What the page cache still has of the file that is published. */
static void checkpoint_slot_evict(struct checkpoint_run *r, const struct checkpoint_slot *s)
{
	struct object closed = {.size = s->what.size};

	if (r->options->behind != CHECKPOINT_BEHIND_DROP)
		return;
	memcpy(closed.key, s->object.key, sizeof(closed.key));
	store_evict(&r->store, &closed, 0, 0);
}

/* One chunk behind the writers: all that lies before the piece that has just been written. */
static void write_piece_answered(void *member, struct object *object, uint64_t at, uint64_t length)
{
	struct crew_thread *w = member;
	struct checkpoint_run *r = w->crew->argument;

	(void)length;
	if (r->options->behind == CHECKPOINT_BEHIND_DROP && at)
		store_evict(&r->store, object, 0, at);
	crew_look(w);
}

static int checkpoint_write_failed(void *member, const struct request *req, int rc)
{
	return crew_fail(member, req, rc, request_text(req));
}

/* What every writer has: its share of the ring. */
int checkpoint_writer_open(struct checkpoint_run *r, uint32_t thread, struct err *err)
{
	struct crew_thread *w = &r->crew.members[thread];

	r->members[thread].writer = (struct writer){
		.queue = &w->queue,
		.fillers = r->fillers.count ? &r->fillers : NULL,
		.memory = checkpoint_ring_piece(r, thread, r->write_pieces),
		.buffer_bytes = r->window_bytes,
		.buffers = r->write_pieces,
		.depth = r->write_depth,
		.halt = &r->crew.halt,
		.failed = checkpoint_write_failed,
		.written = write_piece_answered,
		.argument = w,
	};
	return writer_open(&r->members[thread].writer, err);
}

/* Everybody has left the file. */
static int checkpoint_slot_end(struct checkpoint_run *r, struct checkpoint_slot *s,
			       struct crew_thread *w)
{
	int rc = s->state == SLOT_FAILED ? -ECANCELED : checkpoint_slot_commit(r, s, w);

	if (rc < 0 && r->shape.layout == CHECKPOINT_SHARED)
		return rc; /* others write it */
	if (rc < 0) {
		queue_do(&w->queue, &(struct request){.op = r->in_place ? REQ_CLOSE : REQ_ABORT,
						      .object = &s->object});
		return rc;
	}
	checkpoint_slot_evict(r, s);
	w->counts[COUNT_FILES]++;
	w->counts[COUNT_BYTES] += s->what.size;
	atomic_fetch_add_explicit(&w->files, 1, memory_order_relaxed);
	return 0;
}

/* The thread's part of the file is written, or failed with rc. Where it was written, no piece is
 * left for others. */
static int checkpoint_write_leave(struct checkpoint_run *r, struct checkpoint_slot *s,
				  struct crew_thread *w, int rc)
{
	struct checkpoint_write *c = &r->write;
	bool last;
	int ended;

	pthread_mutex_lock(&c->lock);
	if (rc < 0)
		s->state = SLOT_FAILED;
	last = --s->users == 0;
	pthread_mutex_unlock(&c->lock);
	if (!last)
		return rc;
	ended = checkpoint_slot_end(r, s, w);
	pthread_mutex_lock(&c->lock);
	s->state = SLOT_FREE;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return rc < 0 ? rc : ended;
}

int checkpoint_write_thread(struct crew_thread *w, uint64_t thread)
{
	struct checkpoint_run *r = w->crew->argument;
	struct checkpoint_member *m = &r->members[thread];
	struct checkpoint_slot *s;
	int rc = 0;

	if (thread >= r->options->writers)
		return 0;
	clock_sleep_until(r->store.clock, r->repeat.start_ns);
	if (r->options->fill == CHECKPOINT_FILL_WHOLE)
		rc = checkpoint_whole_make(r, thread);
	if (rc < 0)
		return rc;
	while ((s = checkpoint_write_take(r, w, &rc))) {
		rc = checkpoint_write_leave(r, s, w, writer_put(&m->writer, &s->what));
		if (rc < 0)
			break;
	}
	w->end_ns = w->queue.now_ns;
	return rc;
}
