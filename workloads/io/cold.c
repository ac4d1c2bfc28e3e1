/* An object is looked at when it is opened, all that the thread will read of it: from the first read on,
 * the kernel reads ahead. What is read again while it is open is looked at block by block, before each
 * read: there the cache may well be what answers. */
#include "workloads/io/cold.h"

/* The objects of one rank, or with rank UINT64_MAX of all. */
struct whose {
	const struct io_set *set;
	uint64_t rank;
};

static void key_of(const void *argument, uint64_t number, uint32_t part, char key[OBJECT_KEY_BYTES])
{
	const struct whose *w = argument;
	uint64_t objects = w->set->objects;

	(void)part;
	if (w->rank == UINT64_MAX)
		io_set_key(w->set, number / objects, number % objects, key);
	else
		io_set_key(w->set, w->rank, number, key);
}

static int drop(struct cold *c, const struct io_set *set, const struct store *store, uint64_t from,
		struct err *err)
{
	bool own = c->options->when == COLD_EPOCHS;
	const struct whose whose = {set, own ? from : UINT64_MAX};
	struct cold_objects objects = {store, set->objects, 1, key_of, &whose};
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
	rc = drop(c, set, store, from, err);
	row[IO_DROP_NS] = clock_now(clock) - began_ns;
	row[IO_STAYED_BYTES] = c->stayed_bytes;
	return rc;
}

/* Whether the slot's read is one of those looked at when its object was opened: all in order; at random,
 * where all objects stay open, the first time over them. */
static bool ahead(const struct io_thread *t, const struct io_slot *slot)
{
	const struct io_share *s = &t->share;

	if (s->rewrites || s->order == IO_REPLACEMENT)
		return false;
	return s->order == IO_SEQUENTIAL ||
	       (s->set->objects <= t->handle_count && slot->number < s->items);
}

static void look(struct io_thread *t, const struct io_slot *slot, uint64_t offset, uint64_t blocks)
{
	uint64_t bytes = blocks * t->share.block, left = t->share.bytes - offset;

	residency_look(&t->residency, t->work->store, &slot->handle->object, offset,
		       bytes < left ? bytes : left);
}

void io_cold_opened(struct io_thread *t, const struct io_slot *slot)
{
	const struct io_share *s = &t->share;
	uint64_t from = s->first, to = s->first + s->items, base = slot->item.object * s->blocks;

	if (!t->residency.every_bytes || !ahead(t, slot))
		return;
	if (s->order == IO_SEQUENTIAL) {
		from += slot->number % s->items;
		if (to - from > t->limit - slot->number)
			to = from + t->limit - slot->number;
	}
	if (s->set->layout == IO_SEGMENTED) {
		look(t, slot, (s->base + from) * s->block, to - from);
	} else if (s->set->layout == IO_STRIDED) {
		for (; from < to; from++)
			look(t, slot, (from * s->set->ranks + s->rank) * s->block, 1);
	} else {
		from = from > base ? from : base;
		to = to < base + s->blocks ? to : base + s->blocks;
		look(t, slot, (from - base) * s->block, to - from);
	}
}

void io_cold_reads(struct io_thread *t, const struct io_slot *slot)
{
	if (t->residency.every_bytes && !ahead(t, slot))
		look(t, slot, slot->item.offset, 1);
}
