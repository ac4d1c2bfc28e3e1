/* The loop of a thread: it starts operations while there are free slots and their time has come, sends their requests
 * together, and takes what has come back one step further. Its clock is the queue's last stamp, so that an operation reads
 * the clock no more often than the queue does. */
#include "workloads/io/work.h"
#include "workloads/io/meter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HANDLES_MIN = 64 };
static const uint64_t thread_stream = 0x746872656164; /* "thread" */

uint64_t io_buffer_bytes(const struct io_options *o, const struct store *store)
{
	uint64_t window = queue_buffer_bytes(store, o->block);

	return (window + PATTERN_BLOCK - 1) / PATTERN_BLOCK * PATTERN_BLOCK;
}

static uint32_t io_handles(const struct io_options *o, bool whole)
{
	uint64_t wanted = o->depth + HANDLES_MIN;

	if (!io_moves(o) || whole)
		return 0;
	return (uint32_t)(o->objects < wanted ? o->objects : wanted);
}

/* Whether operations differ in how many bytes they move. */
static bool io_varied(const struct io_options *o, bool whole)
{
	return io_moves(o) && (whole || io_size_of(o) % o->block);
}

uint64_t io_thread_bytes(const struct io_options *o, bool whole, bool content)
{
	uint64_t slot = sizeof(struct io_slot);

	if (!io_moves(o) || whole)
		slot += sizeof(struct io_name) +
			(o->batch > 1 ? o->batch : 0) * sizeof(struct request_key);
	if (io_moves(o) && content)
		slot += o->block;
	return sizeof(struct io_thread) + sizeof(struct crew_thread) + meter_bytes(io_meter(o)) +
	       (io_varied(o, whole) ? sizeof(struct done_series) : 0) + slot * o->depth +
	       turn_bytes(o->depth) + io_handles(o, whole) * sizeof(struct io_handle);
}

static void io_slots_init(struct io_thread *t)
{
	const struct io_options *o = t->work->options;
	uint64_t bytes = io_buffer_bytes(o, t->work->store);

	for (uint64_t i = o->depth; i-- > 0;) {
		struct io_slot *slot = &t->slots[i];

		if (t->member->buffer)
			slot->buffer = (char *)t->member->buffer + i * bytes;
		if (t->names)
			slot->name = &t->names[i];
		if (slot->name && t->keys)
			slot->name->keys = &t->keys[i * o->batch];
		slot->next = t->free;
		t->free = slot;
	}
	for (uint32_t i = 0; t->handles && i < t->handle_count; i++)
		t->handles[i].tail = &t->handles[i].waiting;
}

int io_thread_open(struct io_thread *t, struct io_work *work, struct crew_thread *w,
		   struct err *err)
{
	const struct io_options *o = work->options;
	int rc;

	t->work = work;
	t->member = w;
	t->handle_count = io_handles(o, work->whole);
	t->slots = calloc(o->depth, sizeof(*t->slots));
	if (t->handle_count)
		t->handles = calloc(t->handle_count, sizeof(*t->handles));
	else
		t->names = calloc(o->depth, sizeof(*t->names));
	if (o->batch > 1)
		t->keys = calloc(o->depth * o->batch, sizeof(*t->keys));
	if (io_varied(o, work->whole))
		t->moved = calloc(1, sizeof(*t->moved));
	if (!t->slots || (!t->handles && !t->names) || (o->batch > 1 && !t->keys) ||
	    (io_varied(o, work->whole) && !t->moved))
		return err_set(err, -ENOMEM, "no memory for %llu operations in flight",
			       (unsigned long long)o->depth);
	rc = turn_open(&t->turn, &w->queue, work->store->clock, (uint32_t)o->depth, err);
	if (rc < 0)
		return rc;
	io_slots_init(t);
	if (t->moved)
		done_series_clear(t->moved);
	done_series_clear(&t->series);
	t->first_failed = UINT64_MAX;
	if (io_reads(o) && work->store->cache != CACHE_UNKNOWN)
		residency_init(&t->residency, o->cold.evidence_bytes);
	t->key = random_at(work->set->seed ^ thread_stream, work->store->place.rank,
			   (uint64_t)(t - work->threads));
	t->mixed_below = o->read_share >= 1 ? UINT64_MAX : (uint64_t)(o->read_share * 0x1p64);
	return 0;
}

void io_thread_close(struct io_thread *t)
{
	free(t->slots);
	turn_close(&t->turn);
	free(t->handles);
	free(t->names);
	free(t->keys);
	free(t->moved);
	io_mix_close(&t->mix);
}

void io_send(struct io_thread *t, struct io_slot *slot, uint32_t step)
{
	slot->step = step;
	slot->req.user = slot;
	turn_add(&t->turn, &slot->req);
}

void io_let_go(struct io_thread *t, struct io_slot *slot)
{
	if (t->mix.users)
		io_mix_end(&t->mix, &slot->turn, slot->failed);
	atomic_store_explicit(&slot->live_ns, 0, memory_order_relaxed);
	slot->next = t->free;
	t->free = slot;
}

void io_count(struct io_thread *t, struct io_slot *slot)
{
	uint64_t from_ns = slot->due_ns ? slot->due_ns : slot->begin_ns;
	uint64_t now_ns = slot->req.answer.done_ns, origin_ns = t->work->origin_ns;
	uint64_t at_ns = now_ns > origin_ns ? now_ns - origin_ns : 0;

	t->done++;
	t->done_bytes += slot->item.length;
	hist_record(meter_hist(&t->member->meter, IO_HIST_OPERATION),
		    now_ns > from_ns ? now_ns - from_ns : 0);
	done_series_add(&t->series, at_ns, 1);
	if (t->moved)
		done_series_add(t->moved, at_ns, slot->item.length);
	atomic_store_explicit(&t->member->files, t->done, memory_order_relaxed);
}

void io_done(struct io_thread *t, struct io_slot *slot)
{
	io_count(t, slot);
	io_let_go(t, slot);
}

void io_fails(struct io_thread *t, struct io_slot *slot, int rc, const char *text)
{
	struct crew_thread *w = t->member;

	slot->failed = true;
	if (slot->number < t->first_failed)
		t->first_failed = slot->number;
	crew_fail(w, &slot->req, rc, text ? text : request_text(&slot->req));
	if (t->work->options->on_error == ON_ERROR_STOP) {
		t->rc = t->rc ? t->rc : rc;
		t->over = true;
	}
}

void io_fail(struct io_thread *t, struct io_slot *slot, int rc, const char *text)
{
	io_fails(t, slot, rc, text);
	io_let_go(t, slot);
}

void io_take(struct io_thread *t, struct io_slot *slot, struct io_item *item)
{
	pace_take(&t->pace, slot->begin_ns);
	t->issued++;
	io_share_next(&t->share, item);
}

static void io_start(struct io_thread *t, uint64_t now_ns)
{
	const struct io_options *o = t->work->options;
	struct io_slot *slot = t->free;

	t->free = slot->next;
	slot->due_ns = pace_take(&t->pace, now_ns);
	if (slot->due_ns && now_ns > slot->due_ns && now_ns - slot->due_ns > t->late_start_ns)
		t->late_start_ns = now_ns - slot->due_ns;
	slot->begin_ns = now_ns;
	slot->failed = false;
	slot->number = t->issued++;
	io_share_next(&t->share, &slot->item);
	atomic_store_explicit(&slot->live_object, slot->item.object, memory_order_relaxed);
	atomic_store_explicit(&slot->live_ns, now_ns, memory_order_relaxed);
	slot->writes = o->operation == IO_DO_WRITE ||
		       (o->operation == IO_DO_MIXED &&
			random_at(t->key, slot->number, 0) >= t->mixed_below);
	if (t->work->whole)
		io_whole_begin(t, slot);
	else if (slot->name)
		io_names_begin(t, slot);
	else
		io_data_begin(t, slot);
}

/* Starts what may start now. Returns when the next one may, UINT64_MAX: nothing waits for its time. */
static uint64_t io_start_all(struct io_thread *t, uint64_t now_ns)
{
	const struct io_work *work = t->work;
	uint64_t bytes = work->whole && work->options->limits.bytes ? work->options->limits.bytes
								    : UINT64_MAX;

	while (t->free && !t->over) {
		uint64_t next_ns = pace_next(&t->pace);

		if (t->issued >= t->limit || t->issued_bytes >= bytes) {
			t->over = true;
		} else if (work->until_ns &&
			   (now_ns >= work->until_ns || next_ns >= work->until_ns)) {
			t->over = true;
			t->timed_out = true;
		} else if (next_ns > now_ns) {
			return next_ns;
		} else {
			io_start(t, now_ns);
		}
	}
	return UINT64_MAX;
}

/* End of the warm-up: resets all counters. */
static void io_end_warmup(struct io_thread *t)
{
	t->warmup_operations += meter_clear(&t->member->meter, t->work->origin_ns);
	done_series_clear(&t->series);
	if (t->moved)
		done_series_clear(t->moved);
	t->done = t->done_bytes = t->gets = t->puts = 0;
	t->fill_ns = t->verify_ns = t->late_start_ns = 0;
	t->entries = t->absent = t->payload_errors = 0;
	t->warm = true;
}

static void io_step_all(struct io_thread *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct io_slot *slot = t->turn.back[i]->user;

		if (t->work->whole)
			io_whole_step(t, slot);
		else if (slot->name)
			io_names_step(t, slot);
		else
			io_data_step(t, slot);
	}
	if (!t->warm && t->member->queue.now_ns >= t->work->origin_ns)
		io_end_warmup(t);
	meter_live(&t->member->meter, t->member->queue.now_ns);
	crew_look(t->member);
}

bool io_halted(const struct io_thread *t)
{
	return atomic_load_explicit(&t->member->crew->halt, memory_order_relaxed);
}

static void io_loop(struct io_thread *t)
{
	uint64_t now_ns = clock_now(t->work->store->clock), next_ns;

	for (;;) {
		t->over = t->over || io_halted(t);
		next_ns = io_start_all(t, now_ns);
		if (!turn_submit(&t->turn) && next_ns == UINT64_MAX)
			break;
		io_step_all(t, turn_wait(&t->turn, now_ns, next_ns));
		now_ns = turn_now(&t->turn, next_ns);
	}
}

int io_thread_run(struct crew_thread *w, uint64_t number)
{
	struct io_work *work = w->crew->argument;
	struct io_thread *t = &work->threads[number];
	uint64_t end_ns;
	int rc;

	t->over = t->share.items == 0;
	t->working = true;
	clock_sleep_until(work->store->clock, work->start_ns);
	io_loop(t);
	rc = t->handles ? io_data_end(t) : 0;
	end_ns = w->queue.now_ns > work->origin_ns ? w->queue.now_ns - work->origin_ns : 0;
	if (!t->mark_ns)
		t->mark_ns = end_ns;
	t->end_ns = end_ns;
	t->working = false;
	if (t->rc < 0)
		return t->rc;
	if (rc < 0)
		return rc;
	return io_halted(t) ? -ECANCELED : 0;
}

/* Main thread, while the thread works: only what is atomic, and what does not change. */
uint64_t io_thread_waits(const struct crew *p, uint32_t thread, uint64_t now_ns,
			 char key[OBJECT_KEY_BYTES])
{
	const struct io_work *work = p->argument;
	const struct io_thread *t = &work->threads[thread];
	uint64_t oldest_ns = now_ns, object = 0;

	for (uint64_t i = 0; i < work->options->depth; i++) {
		const struct io_slot *s = &t->slots[i];
		uint64_t since_ns = atomic_load_explicit(&s->live_ns, memory_order_relaxed);

		if (!since_ns || since_ns >= oldest_ns)
			continue;
		oldest_ns = since_ns;
		object = atomic_load_explicit(&s->live_object, memory_order_relaxed);
	}
	if (oldest_ns < now_ns)
		io_set_key(work->set, t->share.rank, object, key);
	return now_ns - oldest_ns;
}
