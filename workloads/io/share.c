/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/io/share.h"

#include "core/content/random.h"

static const uint64_t share_stream = 0x7368617265; /* "share" */

static uint64_t io_share_cut(uint64_t whole, uint64_t part, uint64_t parts)
{
	return (uint64_t)((unsigned __int128)whole * part / parts);
}

/* Each thread has whole objects where there are enough of them. */
static void io_share_part(struct io_share *s, const struct io_options *o, uint64_t thread)
{
	uint64_t objects = s->set->objects;
	uint64_t unit = s->blocks > 1 && o->threads <= objects ? s->blocks : 1;
	uint64_t units = unit > 1 ? objects : objects * s->blocks;

	s->first = io_share_cut(units, thread, o->threads) * unit;
	s->items = io_share_cut(units, thread + 1, o->threads) * unit - s->first;
}

/* The rank's blocks of the shared object. */
static void io_share_shared(struct io_share *s)
{
	uint64_t ranks = s->set->ranks, all;

	s->bytes *= ranks;
	all = (s->bytes - 1) / s->block + 1;
	if (s->set->layout == IO_STRIDED) {
		s->blocks = all / ranks + (s->rank < all % ranks);
		return;
	}
	s->base = io_share_cut(all, s->rank, ranks);
	s->blocks = io_share_cut(all, s->rank + 1, ranks) - s->base;
}

/* Each thread lists the whole folder; where threads share it, its parts are divided among them. */
static void io_share_listing(struct io_share *s, const struct io_options *o, uint64_t thread)
{
	uint64_t threads = o->threads * (o->folder_per_rank ? 1 : s->set->ranks);
	uint64_t number = o->folder_per_rank ? thread : s->rank * o->threads + thread;

	s->order = IO_SEQUENTIAL;
	s->items = 1;
	if (o->parts < 2)
		return;
	s->first = io_share_cut(o->parts, number, threads);
	s->items = io_share_cut(o->parts, number + 1, threads) - s->first;
}

void io_share_init(struct io_share *s, const struct io_set *set, const struct io_options *o,
		   bool whole, uint64_t rank, uint64_t thread)
{
	bool objects = whole || !io_moves(o);

	*s = (struct io_share){
		.set = set,
		.rank = rank,
		.objects = objects,
		.blocks = objects ? 1 : (io_size_of(o) - 1) / o->block + 1,
		.block = o->block,
		.bytes = io_size_of(o),
		.order = o->order,
		.key = random_at(set->seed ^ share_stream, rank, thread),
	};
	if (o->operation == IO_DO_LIST) {
		io_share_listing(s, o, thread);
		return;
	}
	if (io_moves(o) && set->layout != IO_OBJECTS)
		io_share_shared(s);
	io_share_part(s, o, thread);
	/* The object of all is deleted by one. */
	if (o->operation == IO_DO_DELETE && set->layout != IO_OBJECTS && rank)
		s->items = 0;
	if (o->operation == IO_DO_READ && !set->complete && s->items > set->written) {
		s->rewrites = set->order == IO_RANDOM;
		if (s->rewrites)
			permutation_init(&s->written, s->items, s->key);
		s->items = set->written;
	}
	if (s->order == IO_RANDOM && s->items)
		permutation_init(&s->permutation, s->items, s->key);
}

static uint64_t io_share_ordered(struct io_share *s)
{
	uint64_t at = s->next;

	if (s->order == IO_RANDOM)
		at = permutation_at(&s->permutation, at);
	else if (s->order == IO_REPLACEMENT)
		at = (uint64_t)((unsigned __int128)random_at(s->key, s->drawn, 1) * s->items >> 64);
	s->drawn++;
	if (++s->next == s->items) {
		s->next = 0;
		s->pass++;
		if (s->order == IO_RANDOM)
			permutation_init(&s->permutation, s->items, s->key + s->pass);
	}
	return s->rewrites ? permutation_at(&s->written, at) : at;
}

void io_share_next(struct io_share *s, struct io_item *item)
{
	uint64_t part = io_share_ordered(s), at = s->first + part, block;

	if (s->objects) {
		*item = (struct io_item){.object = at, .last = true};
		return;
	}
	if (s->set->layout == IO_OBJECTS) {
		block = at % s->blocks;
		item->object = at / s->blocks;
		item->last = block == s->blocks - 1 || part == s->items - 1;
	} else {
		block = s->set->layout == IO_SEGMENTED ? s->base + at
						       : at * s->set->ranks + s->rank;
		item->object = 0;
		item->last = part == s->items - 1;
	}
	item->offset = block * s->block;
	item->length = s->bytes - item->offset < s->block ? s->bytes - item->offset : s->block;
	/* In any other order more of an object may follow, unless there is no more of it. */
	if ((s->order != IO_SEQUENTIAL || s->rewrites) &&
	    (s->blocks > 1 || s->set->layout != IO_OBJECTS))
		item->last = false;
}
