/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/train/handover.h"

#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include "core/clock_wait.h"

#define HANDOVER_POLL_NS    10000000u
#define HANDOVER_NAP_MIN_NS 20000u
#define HANDOVER_NAP_MAX_NS 500000u

enum { HANDOVER_YIELDS = 20 };

/* What goes before the bytes of a piece. */
struct handover_piece {
	struct batch batch;
	uint64_t bytes;
	bool last;     /* of the batch */
	bool withheld; /* there is no batch */
};

/* One for each rank of the node but the first. */
struct handover_seat {
	sem_t filled; /* pieces in the ring that it has not copied */
	sem_t free;   /* slots that it does not need */
	char apart[64];
};

/* In memory that the ranks of a node share. */
struct handover_board {
	struct handover_piece pieces[HANDOVER_SLOTS];
	struct handover_seat seats[];
};

/* What a rank says to the one it gets its pieces from. */
enum handover_word { HANDOVER_NEXT, HANDOVER_FAREWELL };

static int handover_groups(struct handover *h, struct group *all, uint32_t replica, uint32_t node,
			   uint32_t nodes, struct err *err);
static int handover_memory(struct handover *h, struct err *err);
static bool handover_pass_on(struct handover *h, const struct handover_piece *p);
static void handover_settle(struct handover *h);
static bool handover_take_ring(struct handover *h, struct handover_piece *p);
static bool handover_take_message(struct handover *h, struct handover_piece *p);

static bool handover_first(const struct handover *h)
{
	return h->node->rank == 0;
}

static uint32_t handover_receivers(const struct handover *h)
{
	return h->node->size - 1;
}

/* What stands before the slots, on a page's border. */
static uint64_t handover_board_bytes(uint32_t receivers)
{
	uint64_t bytes = sizeof(struct handover_board) + receivers * sizeof(struct handover_seat);

	return (bytes + 4095) / 4096 * 4096;
}

int handover_open(struct handover *h, struct group *all, uint32_t replica, uint32_t node,
		  uint32_t nodes, uint64_t piece_bytes, struct clock *clock, struct err *err)
{
	int rc;

	memset(h, 0, sizeof(*h));
	h->clock = clock;
	h->piece_bytes = piece_bytes;
	rc = handover_groups(h, all, replica, node, nodes, err);
	if (rc == 0)
		rc = group_agree(all, handover_memory(h, err), err);
	if (rc < 0)
		handover_close(h);
	return rc;
}

static int handover_groups(struct handover *h, struct group *all, uint32_t replica, uint32_t node,
			   uint32_t nodes, struct err *err)
{
	struct group *between;
	int rc = group_split(all, replica * nodes + node, &h->node, err);

	if (rc < 0 || nodes == 1)
		return rc;
	/* All other ranks get a group that nobody uses. */
	rc = group_split(all, handover_first(h) ? replica : INT32_MAX, &between, err);
	if (rc < 0)
		return rc;
	if (!handover_first(h) || between->size == 1) {
		group_free(between);
		return 0;
	}
	h->between = between;
	for (uint32_t i = 1; i <= HANDOVER_FAN_OUT; i++) {
		uint32_t child = between->rank * HANDOVER_FAN_OUT + i;

		if (child < between->size)
			h->children[h->child_count++].rank = child;
	}
	return 0;
}

static int handover_memory(struct handover *h, struct err *err)
{
	uint64_t board = handover_board_bytes(handover_receivers(h));
	void *block;
	int rc = 0;

	if (handover_receivers(h)) {
		rc = group_shared(h->node, board + HANDOVER_SLOTS * h->piece_bytes, &block, err);
		if (rc < 0)
			return err_wrap(err, rc, "the ring of a replica");
		h->board = block;
		h->slots = (uint8_t *)block + board;
		for (uint32_t i = 0; handover_first(h) && i < handover_receivers(h); i++) {
			sem_init(&h->board->seats[i].filled, 1, 0);
			sem_init(&h->board->seats[i].free, 1, HANDOVER_SLOTS);
		}
		rc = group_barrier(h->node);
	}
	if (rc == 0 && h->piece_bytes && (h->board || h->between))
		rc = buffers_init(&h->buffers, 1, h->piece_bytes, err);
	h->buffer = h->buffers.base;
	return rc;
}

void handover_close(struct handover *h)
{
	if (h->buffers.base)
		buffers_free(&h->buffers);
	if (h->between)
		group_free(h->between);
	if (h->node)
		group_free(h->node);
	memset(h, 0, sizeof(*h));
}

uint64_t handover_bytes(uint64_t piece_bytes, bool first)
{
	return (first ? HANDOVER_SLOTS + 1 : 1) * piece_bytes;
}

/* ---- a batch ---- */

static void handover_begin(struct handover *h)
{
	h->began_ns = 0;
	h->free = 0;
	for (uint32_t i = 0; i < h->child_count; i++)
		h->children[i].served = false;
}

bool handover_give(struct handover *h, const struct batch *b, uint64_t bytes)
{
	struct handover_piece p = {.batch = *b};
	uint64_t left = h->piece_bytes ? bytes : 0;
	bool whole;

	p.batch.arrivals = (struct arrivals){0};
	handover_begin(h);
	do {
		p.bytes = left < h->piece_bytes ? left : h->piece_bytes;
		left -= p.bytes;
		p.last = left == 0;
		whole = handover_pass_on(h, &p);
	} while (whole && !p.last);
	if (!whole)
		handover_settle(h);
	return whole;
}

void handover_withhold(struct handover *h)
{
	handover_begin(h);
	handover_settle(h);
}

bool handover_take(struct handover *h, struct batch *out)
{
	struct handover_piece p = {.bytes = 0};
	bool whole = true;

	handover_begin(h);
	if (!handover_first(h)) {
		do {
			whole = handover_take_ring(h, &p);
		} while (whole && !p.last);
		*out = p.batch;
		return whole;
	}
	/* Its own parent is asked for all pieces, also when this rank passes on none of them any
	 * more. */
	do {
		whole = handover_take_message(h, &p) && whole;
		whole = whole && handover_pass_on(h, &p);
	} while (!p.last);
	if (!whole)
		handover_settle(h);
	*out = p.batch;
	return whole;
}

/* ---- in a node ---- */

static bool handover_wait(struct handover *h, sem_t *semaphore)
{
	while (!clock_sem_wait(semaphore, clock_kernel_ns() + HANDOVER_POLL_NS))
		if (h->pause(h->pause_argument))
			return false;
	return true;
}

static void handover_began(struct handover *h)
{
	if (!h->began_ns)
		h->began_ns = clock_now(h->clock);
}

static uint8_t *handover_slot(const struct handover *h)
{
	return h->slots + h->position % HANDOVER_SLOTS * h->piece_bytes;
}

static bool handover_put_ring(struct handover *h, const struct handover_piece *p)
{
	uint32_t receivers = handover_receivers(h);

	for (; h->free < receivers; h->free++)
		if (!handover_wait(h, &h->board->seats[h->free].free))
			return false;
	h->free = 0;
	if (!h->board)
		return true;
	handover_began(h);
	if (p->bytes)
		memcpy(handover_slot(h), h->buffer, p->bytes);
	h->board->pieces[h->position % HANDOVER_SLOTS] = *p;
	h->position++;
	for (uint32_t i = 0; i < receivers; i++)
		sem_post(&h->board->seats[i].filled);
	return true;
}

static bool handover_take_ring(struct handover *h, struct handover_piece *p)
{
	struct handover_seat *mine = &h->board->seats[h->node->rank - 1];

	if (!handover_wait(h, &mine->filled))
		return false;
	handover_began(h);
	*p = h->board->pieces[h->position % HANDOVER_SLOTS];
	if (p->bytes)
		memcpy(h->buffer, handover_slot(h), p->bytes);
	h->position++;
	sem_post(&mine->free);
	return true;
}

/* ---- between nodes ---- */

/* Waits for a message, and polls meanwhile. False: told to give up before it came. */
static bool handover_message(struct handover *h, uint32_t from, bool may_give_up)
{
	uint64_t nap_ns = HANDOVER_NAP_MIN_NS;

	for (unsigned tries = 0; !group_arrived(h->between, from); tries++) {
		if (tries < HANDOVER_YIELDS) {
			sched_yield();
			continue;
		}
		if (h->pause(h->pause_argument) && may_give_up)
			return false;
		clock_sleep_until(h->clock, clock_now(h->clock) + nap_ns);
		if (nap_ns < HANDOVER_NAP_MAX_NS)
			nap_ns += nap_ns / 2;
	}
	return true;
}

/* What a child says next. One that cannot be heard has left. */
static enum handover_word handover_hear(struct handover *h, const struct handover_child *child)
{
	uint64_t word;

	if (group_receive(h->between, child->rank, &word, sizeof(word)) < 0)
		return HANDOVER_FAREWELL;
	return (enum handover_word)word;
}

static void handover_send(struct handover *h, const struct handover_child *child,
			  const struct handover_piece *p)
{
	group_send(h->between, child->rank, p, sizeof(*p));
	if (p->bytes)
		group_send(h->between, child->rank, h->buffer, p->bytes);
}

static void handover_refuse(struct handover *h, struct handover_child *child)
{
	const struct handover_piece none = {.last = true, .withheld = true};

	handover_send(h, child, &none);
}

static bool handover_put_child(struct handover *h, struct handover_child *child,
			       const struct handover_piece *p)
{
	if (child->left)
		return true;
	if (!handover_message(h, child->rank, true))
		return false;
	handover_began(h);
	child->left = handover_hear(h, child) == HANDOVER_FAREWELL;
	if (!child->left)
		handover_send(h, child, p);
	child->served = p->last;
	return true;
}

/* To this node and to the next ones. False: given up. */
static bool handover_pass_on(struct handover *h, const struct handover_piece *p)
{
	bool whole = handover_put_ring(h, p);

	for (uint32_t i = 0; whole && i < h->child_count; i++)
		whole = handover_put_child(h, &h->children[i], p);
	return whole;
}

/* The next piece of its parent. The parent answers in any case, so this rank stays until it has. */
static bool handover_take_message(struct handover *h, struct handover_piece *p)
{
	uint32_t parent = (h->between->rank - 1) / HANDOVER_FAN_OUT;
	uint64_t word = HANDOVER_NEXT;
	int rc = group_send(h->between, parent, &word, sizeof(word));

	if (rc == 0)
		handover_message(h, parent, false);
	if (rc == 0)
		rc = group_receive(h->between, parent, p, sizeof(*p));
	handover_began(h);
	if (rc == 0 && p->bytes)
		rc = group_receive(h->between, parent, h->buffer, p->bytes);
	if (rc < 0)
		*p = (struct handover_piece){.last = true, .withheld = true};
	return !p->withheld;
}

/* This rank has given up. A child that is in the same step has asked for a piece, or will, and
 * waits for the answer; one that has left the row says farewell. */
static void handover_settle(struct handover *h)
{
	for (uint32_t i = 0; i < h->child_count; i++) {
		struct handover_child *child = &h->children[i];

		if (child->served || child->left)
			continue;
		handover_message(h, child->rank, false);
		child->left = handover_hear(h, child) == HANDOVER_FAREWELL;
		if (!child->left)
			handover_refuse(h, child);
		child->served = true;
	}
}

void handover_end(struct handover *h)
{
	uint64_t word = HANDOVER_FAREWELL;

	for (uint32_t i = 0; i < h->child_count; i++) {
		struct handover_child *child = &h->children[i];

		while (!child->left && handover_hear(h, child) == HANDOVER_NEXT)
			handover_refuse(h, child);
		child->left = false;
	}
	if (h->between && h->between->rank)
		group_send(h->between, (h->between->rank - 1) / HANDOVER_FAN_OUT, &word,
			   sizeof(word));
}
