/* SPDX-License-Identifier: Apache-2.0 */
/* How the operations of a thread begin, wait for others of their key, and end. The loop is that of
 * common/slots.h. */
#include "workloads/replay/work.h"

#include <stdlib.h>

#include "core/content/random.h"
#include "workloads/replay/objects.h"

uint64_t replay_buffer_bytes(const struct replay_options *o, const struct store *store)
{
	uint64_t bytes = queue_buffer_bytes(store, o->chunk);

	return (bytes + PATTERN_BLOCK - 1) / PATTERN_BLOCK * PATTERN_BLOCK;
}

uint64_t replay_thread_bytes(const struct replay_options *o, bool content)
{
	uint64_t slot = slots_memory(1, sizeof(struct replay_slot));

	if (content)
		slot += o->chunk;
	return sizeof(struct replay_thread) + crew_thread_bytes(&replay_meter) + slot * o->depth;
}

static uint64_t work_due(const void *thread);
static void work_take(void *thread, struct slot *slot);
static void work_step(void *thread, struct slot *slot);
static void work_row_key(const void *thread, uint64_t row, char key[OBJECT_KEY_BYTES]);

static const struct slot_hooks work_hooks = {
	.due = work_due, .begin = work_take, .step = work_step, .key = work_row_key};

int replay_thread_open(struct replay_thread *t, struct replay_work *work, struct crew_thread *w,
		       struct err *err)
{
	const struct replay_options *o = work->options;
	uint64_t number = (uint64_t)(t - work->threads);
	int rc;

	t->work = work;
	t->member = w;
	t->list = &work->rows->lists[number];
	t->slots = (struct slots){.hooks = &work_hooks,
				  .owner = t,
				  .member = w,
				  .depth = (uint32_t)o->depth,
				  .slot_bytes = sizeof(struct replay_slot),
				  .buffers = w->buffer,
				  .buffer_bytes = replay_buffer_bytes(o, work->store),
				  .goes_on = o->on_error != ON_ERROR_STOP};
	t->key = random_at(work->seed ^ REPLAY_THREAD_STREAM, work->store->place.rank, number);
	rc = slots_open(&t->slots, err);
	for (uint32_t i = 0; rc == 0 && i < o->depth; i++) {
		struct replay_slot *slot = slots_at(&t->slots, i);

		slot->content.clock = work->store->clock;
		slot->content.verify = (enum verify)o->verify;
	}
	return rc;
}

static bool replay_reads(const struct replay_slot *slot)
{
	return slot->row->operation == TRACE_READ;
}

/* A read waits for a write or delete of its key, and these for any operation of it. */
static bool work_may_begin(const struct replay_key *key, const struct replay_slot *slot)
{
	return !key->writing && (replay_reads(slot) || !key->readers);
}

static struct replay_key *work_key(const struct replay_thread *t, const struct replay_slot *slot)
{
	return &t->work->rows->keys[slot->row->key];
}

static void work_begin(struct replay_thread *t, struct replay_slot *slot, struct replay_key *key)
{
	if (replay_reads(slot))
		key->readers++;
	else
		key->writing = true;
	slot->s.begin_ns = t->slots.now_ns;
	replay_operation_begin(t, slot);
}

/* The first in the line of a key. */
static struct replay_slot *work_first(const struct replay_key *key)
{
	return list_member(key->waiting.first, struct replay_slot, s.link);
}

/* Those in the line of a key may begin, in their order. When the phase ends early they are
 * dropped. */
static void work_wake(struct replay_thread *t, struct replay_key *key)
{
	bool drops = t->slots.rc < 0 || slots_halted(&t->slots);

	while (!list_empty(&key->waiting) && (drops || work_may_begin(key, work_first(key)))) {
		struct replay_slot *slot = work_first(key);

		list_take(&key->waiting);
		if (drops) {
			t->dropped++;
			slots_free(&t->slots, &slot->s);
		} else {
			work_begin(t, slot, key);
		}
	}
}

static void work_count(struct replay_thread *t, const struct replay_slot *slot)
{
	static const enum replay_hist hists[] = {[TRACE_READ] = REPLAY_HIST_READ,
						 [TRACE_WRITE] = REPLAY_HIST_WRITE,
						 [TRACE_DELETE] = REPLAY_HIST_DELETE};
	const struct replay_row *row = slot->row;

	t->done++;
	meter_operation(&t->member->meter, slot->s.begin_ns, slot->s.req.answer.done_ns);
	t->tiers[row->tier].count[row->operation]++;
	t->tiers[row->tier].bytes[row->operation] += row->bytes;
	hist_record(meter_hist(&t->member->meter, (int)hists[row->operation]),
		    slot_took_ns(&slot->s));
	atomic_store_explicit(&t->member->files, t->done, memory_order_relaxed);
}

static uint64_t work_due(const void *thread)
{
	const struct replay_thread *t = thread;

	if (t->next >= t->list->count)
		return SLOTS_OVER;
	return t->work->start_ns + t->list->rows[t->next].due_ns;
}

/* Takes up the next row. */
static void work_take(void *thread, struct slot *at)
{
	struct replay_slot *slot = (struct replay_slot *)at;
	struct replay_thread *t = thread;
	struct replay_key *key;

	slot->row = &t->list->rows[t->next];
	slots_mark(&t->slots, at, t->work->timed ? work_due(t) : 0, t->next);
	t->next++;
	key = work_key(t, slot);
	if (list_empty(&key->waiting) && work_may_begin(key, slot)) {
		work_begin(t, slot, key);
		return;
	}
	t->waited++;
	list_append(&key->waiting, &at->link);
}

/* Of an operation that has ended, the slot is free, and those that wait for its key may begin. */
static void work_step(void *thread, struct slot *at)
{
	struct replay_slot *slot = (struct replay_slot *)at;
	struct replay_thread *t = thread;
	struct replay_key *key = work_key(t, slot);

	if (!replay_operation_step(t, slot))
		return;
	if (!at->failed)
		work_count(t, slot);
	if (replay_reads(slot))
		key->readers--;
	else
		key->writing = false;
	slots_free(&t->slots, at);
	work_wake(t, key);
}

int replay_thread_run(struct crew_thread *w, uint64_t number)
{
	struct replay_work *work = w->crew->argument;

	return slots_run(&work->threads[number].slots, work->start_ns, work->until_ns);
}

static void work_row_key(const void *thread, uint64_t number, char key[OBJECT_KEY_BYTES])
{
	const struct replay_thread *t = thread;
	const struct replay_row *row = &t->list->rows[number];

	replay_object_key(t->work->options->folder, row->tier,
			  trace_names_text(&t->work->rows->names, row->key), key);
}
