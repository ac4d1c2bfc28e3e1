/* SPDX-License-Identifier: Apache-2.0 */
/* All that a thread will read of an object is sampled when the object is opened: from the first
 * read on, the kernel reads ahead. What is read again while the object is open is sampled block by
 * block before each read, since the cache may well answer it. */
#include "workloads/io/work.h"

/* The objects of one rank, or of all where rank is UINT64_MAX. */
struct whose {
	const struct io_set *set;
	uint64_t rank;
};

static void io_cold_key(const void *argument, uint64_t number, uint32_t part,
			char key[OBJECT_KEY_BYTES])
{
	const struct whose *w = argument;
	uint64_t objects = w->set->objects;

	(void)part;
	if (w->rank == UINT64_MAX)
		io_set_key(w->set, number / objects, number % objects, key);
	else
		io_set_key(w->set, w->rank, number, key);
}

static int io_cold_drop_objects(struct cold *c, const struct io_set *set, const struct store *store,
				uint64_t from, struct err *err)
{
	bool own = c->options->when == COLD_EPOCHS;
	const struct whose whose = {set, own ? from : UINT64_MAX};
	struct cold_objects objects = {store, set->objects, 1, io_cold_key, &whose};
	int rc = 0;

	if (c->options->drop == DROP_CACHES)
		return cold_drop_caches(c, err);
	if (set->layout != IO_OBJECTS) /* one of all: by one of each node */
		objects.count = 1;
	else if (!own)
		objects.count *= set->ranks;
	if (!own || set->layout != IO_OBJECTS)
		return cold_drop_all(c, &objects, err);
	for (uint64_t i = 0; i < objects.count && rc == 0 && !cold_ends(c); i++)
		rc = cold_drop_one(c, &objects, i, err);
	return group_agree(c->ctx->group, rc, err);
}

int io_cold_drop(struct cold *c, const struct io_set *set, const struct store *store, uint64_t from,
		 uint64_t *row, struct err *err)
{
	struct clock *clock = c->ctx->clock;
	uint64_t began_ns = clock_now(clock);
	int rc;

	if (c->options->drop == DROP_NONE)
		return 0;
	cold_warn(c, store);
	rc = io_cold_drop_objects(c, set, store, from, err);
	row[IO_DROP_NS] = clock_now(clock) - began_ns;
	row[IO_STAYED_BYTES] = c->stayed_bytes;
	return rc;
}

/* Whether the slot's read was sampled when its object was opened: all reads in order are; reads at
 * random the first time over the objects, where all of these stay open. */
static bool io_cold_ahead(const struct io_thread *t, const struct io_slot *slot)
{
	const struct io_share *s = &t->share;

	if (s->rewrites || s->order == IO_REPLACEMENT)
		return false;
	return s->order == IO_SEQUENTIAL ||
	       (s->set->objects <= t->handle_count && slot->number < s->items);
}

static void io_cold_look(struct io_thread *t, const struct io_slot *slot, uint64_t offset,
			 uint64_t blocks)
{
	uint64_t bytes = blocks * t->share.block, left = t->share.bytes - offset;

	residency_look(&t->residency, t->work->store, &slot->handle->object, offset,
		       bytes < left ? bytes : left);
}

void io_cold_opened(struct io_thread *t, const struct io_slot *slot)
{
	const struct io_share *s = &t->share;
	uint64_t from = s->first, to = s->first + s->items, base = slot->item.object * s->blocks;

	if (!t->residency.every_bytes || !io_cold_ahead(t, slot))
		return;
	if (s->order == IO_SEQUENTIAL) {
		from += slot->number % s->items;
		if (to - from > t->limit - slot->number)
			to = from + t->limit - slot->number;
	}
	if (s->set->layout == IO_SEGMENTED) {
		io_cold_look(t, slot, (s->base + from) * s->block, to - from);
	} else if (s->set->layout == IO_STRIDED) {
		for (; from < to; from++)
			io_cold_look(t, slot, (from * s->set->ranks + s->rank) * s->block, 1);
	} else {
		from = from > base ? from : base;
		to = to < base + s->blocks ? to : base + s->blocks;
		io_cold_look(t, slot, (from - base) * s->block, to - from);
	}
}

void io_cold_reads(struct io_thread *t, const struct io_slot *slot)
{
	if (t->residency.every_bytes && !io_cold_ahead(t, slot))
		io_cold_look(t, slot, slot->item.offset, 1);
}
