/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of a training in virtual time: that of workloads/train/loader/reader_loop.c, of which only what takes time is left. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/train.h"

static void model_slot_begin(struct model_reader *w, struct model_slot *r, uint64_t position);
static void model_slot_take(struct model_reader *w, struct model_slot *r);
static void model_slot_advance(struct model_reader *w, struct model_slot *r);
static void model_pump(struct model_reader *w);

static const uint64_t preprocess_stream = 0x70726570; /* "prep", as readers have it */

static bool model_streams(const struct model_reader *w)
{
	return w->rank->sequence.interleave > 0;
}

/* Charges the time since the last mark to account, as far as the rank waited for this batch. */
static void model_mark(struct model_reader *w, enum account account, uint64_t to)
{
	const struct model_rank *r = w->rank;
	uint64_t from = w->mark_ns;

	if (to <= from)
		return;
	w->mark_ns = to;
	if (r->awaited != w->step + 1)
		return;
	if (from < r->start_ns)
		from = r->start_ns;
	if (to > from)
		w->part->blamed[account] += to - from;
}

/* ---- requests ---- */

static void model_flight_done(struct engine *e, struct actor *a);

static void model_send(struct model_reader *w, struct model_slot *r, enum request_op op,
		       uint32_t object, uint64_t offset, uint64_t length, uint64_t pieces)
{
	struct model_rank *rank = w->rank;
	struct engine *e = &rank->m->engine;
	struct model_flight *f = w->free[--w->free_count];

	f->slot = r;
	f->ask = (struct sim_ask){
		.op = op,
		.arrival_ns = e->now_ns,
		.key = r->keys[object],
		.offset = offset,
		.length = length,
		.pieces = (uint32_t)pieces,
		.rounds = (uint32_t)((pieces + rank->m->depth - 1) / rank->m->depth)};
	r->flying++;
	virtual_store_ask(model_input(rank)->store, rank->rank, &f->ask, &f->answer);
	engine_at(e, f->answer.done_ns, &f->actor);
}

/* The next piece of the extent under way; or all of it, of which `depth` pieces at a time wait one after the other. */
static bool model_send_extent(struct model_reader *w, struct model_slot *r)
{
	const struct extent *e = &r->extents[r->extent];
	uint64_t most = model_input(w->rank)->request_bytes, left = e->offset + e->length - r->at;
	uint64_t piece = e->step && e->step < most ? e->step : most, at = r->at;
	uint64_t pieces = 0;

	if (!left)
		return false;
	if (w->rank->m->out->together)
		pieces = (left - 1) / piece + 1;
	if (left < piece || w->rank->m->out->together)
		piece = left;
	r->at += piece;
	model_send(w, r, REQ_READ, e->object, at, piece, pieces);
	return true;
}

/* Sends the next request of the slot, if one may be sent. */
static bool model_slot_send(struct model_reader *w, struct model_slot *r)
{
	if (r->state == MODEL_READ && !r->flying)
		model_slot_advance(w, r);
	if (r->state == MODEL_READ)
		return !r->failed && !(r->flying && model_streams(w)) && model_send_extent(w, r);
	if (r->state == MODEL_OVER || r->flying)
		return false;
	if (r->state == MODEL_OPEN)
		model_send(w, r, REQ_OPEN, r->opened, 0, 0, 0);
	else
		model_send(w, r, REQ_CLOSE, r->opened - 1, 0, 0, 0);
	return true;
}

/* ---- a sample ---- */

static void model_slot_lay_out(struct model_reader *w, struct model_slot *r)
{
	const struct model_input *in = model_input(w->rank);
	uint64_t file = r->sample / in->dataset.options.samples_per_file;
	char key[OBJECT_KEY_BYTES];

	dataset_layout(&in->dataset, file, &r->layout);
	for (uint32_t i = 0; i < in->dataset.objects && virtual_store_draws(in->store); i++) {
		dataset_object_key(&in->dataset, file, i, key);
		r->keys[i] = sim_key(key);
	}
	r->state = MODEL_OPEN;
	r->began_ns = w->mark_ns;
}

static void model_slot_begin(struct model_reader *w, struct model_slot *r, uint64_t position)
{
	const struct rank_sequence *sequence = &w->rank->sequence;
	uint64_t sample = position == w->position + 1 ? sequence_next(sequence, position, w->sample)
						      : sequence_at(sequence, position);
	uint64_t file = sample / sequence->order.samples_per_file;

	w->position = position;
	w->sample = r->sample = sample;
	r->flying = 0;
	r->failed = false;
	r->began_ns = w->mark_ns;
	if (r->opened && r->layout.file == file) {
		model_slot_take(w, r);
		if (r->state == MODEL_OVER)
			return;
	}
	model_mark(w, ACCOUNT_HAUL, w->rank->m->engine.now_ns);
	r->began_ns = w->mark_ns;
	if (!r->opened)
		model_slot_lay_out(w, r);
	else if (r->layout.file != file)
		r->state = MODEL_LEAVE;
}

/* Of a stream: what has not been asked for up to the end of the sample, in pieces. */
static uint32_t model_stream_extents(const struct model_reader *w, struct model_slot *r, uint64_t k,
				     struct extent *out)
{
	uint64_t piece = model_input(w->rank)->request_bytes, from = r->stream_end, end;

	if (piece > r->layout.size)
		piece = r->layout.size;
	r->layout.format->extents(&r->layout, k, out);
	end = k + 1 == r->layout.samples ? r->layout.size : out->offset + out->length;
	if (end <= from)
		return 0;
	if (!from)
		from = out->offset - out->offset % piece;
	end = from + (end - from + piece - 1) / piece * piece;
	if (end > r->layout.size)
		end = r->layout.size;
	*out = (struct extent){.offset = from, .length = end - from, .step = piece};
	r->stream_end = end;
	return 1;
}

static bool model_slot_room(struct model_slot *r, uint32_t count)
{
	struct extent *extents = r->extents;

	if (count > r->extent_room) {
		extents = realloc(r->extents, count * sizeof(*extents));
		if (!extents)
			return false;
		r->extents = extents;
		r->extent_room = count;
	}
	return true;
}

/* The file is open: what the sample needs of it. */
static void model_slot_take(struct model_reader *w, struct model_slot *r)
{
	struct train_model *m = w->rank->m;
	uint64_t k = r->sample % w->rank->sequence.order.samples_per_file;

	r->state = MODEL_READ;
	r->extent = 0;
	r->extent_count = model_streams(w)
				  ? model_stream_extents(w, r, k, m->scratch)
				  : reader_cache_extents(&r->cache, &r->layout, k, m->scratch);
	if (!model_slot_room(r, r->extent_count)) {
		m->engine.rc = -ENOMEM;
		r->extent_count = 0;
	}
	memcpy(r->extents, m->scratch, r->extent_count * sizeof(*r->extents));
	r->at = r->extent_count ? r->extents[0].offset : 0;
	model_slot_advance(w, r);
}

/* Nothing is in flight. */
static void model_slot_advance(struct model_reader *w, struct model_slot *r)
{
	const struct model_input *in = model_input(w->rank);

	while (!r->failed && r->extent < r->extent_count &&
	       r->at == r->extents[r->extent].offset + r->extents[r->extent].length)
		if (++r->extent < r->extent_count)
			r->at = r->extents[r->extent].offset;
	if (!r->failed && r->extent < r->extent_count)
		return;
	if (!r->failed)
		hist_record(&w->rank->m->out->tally.hists[TRAIN_HIST_SAMPLE],
			    w->mark_ns - r->began_ns);
	r->state = MODEL_OVER;
	if (r->failed || !(in->dataset.stays_open || model_streams(w)))
		r->state = MODEL_CLOSE;
}

static void model_slot_opened(struct model_reader *w, struct model_slot *r)
{
	if (++r->opened < model_input(w->rank)->dataset.objects)
		return;
	reader_cache_clear(&r->cache);
	r->stream_end = 0;
	model_slot_take(w, r);
}

static void model_slot_closed(struct model_reader *w, struct model_slot *r)
{
	if (--r->opened)
		return;
	if (r->state == MODEL_LEAVE)
		model_slot_lay_out(w, r);
	else
		r->state = MODEL_OVER;
}

/* ---- the loop ---- */

static void model_ready(struct model_reader *w, struct model_slot *r)
{
	if (r->ready)
		return;
	r->ready = true;
	w->ready[w->ready_count++] = r;
}

static void model_end_sample(struct model_reader *w, const struct model_slot *r)
{
	if (r->failed) {
		w->part->failed++;
		return;
	}
	w->part->samples++;
	w->part->bytes += r->layout.logical_bytes;
	w->undone++;
}

static uint64_t model_next_position(struct model_reader *w, struct model_slot *r)
{
	uint32_t stream = (uint32_t)(r - w->slots) * w->rank->m->readers + w->index;
	uint64_t position;

	if (!model_streams(w))
		return w->next < w->to ? w->next++ : w->to;
	position = sequence_stream_next(&w->rank->sequence, stream, r->next, w->to);
	r->next = position + 1;
	return position;
}

static void model_begin_samples(struct model_reader *w)
{
	uint32_t i = w->idle_count;

	while (i--) {
		struct model_slot *r = w->idle[i];
		bool busy = false;
		uint64_t position;

		while (!busy && (position = model_next_position(w, r)) < w->to) {
			model_slot_begin(w, r, position);
			busy = r->state != MODEL_OVER;
			if (!busy)
				model_end_sample(w, r);
		}
		if (!busy)
			continue;
		w->idle[i] = w->idle[--w->idle_count];
		model_ready(w, r);
	}
}

/* All slots are idle: what was read is preprocessed, which takes until the returned time. */
static uint64_t model_preprocess(struct model_reader *w)
{
	uint64_t end = w->rank->m->engine.now_ns;

	for (; w->undone; w->undone--)
		end += draw_next(&w->rank->m->o->preprocess, &w->random);
	return end;
}

/* Goes on until requests are in flight, preprocessing takes time, or the work item has ended. */
static void model_pump(struct model_reader *w)
{
	struct engine *e = &w->rank->m->engine;
	uint64_t end;

	for (;;) {
		model_begin_samples(w);
		while (w->free_count && w->ready_count) {
			struct model_slot *r = w->ready[w->ready_count - 1];

			if (model_slot_send(w, r))
				continue;
			r->ready = false;
			w->ready_count--;
		}
		if (w->idle_count < w->rank->m->read_slots)
			return;
		if (!w->undone)
			break;
		end = model_preprocess(w);
		if (end > e->now_ns) {
			engine_at(e, end, &w->actor);
			return;
		}
	}
	w->rank->m->ended(w);
}

static void model_preprocessed(struct engine *e, struct actor *a)
{
	struct model_reader *w = (struct model_reader *)a;

	model_mark(w, ACCOUNT_DECODE, e->now_ns);
	model_pump(w);
}

static void model_count(struct model_reader *w, const struct model_flight *f)
{
	struct hist *hists = w->rank->m->out->tally.hists;
	uint64_t took = f->answer.done_ns - f->ask.arrival_ns;

	simulated_count(w->rank->m->out, w->rank->rank, &f->ask, &f->answer);
	if (f->ask.op == REQ_READ) {
		w->rank->epoch_row[EPOCH_BYTES_READ] += f->answer.failed ? 0 : f->ask.length;
		hist_record(&hists[TRAIN_HIST_READ], took);
		hist_record(&hists[TRAIN_HIST_READ_RESPONSE], took);
	} else if (f->ask.op == REQ_OPEN) {
		hist_record(&hists[TRAIN_HIST_OPEN], took);
		hist_record(&hists[TRAIN_HIST_OPEN_RESPONSE], took);
	}
}

static void model_flight_done(struct engine *e, struct actor *a)
{
	struct model_flight *f = (struct model_flight *)a;
	struct model_reader *w = f->reader;
	struct model_slot *r = f->slot;

	if (f->ask.op == REQ_READ && f->answer.first_byte_ns)
		model_mark(w, ACCOUNT_FIRST_BYTE, f->answer.first_byte_ns);
	model_mark(w, f->ask.op == REQ_READ ? ACCOUNT_TRANSFER : ACCOUNT_OPEN, e->now_ns);
	model_count(w, f);
	w->free[w->free_count++] = f;
	r->flying--;
	r->failed = r->failed || f->answer.failed;
	if (f->ask.op == REQ_CLOSE)
		model_slot_closed(w, r);
	else if (f->ask.op == REQ_OPEN)
		model_slot_opened(w, r);
	else if (!r->flying)
		model_slot_advance(w, r);
	if (r->state != MODEL_OVER) {
		model_ready(w, r);
	} else {
		model_end_sample(w, r);
		w->idle[w->idle_count++] = r;
	}
	model_pump(w);
}

void model_reader_build(struct model_reader *w, uint64_t k, uint64_t from, uint64_t to)
{
	w->step = k;
	w->next = from;
	w->to = to;
	w->position = UINT64_MAX - 1; /* no position follows it */
	for (uint32_t i = 0; i < w->rank->m->read_slots; i++)
		w->slots[i].next = from;
	w->mark_ns = w->rank->m->engine.now_ns;
	model_pump(w);
}

void model_reader_epoch(struct model_reader *w)
{
	for (uint32_t i = 0; i < w->rank->m->read_slots; i++)
		w->slots[i].opened = 0;
}

int model_reader_open(struct model_reader *w, struct err *err)
{
	const struct train_model *m = w->rank->m;
	uint32_t slots = m->read_slots, depth = m->depth;

	w->actor.wake = model_preprocessed;
	w->random.key = random_at(m->s->seed ^ preprocess_stream, w->rank->rank, w->index);
	w->slots = calloc(slots, sizeof(*w->slots));
	w->idle = calloc(slots, sizeof(struct model_slot *));
	w->ready = calloc(slots, sizeof(struct model_slot *));
	w->flights = calloc(depth, sizeof(*w->flights));
	w->free = calloc(depth, sizeof(struct model_flight *));
	if (!w->slots || !w->idle || !w->ready || !w->flights || !w->free)
		return err_set(err, -ENOMEM, "no memory for the readers of %u ranks", m->ranks);
	for (uint32_t i = 0; i < slots; i++) {
		w->idle[w->idle_count++] = &w->slots[i];
		reader_cache_init(&w->slots[i].cache, (uint32_t)m->o->loader.keep);
	}
	for (uint32_t i = 0; i < depth; i++) {
		w->flights[i].actor.wake = model_flight_done;
		w->flights[i].reader = w;
		w->free[w->free_count++] = &w->flights[i];
	}
	return 0;
}

void model_reader_close(struct model_reader *w)
{
	for (uint32_t i = 0; w->slots && i < w->rank->m->read_slots; i++)
		free(w->slots[i].extents);
	free(w->slots);
	free(w->idle);
	free(w->ready);
	free(w->flights);
	free(w->free);
}
