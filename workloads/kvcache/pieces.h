/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of an entry that an I/O thread moves: each has a window, which is its request under way and its buffer. Bytes are made or compared
 * on the way. transfer.c has the loop. All functions are the I/O thread's. */
#ifndef HAUL_WORKLOADS_KVCACHE_PIECES_H
#define HAUL_WORKLOADS_KVCACHE_PIECES_H

#include "core/clock.h"
#include "workloads/kvcache/worker.h"

static inline struct queue *kv_transfer_queue(const struct kv_worker *w, const struct kv_end *end)
{
	if (end->kind != KV_TIER_STORE)
		return NULL;
	return w->queues[w->work->setup->tiers[end->tier].store];
}

static inline uint64_t kv_transfer_now(const struct kv_worker *w)
{
	return clock_now(w->work->stores[0].clock);
}

static inline void kv_transfer_key(const struct kv_worker *w, const struct kv_transfer *t,
				   const struct kv_end *end, struct object *o)
{
	*o = (struct object){.size = 0};
	w->work->object_key(w->work, end->tier,
			    w->work->setup->buckets ? t->task.file : t->task.what.id, o->key);
}

/* What a request for bytes is about. */
static inline struct object *kv_transfer_object(const struct kv_worker *w, struct kv_transfer *t,
						bool reads)
{
	if (w->work->setup->slots)
		return &w->work->file;
	return reads ? &t->from : &t->to;
}

static inline struct kv_window *kv_window_take(struct kv_worker *w, struct kv_transfer *t)
{
	struct kv_window *win = list_member(slots_take(&w->windows), struct kv_window, slot);

	w->in_flight++;
	win->of = t;
	win->slot.req.answer.lead = 0;
	return win;
}

static inline void kv_window_free(struct kv_worker *w, struct kv_window *win)
{
	slots_free(&w->windows, &win->slot);
	w->in_flight--;
}

/* A piece has been moved, or has failed. */
static inline void kv_window_end(struct kv_worker *w, struct kv_window *win)
{
	win->of->busy--;
	kv_window_free(w, win);
}

/* A request for the transfer has failed; text NULL: for the reason that its answer has. */
void kv_transfer_fail(struct kv_worker *w, struct kv_transfer *t, const struct queue *q,
		      const struct request *req, int rc, const char *text);
/* Takes a window, of which one must be free, and sends the next piece. */
void kv_window_begin(struct kv_worker *w, struct kv_transfer *t);
/* What was read is there: the piece goes on. */
void kv_window_have(struct kv_worker *w, struct kv_window *win);

#endif
