/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: the operations that a thread has in flight, one in each. An operation sends one request after the other through its slot.
 * The loop begins operations while a slot is free and their time has come, hands the requests that are ready to the queue
 * together, waits until some are answered or the next operation is due, and lets each operation take its next step:
 *
 *	free ──due, begin──► ready ──► in the queue ──step──► ready, or free
 *	              └─► in a line of the owner's ─┘
 *
 * What an operation is, its owner says by hooks. The clock is the queue's last stamp, so that an operation reads the clock
 * no more often than the queue does; only while an operation waits for its time is it read once per turn.
 *
 * An owner with a loop of its own takes slots, submits their requests itself, and calls slots_reap.
 *
 * Slots belong to one thread, but for slots_waits. Nothing is allocated after slots_open. */
#ifndef HAUL_WORKLOADS_COMMON_SLOTS_H
#define HAUL_WORKLOADS_COMMON_SLOTS_H

#include "core/invariant.h"
#include "core/list.h"
#include "workloads/common/crew.h"

#define SLOTS_OVER UINT64_MAX

/* The first member of an owner's slot. */
struct slot {
	struct request req;
	struct list_link
		link; /* among the free ones; while it is in use, for a line of the owner's */
	uint64_t begin_ns, due_ns; /* due 0: at begin */
	uint32_t step; /* which request of its operation is under way; the owner's word */
	bool failed;
	void *buffer; /* NULL: bytes go nowhere */
	/* For any thread: when the operation under way began (0: none is), and what it works on,
	 * for the hook key. */
	_Atomic uint64_t live_ns, live_id;
};

struct slot_hooks {
	/* When the next operation may begin, 0: at once, SLOTS_OVER: there is none. */
	uint64_t (*due)(const void *owner);
	/* It begins now, in that slot. It calls slots_mark, and sends a request, or puts the slot
	 * into a line. */
	void (*begin)(void *owner, struct slot *slot);
	/* The request of the slot is answered: it sends the next one, or frees the slot. */
	void (*step)(void *owner, struct slot *slot);
	/* The warm-up is over: what was counted in it is dropped. The answers of the turn in which
	 * the queue's time reached its end take their steps afterwards. */
	void (*drop)(void *owner);
	/* Nothing is in flight, and nothing more begins. 0 or a negative errno with the member's
	 * err. May be NULL. */
	int (*end)(void *owner);
	/* The name of what an operation works on. Called by the main thread while the thread
	 * works. */
	void (*key)(const void *owner, uint64_t id, char key[OBJECT_KEY_BYTES]);
};

/* The warm-up of the threads of a rank. */
struct slots_warmup {
	uint64_t end_ns;
	struct cpu_time from,
		used; /* of the process: at its begin; in it, as the first thread sees it */
};

struct slots {
	/* Set by the caller before slots_open. */
	const struct slot_hooks *hooks;
	void *owner;
	struct crew_thread *member;
	uint32_t depth;
	uint32_t slot_bytes;   /* of the owner's slot */
	void *buffers;         /* [depth]; NULL: bytes go nowhere */
	uint64_t buffer_bytes; /* of each */
	bool goes_on;          /* after an error; else nothing more begins */

	bool warm; /* no warm-up, or it is over: what is counted now is measured */
	struct slots_warmup *warmup; /* set before slots_run where it is not warm */

	uint64_t now_ns; /* when the last of what it knows happened */
	bool over;       /* begins nothing more: none is left, its time is over, an error */
	bool timed_out;
	int rc;                 /* the first error, unless it goes on */
	uint64_t late_start_ns; /* the longest time between due and begin */

	/* Used by slots only. */
	uint64_t until_ns;
	char *memory;
	struct list free;
	struct request **ready,
		**back; /* [depth]: submitted next; those that the last wait returned */
	uint32_t ready_count;
};

/* -ENOMEM with a sentence. Closing those that are zeroed or that failed to open is allowed. */
int slots_open(struct slots *s, struct err *err);
void slots_close(struct slots *s);
/* Memory for slots of that size, without the struct and the buffers. */
uint64_t slots_memory(uint64_t depth, uint64_t slot_bytes);

static inline void *slots_at(const struct slots *s, uint32_t i)
{
	return s->memory + (size_t)i * s->slot_bytes;
}

/* From start_ns on, until all operations have ended. until_ns: none begins from then on; 0: no
 * limit. Returns the first error, -ECANCELED where the crew halts. It can be called again. */
int slots_run(struct slots *s, uint64_t start_ns, uint64_t until_ns);

/* Waits for at least `least` answers, until that time, and lets each take its step. Returns how
 * many came. */
uint32_t slots_reap(struct slots *s, struct queue *q, uint32_t least, uint64_t until_ns);

/* For crew.waits: how long the oldest operation of a thread has been on its way. */
uint64_t slots_waits(const struct crew *p, uint32_t thread, uint64_t now_ns,
		     char key[OBJECT_KEY_BYTES]);

/* Whether all threads of this rank are to stop. */
static inline bool slots_halted(const struct slots *s)
{
	return atomic_load_explicit(&s->member->crew->halt, memory_order_relaxed);
}

/* A free slot; there must be one. */
static inline struct slot *slots_take(struct slots *s)
{
	struct list_link *link = list_take(&s->free);
	struct slot *slot = list_member(link, struct slot, link);

	INVARIANT(link, "the owner looks for a free slot before it takes one");
	slot->begin_ns = s->now_ns;
	slot->failed = false;
	return slot;
}

/* The operation of the slot was due then, 0: whenever it begins. It works on what id names. */
static inline void slots_mark(struct slots *s, struct slot *slot, uint64_t due_ns, uint64_t id)
{
	slot->due_ns = due_ns;
	if (due_ns && s->now_ns > due_ns && s->now_ns - due_ns > s->late_start_ns)
		s->late_start_ns = s->now_ns - due_ns;
	atomic_store_explicit(&slot->live_id, id, memory_order_relaxed);
	atomic_store_explicit(&slot->live_ns, s->now_ns, memory_order_relaxed);
}

/* Sends the slot's request with the next ones. */
static inline void slots_send(struct slots *s, struct slot *slot, uint32_t step)
{
	INVARIANT(s->ready_count < s->depth, "a slot sends one request at a time");
	slot->step = step;
	s->ready[s->ready_count++] = &slot->req;
}

/* The operation has ended. */
static inline void slots_free(struct slots *s, struct slot *slot)
{
	INVARIANT_SLOW(&slot->link != s->free.first, "an operation ends once");
	atomic_store_explicit(&slot->live_ns, 0, memory_order_relaxed);
	list_prepend(&s->free, &slot->link);
}

/* The operation failed, and may have something to do yet. text NULL: what the answer says. */
void slots_fail(struct slots *s, struct slot *slot, int rc, const char *text);

/* From when it was due, or began, to the last answer. */
static inline uint64_t slot_took_ns(const struct slot *slot)
{
	uint64_t from_ns = slot->due_ns ? slot->due_ns : slot->begin_ns;

	return slot->req.answer.done_ns > from_ns ? slot->req.answer.done_ns - from_ns : 0;
}

#endif
