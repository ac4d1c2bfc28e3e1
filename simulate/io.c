/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "io" in virtual time: the threads of workloads/io/work.h, each with its operations in flight, of which
 * only the requests are left. An operation is a block of an open object, a whole object, or a name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/window.h"
#include "core/numbers.h"
#include "simulate/simulate.h"
#include "workloads/io/io.h"
#include "workloads/io/share.h"

enum io_slot_step { IO_OPENING, IO_EVICTING, IO_MOVING, IO_CLOSING, IO_ONLY };
enum io_handle_at { IO_HANDLE_CLOSED, IO_HANDLE_BUSY, IO_HANDLE_OPEN };

struct io_model;
struct io_model_thread;

struct io_model_slot {
	struct actor actor;
	struct io_model_thread *thread;
	struct io_model_slot *next; /* in the line of a handle */
	struct io_model_handle *handle;
	struct io_item item;
	enum io_slot_step step;
	bool writes;
	uint64_t began_ns, key, at;
	uint64_t moved; /* bytes, as far as they were moved after the warm-up */
	struct sim_ask ask;
	struct sim_answer answer;
};

/* An open object: workloads/io/work.h. */
struct io_model_handle {
	enum io_handle_at state;
	uint64_t number;
	uint32_t users;
	bool last;
	struct io_model_slot *first, *end; /* in line */
};

struct io_model_thread {
	struct io_model *m;
	uint32_t rank, flying;
	uint64_t limit, issued, issued_bytes, done_parts, done_bytes, warm_done, warm_bytes, key,
		end_ns;
	struct io_share share;
	struct io_model_slot *slots;
	struct io_model_handle *handles;
	bool over;
};

struct io_model {
	struct engine engine;
	const struct simulation *s;
	struct simulated *out;
	const struct io_options *o;
	struct virtual_store *store;
	struct io_set set;
	struct io_model_thread *threads;
	uint32_t thread_count, handle_count, left;
	bool whole, in_place;
	uint64_t until_ns, origin_ns, mixed_below;
	uint64_t first_ns; /* when the first thread had done its part; UINT64_MAX: none has */
};

static const uint64_t io_thread_stream = 0x696f746872; /* of draws which operation reads */

static void io_slot_begin(struct io_model_slot *slot);

static uint64_t *io_row(const struct io_model_thread *t)
{
	return simulated_row(t->m->out, t->rank);
}

static bool io_warm(const struct io_model *m)
{
	return m->engine.now_ns >= m->origin_ns;
}

/* ---- requests ---- */

static void io_ask(struct io_model_slot *slot, enum request_op op, enum io_slot_step step,
		   uint64_t offset, uint64_t length)
{
	struct io_model *m = slot->thread->m;

	slot->step = step;
	slot->ask = (struct sim_ask){.op = op,
				     .arrival_ns = m->engine.now_ns,
				     .key = slot->key,
				     .offset = offset,
				     .length = length,
				     .in_place_written = op == REQ_CLOSE && slot->writes};
	virtual_store_ask(m->store, slot->thread->rank, &slot->ask, &slot->answer);
	engine_at(&m->engine, slot->answer.done_ns, &slot->actor);
}

static const struct {
	uint16_t count;
	int16_t hist, response;
} io_kinds[REQ_OPS] = {
	[REQ_READ] = {IO_READS, IO_HIST_READ, IO_HIST_READ_RESPONSE},
	[REQ_WRITE] = {IO_WRITES, IO_HIST_WRITE, IO_HIST_WRITE_RESPONSE},
	[REQ_STAT] = {IO_STATS, IO_HIST_STAT, IO_HIST_STAT_RESPONSE},
	[REQ_RENAME] = {IO_RENAMES, IO_HIST_RENAME, IO_HIST_RENAME_RESPONSE},
	[REQ_LIST] = {IO_LISTS, IO_HIST_LIST, IO_HIST_LIST_RESPONSE},
	[REQ_DELETE] = {IO_DELETES, IO_HIST_DELETE, IO_HIST_DELETE_RESPONSE},
	[REQ_BEGIN] = {IO_CREATES, IO_HIST_CREATE, -1},
	[REQ_UPDATE] = {IO_CREATES, IO_HIST_CREATE, -1},
	[REQ_OPEN] = {IO_OPENS, IO_HIST_OPEN, -1},
	[REQ_CLOSE] = {IO_CLOSES, IO_HIST_CLOSE, -1},
	[REQ_COMMIT] = {IO_CLOSES, IO_HIST_CLOSE, -1},
};

static void io_count(struct io_model_slot *slot)
{
	struct io_model_thread *t = slot->thread;
	struct hist *hists = t->m->out->tally.hists;
	uint64_t took = slot->answer.done_ns - slot->ask.arrival_ns;
	int response = io_kinds[slot->ask.op].response;

	if (!io_warm(t->m)) {
		io_row(t)[IO_WARMUP_OPERATIONS]++;
		return;
	}
	simulated_count(t->m->out, t->rank, &slot->ask, &slot->answer);
	if (slot->step == IO_MOVING)
		slot->moved += window_share(t->m->origin_ns, slot->ask.arrival_ns,
					    slot->answer.done_ns, slot->ask.length);
	if (!window_has(t->m->origin_ns, slot->ask.arrival_ns, slot->answer.done_ns))
		return;
	io_row(t)[io_kinds[slot->ask.op].count]++;
	hist_record(&hists[io_kinds[slot->ask.op].hist], took);
	if (response >= 0)
		hist_record(&hists[response], took);
}

/* ---- operations ---- */

/* Of what is under way when the first thread is over: the parts of it that lie before, and their bytes. */
static void io_under_way(const struct io_model_slot *slot, uint64_t now, uint64_t *row)
{
	const struct io_model *m = slot->thread->m;
	uint64_t from = max_u64(slot->began_ns, m->origin_ns), took;

	if (slot->step != IO_MOVING || slot->answer.done_ns <= now || now <= from)
		return;
	took = slot->answer.done_ns - slot->began_ns;
	row[IO_FIRST_DONE_PARTS] +=
		(uint64_t)((unsigned __int128)WINDOW_PARTS * (now - from) / took);
	row[IO_FIRST_DONE_BYTES] +=
		(uint64_t)((unsigned __int128)slot->item.length * (now - from) / took);
}

static void io_thread_over(struct io_model_thread *t)
{
	struct io_model *m = t->m;
	uint64_t now = excess_u64(m->engine.now_ns, m->origin_ns);

	t->over = true;
	t->end_ns = now;
	m->left--;
	if (m->first_ns != UINT64_MAX)
		return;
	m->first_ns = now;
	for (uint32_t i = 0; i < m->thread_count; i++) {
		uint64_t *row = io_row(&m->threads[i]);

		row[IO_FIRST_DONE_PARTS] += m->threads[i].done_parts;
		row[IO_FIRST_DONE_BYTES] += m->threads[i].done_bytes;
		for (uint64_t k = 0; k < m->o->depth; k++)
			io_under_way(&m->threads[i].slots[k], m->engine.now_ns, row);
	}
}

static bool io_may_begin(const struct io_model_thread *t)
{
	const struct io_options *o = t->m->o;

	return t->issued < t->limit && t->share.items &&
	       !(o->limits.bytes && t->m->whole && t->issued_bytes >= o->limits.bytes) &&
	       !(t->m->until_ns && t->m->engine.now_ns >= t->m->until_ns);
}

static void io_next(struct io_model_slot *slot)
{
	struct io_model_thread *t = slot->thread;

	if (io_may_begin(t)) {
		io_slot_begin(slot);
		return;
	}
	if (--t->flying == 0)
		io_thread_over(t);
}

static void io_operation_done(struct io_model_slot *slot)
{
	struct io_model_thread *t = slot->thread;
	struct simulated *out = t->m->out;
	uint64_t now = t->m->engine.now_ns;

	if (io_warm(t->m)) {
		t->done_parts += window_share(t->m->origin_ns, slot->began_ns, now, WINDOW_PARTS);
		t->done_bytes += slot->moved;
	}
	slot->moved = 0;
	if (io_warm(t->m) && window_has(t->m->origin_ns, slot->began_ns, now)) {
		timeline_add(out->tally.timeline, slot->began_ns + (now - slot->began_ns) / 2,
			     SECOND_OPERATIONS, 1);
		hist_record(&out->tally.hists[IO_HIST_OPERATION], now - slot->began_ns);
		if (t->m->whole) {
			io_row(t)[slot->writes ? IO_PUTS : IO_GETS]++;
			hist_record(&out->tally.hists[slot->writes ? IO_HIST_PUT : IO_HIST_GET],
				    now - slot->began_ns);
		}
	}
	io_next(slot);
}

/* A block: its object is opened by the first that wants it. */
static bool io_written_whole(const struct io_model *m)
{
	return m->o->operation == IO_DO_WRITE && !m->in_place;
}

static void io_move(struct io_model_slot *slot)
{
	struct io_model_handle *h = slot->handle;

	h->users++;
	h->last = h->last || slot->item.last;
	io_ask(slot, slot->writes ? REQ_WRITE : REQ_READ, IO_MOVING, slot->item.offset,
	       slot->item.length);
}

static void io_close(struct io_model_slot *slot, enum io_slot_step step)
{
	slot->handle->state = IO_HANDLE_BUSY;
	io_ask(slot, io_written_whole(slot->thread->m) ? REQ_COMMIT : REQ_CLOSE, step, 0, 0);
}

static void io_open(struct io_model_slot *slot)
{
	const struct io_model *m = slot->thread->m;

	slot->handle->number = slot->item.object;
	slot->handle->last = false;
	slot->handle->state = IO_HANDLE_BUSY;
	io_ask(slot,
	       m->o->operation == IO_DO_READ ? REQ_OPEN
	       : io_written_whole(m)         ? REQ_BEGIN
					     : REQ_UPDATE,
	       IO_OPENING, 0, 0);
}

static void io_want(struct io_model_slot *slot)
{
	struct io_model_thread *t = slot->thread;
	struct io_model_handle *h = &t->handles[slot->item.object % t->m->handle_count];

	slot->handle = h;
	if (h->state == IO_HANDLE_OPEN && h->number == slot->item.object) {
		io_move(slot);
	} else if (h->state == IO_HANDLE_BUSY || h->users) {
		slot->next = NULL;
		*(h->first ? &h->end->next : &h->first) = slot;
		h->end = slot;
	} else if (h->state == IO_HANDLE_OPEN) {
		io_close(slot, IO_EVICTING);
	} else {
		io_open(slot);
	}
}

static void io_wake(struct io_model_handle *h)
{
	struct io_model_slot *slot = h->first, *next;

	h->first = h->end = NULL;
	for (; slot; slot = next) {
		next = slot->next;
		io_want(slot);
	}
}

/* A block has moved. */
static void io_moved(struct io_model_slot *slot)
{
	struct io_model_handle *h = slot->handle;

	if (--h->users == 0 && h->last) {
		io_close(slot, IO_CLOSING);
		return;
	}
	io_operation_done(slot);
	if (h->users == 0)
		io_wake(h);
}

static void io_block_answered(struct io_model_slot *slot)
{
	struct io_model_handle *h = slot->handle;

	switch (slot->step) {
	case IO_OPENING:
		h->state = IO_HANDLE_OPEN;
		io_move(slot);
		io_wake(h);
		return;
	case IO_EVICTING:
		io_open(slot);
		return;
	case IO_MOVING:
		io_moved(slot);
		return;
	default:
		h->state = IO_HANDLE_CLOSED;
		io_operation_done(slot);
		io_wake(h);
	}
}

/* A whole object: opened or begun, moved piece by piece, closed or published. */
static void io_whole_answered(struct io_model_slot *slot)
{
	const struct io_model *m = slot->thread->m;
	uint64_t left = slot->item.length - slot->at, piece = min_u64(m->o->block, left), at;

	if (slot->step == IO_CLOSING) {
		io_operation_done(slot);
	} else if (left) {
		at = slot->at;
		slot->at += piece;
		io_ask(slot, slot->writes ? REQ_WRITE : REQ_READ, IO_MOVING, at, piece);
	} else {
		io_ask(slot, slot->writes ? REQ_COMMIT : REQ_CLOSE, IO_CLOSING, 0, 0);
	}
}

/* A name: one request; an object that is made is also closed, and one that is renamed gets its name back. */
static void io_name_answered(struct io_model_slot *slot)
{
	enum request_op op = slot->ask.op;

	if (op == REQ_UPDATE || op == REQ_BEGIN)
		io_ask(slot, op == REQ_BEGIN ? REQ_COMMIT : REQ_CLOSE, IO_ONLY, 0, 0);
	else if (op == REQ_RENAME && slot->at++ == 0)
		io_ask(slot, REQ_RENAME, IO_ONLY, 0, 0);
	else
		io_operation_done(slot);
}

static void io_answered(struct engine *e, struct actor *a)
{
	struct io_model_slot *slot = (struct io_model_slot *)a;

	(void)e;
	io_count(slot);
	if (slot->thread->m->whole)
		io_whole_answered(slot);
	else if (io_moves(slot->thread->m->o))
		io_block_answered(slot);
	else
		io_name_answered(slot);
}

static enum request_op io_name_request(const struct io_model *m)
{
	switch (m->o->operation) {
	case IO_DO_STAT:
		return REQ_STAT;
	case IO_DO_CREATE:
		return m->in_place ? REQ_UPDATE : REQ_BEGIN;
	case IO_DO_RENAME:
		return REQ_RENAME;
	case IO_DO_LIST:
		return REQ_LIST;
	default:
		return REQ_DELETE;
	}
}

static void io_slot_begin(struct io_model_slot *slot)
{
	struct io_model_thread *t = slot->thread;
	struct io_model *m = t->m;
	uint64_t number = t->issued++;
	char key[OBJECT_KEY_BYTES];

	io_share_next(&t->share, &slot->item);
	slot->began_ns = m->engine.now_ns;
	slot->at = 0;
	slot->writes =
		m->o->operation == IO_DO_WRITE ||
		(m->o->operation == IO_DO_MIXED && random_at(t->key, number, 0) >= m->mixed_below);
	if (virtual_store_draws(m->store)) {
		io_set_key(&m->set, t->share.rank, slot->item.object, key);
		slot->key = sim_key(key);
	}
	if (m->whole) {
		slot->item.length = io_set_bytes(&m->set, t->share.rank, slot->item.object);
		t->issued_bytes += slot->item.length;
		io_ask(slot, slot->writes ? REQ_BEGIN : REQ_OPEN, IO_OPENING, 0, 0);
	} else if (io_moves(m->o)) {
		io_want(slot);
	} else {
		slot->item.length = 0;
		io_ask(slot, io_name_request(m), IO_ONLY, 0, 0);
	}
}

/* ---- the phase ---- */

static int io_refuse(const struct io_options *o, const char *path, struct err *err)
{
	const char *what = io_mix_given(o)                                ? "mix"
			   : pace_rate(&o->pace, 1) > 0                   ? "rate"
			   : o->operation == IO_DO_DELETE && o->batch > 1 ? "batch"
									  : NULL;

	return what ? err_set(err, -ENOTSUP, "%s/%s: is not simulated", path, what) : 0;
}

static int io_thread_make(struct io_model *m, uint32_t i, struct err *err)
{
	const struct io_options *o = m->o;
	struct io_model_thread *t = &m->threads[i];
	uint32_t thread = i % (uint32_t)o->threads;
	uint64_t rank = i / (uint32_t)o->threads, from = rank;
	uint64_t local = m->s->places[rank].local_ranks;

	if (io_only_reads(o) && o->shift != SHIFT_NONE)
		from = (rank + (o->shift == SHIFT_RANK ? 1 : local)) % m->s->ranks;
	t->m = m;
	t->rank = (uint32_t)rank;
	t->key = random_at(m->s->seed ^ io_thread_stream, rank, thread);
	io_share_init(&t->share, &m->set, o, m->whole, from, thread);
	t->limit = io_limit(o, t->share.items, m->whole);
	t->slots = calloc(o->depth, sizeof(*t->slots));
	t->handles = calloc(m->handle_count, sizeof(*t->handles));
	if (!t->slots || !t->handles)
		return err_set(err, -ENOMEM, "no memory for the threads of io");
	for (uint64_t k = 0; k < o->depth; k++) {
		t->slots[k].thread = t;
		t->slots[k].actor.wake = io_answered;
	}
	t->flying = (uint32_t)o->depth;
	return 0;
}

static void io_measure_all(struct io_model *m)
{
	for (uint32_t i = 0; i < m->thread_count; i++) {
		struct io_model_thread *t = &m->threads[i];
		uint64_t *row = io_row(t);

		row[IO_FIRST_DONE_NS] = m->first_ns;
		row[IO_LAST_DONE_NS] = max_u64(row[IO_LAST_DONE_NS], t->end_ns);
		row[IO_DONE_PARTS] += t->done_parts;
		row[IO_DONE_BYTES] += t->done_bytes;
		row[TALLY_WALL_NS] = max_u64(row[TALLY_WALL_NS], t->end_ns);
	}
	for (uint32_t rank = 0; rank < m->s->ranks; rank++) {
		uint64_t *row = simulated_row(m->out, rank);

		row[IO_DONE] = window_whole(row[IO_DONE_PARTS]);
		row[IO_FIRST_DONE] = window_whole(row[IO_FIRST_DONE_PARTS]);
		row[TALLY_OPERATIONS] = row[IO_DONE];
	}
	m->out->seconds = (double)excess_u64(m->engine.now_ns, m->origin_ns) / 1e9;
	m->out->events = m->engine.events;
}

static void io_model_open(struct io_model *m)
{
	const struct io_options *o = m->o;
	const struct backend_ops *ops = m->store->described->section->owner;

	io_set_of(&m->set, o, m->s->seed, m->s->ranks);
	m->set.complete = true;
	m->whole = io_whole(o, ops->capabilities);
	m->in_place = ops->capabilities & BACKEND_UPDATE;
	m->thread_count = m->left = m->s->ranks * (uint32_t)o->threads;
	m->handle_count = (uint32_t)min_u64(o->objects ? o->objects : 1, o->depth + IO_HANDLES_MIN);
	m->origin_ns = o->limits.warmup_ns;
	m->until_ns = o->limits.seconds_ns ? m->origin_ns + o->limits.seconds_ns : 0;
	m->mixed_below = o->read_share >= 1 ? UINT64_MAX : (uint64_t)(o->read_share * 0x1p64);
	m->first_ns = UINT64_MAX;
	m->out->counts_operations = true;
	m->out->from_ns = m->origin_ns;
	timeline_init(m->out->tally.timeline, m->origin_ns);
}

int simulate_io(const struct simulation *s, const struct job_phase *phase, struct simulated *out,
		struct err *err)
{
	struct io_model m = {.s = s, .out = out, .o = phase->options};
	const struct job_store *store;
	int rc = phase_store_find(s->job, phase, &store, err);

	if (rc == 0)
		rc = io_refuse(m.o, phase->path, err);
	if (rc < 0)
		return rc;
	m.store = simulated_store(s, out, store);
	io_model_open(&m);
	m.threads = calloc(m.thread_count, sizeof(*m.threads));
	if (!m.threads)
		rc = err_set(err, -ENOMEM, "no memory for the threads of io");
	for (uint32_t i = 0; rc == 0 && i < m.thread_count; i++)
		rc = io_thread_make(&m, i, err);
	for (uint32_t k = 0; rc == 0 && k < m.o->depth; k++)
		for (uint32_t i = 0; i < m.thread_count; i++)
			io_next(&m.threads[i].slots[k]);
	if (rc == 0)
		rc = engine_run(&m.engine, err);
	if (rc == 0)
		io_measure_all(&m);
	for (uint32_t i = 0; m.threads && i < m.thread_count; i++) {
		free(m.threads[i].slots);
		free(m.threads[i].handles);
	}
	free(m.threads);
	engine_free(&m.engine);
	return rc;
}
