/* SPDX-License-Identifier: Apache-2.0 */
/* What all operations of a thread have in common: its memory, and how they begin, end and are
 * counted. */
#include "workloads/io/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/window.h"
#include "core/numbers.h"

static const uint64_t thread_stream = 0x746872656164; /* "thread" */

uint64_t io_buffer_bytes(const struct io_options *o, const struct store *store)
{
	uint64_t window = queue_buffer_bytes(store, o->block);

	return (window + PATTERN_BLOCK - 1) / PATTERN_BLOCK * PATTERN_BLOCK;
}

static uint32_t io_handles(const struct io_options *o, bool whole)
{
	uint64_t wanted = o->depth + IO_HANDLES_MIN;

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
	uint64_t slot = slots_memory(1, sizeof(struct io_slot));

	if (!io_moves(o) || whole)
		slot += sizeof(struct io_name) +
			(o->batch > 1 ? o->batch : 0) * sizeof(struct request_key);
	if (io_moves(o) && content)
		slot += o->block;
	return sizeof(struct io_thread) + crew_thread_bytes(io_meter(o)) +
	       (io_varied(o, whole) ? sizeof(struct done_series) : 0) + slot * o->depth +
	       io_handles(o, whole) * sizeof(struct io_handle);
}

static uint64_t io_due(const void *thread)
{
	const struct io_thread *t = thread;
	uint64_t bytes = t->work->options->limits.bytes;

	if (t->issued >= t->limit || (bytes && t->work->whole && t->issued_bytes >= bytes))
		return SLOTS_OVER;
	return pace_next(&t->pace);
}

static void io_begin(void *thread, struct slot *at)
{
	struct io_slot *slot = (struct io_slot *)at;
	struct io_thread *t = thread;
	const struct io_options *o = t->work->options;

	slot->number = t->issued++;
	slot->moved = 0;
	io_share_next(&t->share, &slot->item);
	slots_mark(&t->slots, &slot->s, pace_take(&t->pace, slot->s.begin_ns), slot->item.object);
	slot->writes = o->operation == IO_DO_WRITE ||
		       (o->operation == IO_DO_MIXED &&
			random_at(t->key, slot->number, 0) >= t->mixed_below);
	t->operations->begin(t, slot);
}

static void io_answered(void *thread, struct slot *slot)
{
	struct io_thread *t = thread;

	t->operations->steps[slot->step](t, (struct io_slot *)slot);
}

void io_thread_drop(void *thread)
{
	struct io_thread *t = thread;

	t->warmup_operations += meter_clear(&t->member->meter, t->work->warmup.end_ns);
	done_series_clear(&t->series);
	if (t->moved)
		done_series_clear(t->moved);
	t->done = t->done_parts = t->done_bytes = t->gets = t->puts = 0;
	t->fill_ns = t->verify_ns = t->slots.late_start_ns = 0;
	t->entries = t->absent = t->payload_errors = 0;
}

static int io_rest(void *thread)
{
	struct io_thread *t = thread;

	return t->operations->end ? t->operations->end(t) : 0;
}

static void io_key(const void *thread, uint64_t object, char key[OBJECT_KEY_BYTES])
{
	const struct io_thread *t = thread;

	io_set_key(t->work->set, t->share.rank, object, key);
}

static const struct slot_hooks io_hooks = {.due = io_due,
					   .begin = io_begin,
					   .step = io_answered,
					   .drop = io_thread_drop,
					   .end = io_rest,
					   .key = io_key};

static int io_slots_open(struct io_thread *t, struct err *err)
{
	const struct io_options *o = t->work->options;
	int rc;

	t->slots = (struct slots){.hooks = &io_hooks,
				  .owner = t,
				  .member = t->member,
				  .warm = o->limits.warmup_ns == 0,
				  .depth = (uint32_t)o->depth,
				  .slot_bytes = sizeof(struct io_slot),
				  .buffers = t->member->buffer,
				  .buffer_bytes = io_buffer_bytes(o, t->work->store),
				  .goes_on = o->on_error != ON_ERROR_STOP};
	rc = slots_open(&t->slots, err);
	for (uint32_t i = 0; rc == 0 && t->names && i < o->depth; i++) {
		struct io_slot *slot = slots_at(&t->slots, i);

		slot->name = &t->names[i];
		slot->name->keys = t->keys ? &t->keys[i * o->batch] : NULL;
	}
	return rc;
}

int io_thread_open(struct io_thread *t, struct io_work *work, struct crew_thread *w,
		   struct err *err)
{
	const struct io_options *o = work->options;
	int rc;

	t->work = work;
	t->operations = work->whole   ? &io_object_operations
			: io_moves(o) ? &io_block_operations
				      : &io_name_operations;
	t->member = w;
	t->handle_count = io_handles(o, work->whole);
	if (t->handle_count)
		t->handles = calloc(t->handle_count, sizeof(*t->handles));
	else
		t->names = calloc(o->depth, sizeof(*t->names));
	if (o->batch > 1)
		t->keys = calloc(o->depth * o->batch, sizeof(*t->keys));
	if (io_varied(o, work->whole))
		t->moved = calloc(1, sizeof(*t->moved));
	if ((!t->handles && !t->names) || (o->batch > 1 && !t->keys) ||
	    (io_varied(o, work->whole) && !t->moved))
		return err_set(err, -ENOMEM, "no memory for %llu operations in flight",
			       (unsigned long long)o->depth);
	rc = io_slots_open(t, err);
	if (rc < 0)
		return rc;
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
	slots_close(&t->slots);
	free(t->handles);
	free(t->names);
	free(t->keys);
	free(t->moved);
	io_mix_close(&t->mix);
}

void io_let_go(struct io_thread *t, struct io_slot *slot)
{
	if (t->mix.users)
		io_mix_end(&t->mix, &slot->turn, slot->s.failed);
	slots_free(&t->slots, &slot->s);
}

bool io_measured(const struct io_thread *t, const struct io_slot *slot)
{
	return window_has(t->member->meter.from_ns, slot->s.begin_ns, slot->s.req.answer.done_ns);
}

uint64_t io_inside(const struct io_thread *t, const struct io_slot *slot, uint64_t amount)
{
	const struct answer *a = &slot->s.req.answer;

	return window_share(t->work->warmup.end_ns, a->submit_ns, a->done_ns, amount);
}

void io_count(struct io_thread *t, struct io_slot *slot)
{
	uint64_t now_ns = slot->s.req.answer.done_ns, begin_ns = slot->s.begin_ns;
	uint64_t origin_ns = t->work->warmup.end_ns, from_ns = excess_u64(begin_ns, origin_ns);
	uint64_t until_ns = excess_u64(now_ns, origin_ns);
	uint64_t parts = window_share(origin_ns, begin_ns, now_ns, WINDOW_PARTS);

	t->done++;
	t->done_parts += parts;
	t->done_bytes += slot->moved;
	if (meter_operation(&t->member->meter, begin_ns, now_ns))
		hist_record(meter_hist(&t->member->meter, IO_HIST_OPERATION),
			    slot_took_ns(&slot->s));
	done_series_spread(&t->series, from_ns, until_ns, parts);
	if (t->moved)
		done_series_spread(t->moved, from_ns, until_ns, slot->moved);
	atomic_store_explicit(&t->member->files, t->done, memory_order_relaxed);
}

void io_fails(struct io_thread *t, struct io_slot *slot, int rc, const char *text)
{
	t->first_failed = min_u64(t->first_failed, slot->number);
	slots_fail(&t->slots, &slot->s, rc, text);
}

void io_end(struct io_thread *t, struct io_slot *slot, int rc, const char *text)
{
	if (rc < 0)
		io_fails(t, slot, rc, text);
	else
		io_count(t, slot);
	io_let_go(t, slot);
}

void io_take(struct io_thread *t, struct io_slot *slot, struct io_item *item)
{
	pace_take(&t->pace, slot->s.begin_ns);
	t->issued++;
	io_share_next(&t->share, item);
}

int io_thread_run(struct crew_thread *w, uint64_t number)
{
	struct io_work *work = w->crew->argument;
	struct io_thread *t = &work->threads[number];
	uint64_t end_ns;
	int rc;

	t->working = true;
	t->slots.warmup = &work->warmup;
	rc = slots_run(&t->slots, work->start_ns, work->until_ns);
	end_ns = w->queue.now_ns > work->warmup.end_ns ? w->queue.now_ns - work->warmup.end_ns : 0;
	if (!t->mark_ns)
		t->mark_ns = end_ns;
	t->end_ns = end_ns;
	t->working = false;
	return rc;
}
