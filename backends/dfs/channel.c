/* SPDX-License-Identifier: Apache-2.0 */
/* Channels of daos://: see channel.h.
 *
 *	submit ──► reads, writes ──► slot, event ──► libdfs ──► daos_eq_poll ──┐
 *	       │        └── its queue is full: held until something completes ──┤──► reap
 *	       └──► all others ──► opener threads ──────────────────────────────┘
 *
 * libdfs moves its requests on only while somebody polls. A poll waits for reads and writes alone,
 * so it is short while opener threads are at work. */
#include "backends/dfs/channel.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends/dfs/aside.h"
#include "backends/dfs/code.h"
#include "backends/dfs/object.h"
#include "backends/dfs/opener.h"
#include "core/numbers.h"

enum { POLL_EVENTS = 64, POLL_OPENING_US = 50, POLL_LONGEST_US = 100000 };

/* A read or write on its way. The event is first: libdfs gives back its address. */
struct channel_slot {
	struct dfs_event event;
	struct request *req; /* NULL: the slot is free */
	struct dfs_iov iov;
	struct dfs_scatter buffer;
	uint64_t got;
};

struct dfs_channel {
	struct dfs_handle queue;
	struct dfs_opener *opener;
	struct channel_slot *slots;
	uint32_t *free_slots, free_count;
	uint32_t flying;
	int broken; /* the queue could not be polled, or was given up, and is no more: the code of its requests */
	bool left; /* the library may still have its events */
	struct dfs_patience patience;
	/* Requests that were not started since the queue of libdfs was full: a ring, in order. */
	struct request **held;
	uint32_t held_first, held_count;
	struct request **ready; /* that ended in submit */
	uint32_t ready_count;
};

static void channel_free(struct dfs_channel *ch)
{
	dfs_opener_close(ch->opener);
	if (!ch->left)
		free(ch->slots);
	free(ch->free_slots);
	free(ch->held);
	free(ch);
}

static struct dfs_channel *channel_new(uint32_t depth)
{
	struct dfs_channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return NULL;
	ch->slots = calloc(depth, sizeof(*ch->slots));
	ch->free_slots = calloc(depth, sizeof(*ch->free_slots));
	ch->held = calloc(2 * (size_t)depth, sizeof(struct request *));
	if (!ch->slots || !ch->free_slots || !ch->held) {
		channel_free(ch);
		return NULL;
	}
	ch->ready = ch->held + depth;
	for (uint32_t i = 0; i < depth; i++)
		ch->free_slots[i] = depth - 1 - i;
	ch->free_count = depth;
	return ch;
}

int dfs_channel_open(struct channel *c, struct err *err)
{
	const struct dfs_library *l = &dfs_store_of(c->store)->library;
	struct dfs_channel *ch = channel_new(c->depth);
	int rc;

	if (!ch)
		return err_set(err, -ENOMEM, "no memory for a queue of depth %u", c->depth);
	rc = dfs_opener_open(&ch->opener, c->store, (uint32_t)dfs_options_of(c->store)->openers,
			     c->depth, err);
	if (rc < 0) {
		channel_free(ch);
		return rc;
	}
	rc = dfs_code_errno(l->daos_eq_create(&ch->queue));
	if (rc < 0) {
		channel_free(ch);
		return err_set(err, rc, "%s: an event queue of DAOS cannot be made: %s",
			       c->store->uri, dfs_code_text(rc));
	}
	ch->patience.stop = c->store->stop;
	c->state = ch;
	return 0;
}

/* Ending a queue may wait for servers. */
struct channel_end {
	int (*destroy)(struct dfs_handle queue, int flags);
	struct dfs_handle queue;
};

static void channel_end(void *from)
{
	struct channel_end *end = from;

	end->destroy(end->queue, DFS_DESTROY_FORCE);
}

#define CHANNEL_END_NS UINT64_C(2000000000)

/* Ends the queue, and with it what is in flight, whose memory libdfs then no longer touches. */
static void channel_destroy(const struct channel *c)
{
	struct dfs_patience patience = {.stop = c->store->stop, .limit_ns = CHANNEL_END_NS};
	struct channel_end *end = calloc(1, sizeof(*end));
	struct dfs_channel *ch = c->state;

	if (end)
		*end = (struct channel_end){dfs_store_of(c->store)->library.daos_eq_destroy,
					    ch->queue};
	if (end && dfs_aside_do(&patience, channel_end, free, end)) {
		free(end);
		return;
	}
	ch->left = true;
	atomic_store(&dfs_store_of(c->store)->left, true);
}

void dfs_channel_close(struct channel *c)
{
	struct dfs_channel *ch = c->state;

	/* Where servers do not answer, the end of each queue would wait for them in turn: all end
	 * with the process. */
	if (!ch->broken && !atomic_load(&dfs_store_of(c->store)->left))
		channel_destroy(c);
	channel_free(ch);
}

/* A run that ends tries nothing again, and DAOS has had its time: the request fails. */
static void channel_settle(const struct channel *c, struct answer *a)
{
	uint64_t limit_ns = dfs_options_of(c->store)->common.timeout_ns;
	bool late = a->status == -ETIMEDOUT && limit_ns &&
		    clock_now(c->store->clock) - a->submit_ns >= limit_ns;

	if (late || (c->store->stop && stop_asked(c->store->stop) != STOP_NONE))
		a->transient = false;
}

static void channel_ready(const struct channel *c, struct request *req, int code)
{
	struct dfs_channel *ch = c->state;

	dfs_code_answer(&req->answer, code);
	channel_settle(c, &req->answer);
	ch->ready[ch->ready_count++] = req;
}

static int channel_call(const struct dfs_store *s, struct channel_slot *slot)
{
	struct request *req = slot->req;
	uint64_t at = req->offset + req->answer.done_bytes;
	struct dfs_object *object = dfs_object_of(req->object);

	if (req->op == REQ_READ)
		return s->library.dfs_read(s->mount, object, &slot->buffer, at, &slot->got,
					   &slot->event);
	return s->library.dfs_write(s->mount, object, &slot->buffer, at, &slot->event);
}

/* Starts a read or write. Returns false where the queue of libdfs is full. */
static bool channel_start(const struct channel *c, struct request *req)
{
	const struct dfs_store *s = dfs_store_of(c->store);
	struct dfs_channel *ch = c->state;
	uint32_t number = ch->free_slots[ch->free_count - 1];
	struct channel_slot *slot = &ch->slots[number];
	uint64_t left = req->length - req->answer.done_bytes;
	int rc;

	slot->req = req;
	slot->iov = (struct dfs_iov){(char *)req->data + req->answer.done_bytes, left, left};
	slot->buffer = (struct dfs_scatter){.count = 1, .iovs = &slot->iov};
	slot->got = 0;
	rc = s->library.daos_event_init(&slot->event, ch->queue, NULL);
	if (rc == 0) {
		rc = channel_call(s, slot);
		if (rc)
			s->library.daos_event_fini(&slot->event);
	}
	if (rc == 0) {
		ch->free_count--;
		ch->flying++;
		return true;
	}
	slot->req = NULL;
	/* With nothing in flight, waiting would not make room. */
	if (dfs_code_errno(rc) == -EBUSY && ch->flying)
		return false;
	channel_ready(c, req, rc);
	return true;
}

static void channel_hold(const struct channel *c, struct request *req)
{
	struct dfs_channel *ch = c->state;
	uint32_t at = ch->held_first + ch->held_count++;

	ch->held[at < c->depth ? at : at - c->depth] = req;
}

static void channel_ask(const struct channel *c, struct request *req)
{
	struct dfs_channel *ch = c->state;

	/* Its threads may be in the library for ever. */
	if (ch->left)
		channel_ready(c, req, ch->broken);
	else if (dfs_object_do_now(c->store, req))
		ch->ready[ch->ready_count++] = req;
	else
		dfs_opener_ask(ch->opener, req);
}

void dfs_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	struct dfs_channel *ch = c->state;

	for (uint32_t i = 0; i < n; i++) {
		struct request *req = reqs[i];

		req->answer.status = 0;
		if (req->op != REQ_READ && req->op != REQ_WRITE)
			channel_ask(c, req);
		else if (!dfs_object_of(req->object))
			channel_ready(c, req, EBADF);
		else if (ch->broken)
			channel_ready(c, req, ch->broken);
		else if (ch->held_count || !channel_start(c, req))
			channel_hold(c, req);
	}
}

/* Starts what was held, now that something has completed. */
static void channel_start_held(const struct channel *c)
{
	struct dfs_channel *ch = c->state;

	while (ch->held_count && channel_start(c, ch->held[ch->held_first])) {
		ch->held_first = ch->held_first + 1 == c->depth ? 0 : ch->held_first + 1;
		ch->held_count--;
	}
}

static struct request *channel_complete(const struct channel *c, struct dfs_event *event)
{
	struct channel_slot *slot = (struct channel_slot *)event;
	struct dfs_channel *ch = c->state;
	struct request *req = slot->req;

	dfs_code_answer(&req->answer, event->error);
	channel_settle(c, &req->answer);
	if (event->error == 0)
		req->answer.done_bytes += req->op == REQ_READ ? slot->got : slot->iov.length;
	dfs_store_of(c->store)->library.daos_event_fini(event);
	slot->req = NULL;
	ch->free_slots[ch->free_count++] = (uint32_t)(slot - ch->slots);
	ch->flying--;
	return req;
}

/* All that the queue of libdfs has, or was to have, fails. */
static void channel_fail(struct channel *c, int code)
{
	struct dfs_channel *ch = c->state;

	ch->broken = code;
	for (uint32_t i = 0; i < c->depth; i++) {
		if (!ch->slots[i].req)
			continue;
		channel_ready(c, ch->slots[i].req, code);
		ch->slots[i].req = NULL;
	}
	ch->flying = 0;
	for (; ch->held_count; ch->held_count--) {
		channel_ready(c, ch->held[ch->held_first], code);
		ch->held_first = ch->held_first + 1 == c->depth ? 0 : ch->held_first + 1;
	}
}

/* The queue cannot be polled any more. */
static void channel_break(struct channel *c, int code)
{
	log_say(c->store->log, LOG_WARNING, "%s: an event queue of DAOS fails: %s", c->store->uri,
		dfs_code_text(dfs_code_errno(code)));
	channel_destroy(c);
	channel_fail(c, code);
}

/* The run is to end, and DAOS does not answer. Nobody polls the queue any more, so libdfs moves
 * none of its requests on; it keeps their events. */
static void channel_give_up(struct channel *c)
{
	struct dfs_channel *ch = c->state;
	uint32_t n, all;

	ch->left = true;
	atomic_store(&dfs_store_of(c->store)->left, true);
	channel_fail(c, ECANCELED);
	n = ch->ready_count;
	all = n + dfs_opener_give_up(ch->opener, ch->ready + n);
	ch->ready_count = n;
	for (; n < all; n++)
		channel_ready(c, ch->ready[n], ECANCELED);
}

static int64_t channel_poll_us(const struct channel *c, bool wait, uint64_t deadline_ns)
{
	const struct dfs_channel *ch = c->state;
	uint64_t now_ns, us = POLL_LONGEST_US;

	if (!wait)
		return DFS_POLL_NOW;
	if (dfs_opener_busy(ch->opener))
		us = POLL_OPENING_US;
	if (deadline_ns == UINT64_MAX)
		return (int64_t)us;
	now_ns = clock_now(c->store->clock);
	if (now_ns >= deadline_ns)
		return DFS_POLL_NOW;
	/* At least 1: 0 does not wait. */
	return (int64_t)(deadline_ns - now_ns < us * 1000 ? (deadline_ns - now_ns) / 1000 + 1 : us);
}

/* What libdfs has completed: at most max. */
static uint32_t channel_poll(struct channel *c, struct request **done, uint32_t max, bool wait,
			     uint64_t deadline_ns)
{
	const struct dfs_library *l = &dfs_store_of(c->store)->library;
	struct dfs_event *events[POLL_EVENTS];
	struct dfs_channel *ch = c->state;
	uint32_t n = 0, most;
	int got;

	while (n < max && ch->flying) {
		most = min_u64(max - n, POLL_EVENTS);
		got = l->daos_eq_poll(ch->queue, 1, channel_poll_us(c, wait && n == 0, deadline_ns),
				      most, events);
		if (got < 0)
			channel_break(c, got);
		if (got <= 0)
			break;
		for (int i = 0; i < got; i++)
			done[n++] = channel_complete(c, events[i]);
		if ((uint32_t)got < most)
			break;
	}
	if (n && ch->held_count)
		channel_start_held(c);
	return n;
}

static uint32_t channel_take(struct channel *c, struct request **done, uint32_t max,
			     uint64_t until_ns)
{
	struct dfs_channel *ch = c->state;
	struct request *req;
	uint32_t n = 0;

	while (n < max && ch->ready_count)
		done[n++] = ch->ready[--ch->ready_count];
	while (n < max && (req = dfs_opener_take(ch->opener, n ? 0 : until_ns)) != NULL) {
		channel_settle(c, &req->answer);
		done[n++] = req;
	}
	return n;
}

uint32_t dfs_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
		  uint64_t deadline_ns)
{
	struct dfs_channel *ch = c->state;
	uint32_t n = channel_take(c, done, max, 0);

	n += channel_poll(c, done + n, max - n, n < min, deadline_ns);
	while (n < min) {
		/* Waits where the next completion comes from. */
		uint64_t until_ns = ch->flying || ch->ready_count ? 0 : deadline_ns;

		n += channel_take(c, done + n, max - n, until_ns);
		if (n < min)
			n += channel_poll(c, done + n, max - n, true, deadline_ns);
		if (n < min && !ch->left && dfs_patience_ends(&ch->patience))
			channel_give_up(c);
		if (n < min && clock_now(c->store->clock) >= deadline_ns)
			break;
	}
	return n;
}
