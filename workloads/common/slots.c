/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: see slots.h. */
#include "workloads/common/slots.h"

#include <errno.h>
#include <stdlib.h>

/* With nothing in flight it sleeps no longer, because a stop may be asked for. */
static const uint64_t longest_sleep_ns = 10000000;

int slots_open(struct slots *s, struct err *err)
{
	s->memory = calloc(s->depth, s->slot_bytes);
	s->ready = calloc(s->depth, sizeof(struct request *));
	s->back = calloc(s->depth, sizeof(struct request *));
	if (!s->memory || !s->ready || !s->back)
		return err_set(err, -ENOMEM, "no memory for %u operations in flight", s->depth);
	for (uint32_t i = 0; i < s->depth; i++) {
		struct slot *slot = slots_at(s, i);

		if (s->buffers)
			slot->buffer = (char *)s->buffers + i * s->buffer_bytes;
		list_append(&s->free, &slot->link);
	}
	s->member->slots = s;
	return 0;
}

void slots_close(struct slots *s)
{
	free(s->memory);
	free(s->ready);
	free(s->back);
	*s = (struct slots){0};
}

uint64_t slots_memory(uint64_t depth, uint64_t slot_bytes)
{
	return depth * (slot_bytes + 2 * sizeof(struct request *));
}

/* Begins what is due. Returns when the next operation is, UINT64_MAX: none waits for its time. */
static uint64_t slots_begin(struct slots *s)
{
	while (!s->over && !list_empty(&s->free)) {
		uint64_t next_ns = s->hooks->due(s->owner);

		if (next_ns == SLOTS_OVER) {
			s->over = true;
		} else if (s->until_ns && (s->now_ns >= s->until_ns || next_ns >= s->until_ns)) {
			s->over = true;
			s->timed_out = true;
		} else if (next_ns > s->now_ns) {
			return next_ns;
		} else {
			s->hooks->begin(s->owner, slots_take(s));
		}
	}
	return UINT64_MAX;
}

/* The first request has ended that counts. */
static void slots_warm(void *slots)
{
	struct slots *s = slots;
	struct slots_warmup *w = s->warmup;
	struct cpu_time now;

	if (s->warm)
		return; /* it was one of another queue of the thread */
	s->warm = true;
	for (uint32_t i = 0; i < s->member->meter.queue_count; i++)
		s->member->meter.queues[i]->entered = true;
	s->hooks->drop(s->owner);
	if (s->member != s->member->crew->members)
		return;
	now = cpu_time_process();
	w->used =
		(struct cpu_time){now.user_ns - w->from.user_ns, now.system_ns - w->from.system_ns};
}

uint32_t slots_reap(struct slots *s, struct queue *q, uint32_t least, uint64_t until_ns)
{
	uint32_t n = queue_reap(q, s->back, least, s->depth, until_ns);

	if (n)
		s->now_ns = q->now_ns;
	for (uint32_t i = 0; i < n; i++)
		s->hooks->step(s->owner, list_member(s->back[i], struct slot, req));
	crew_look(s->member);
	return n;
}

static void slots_loop(struct slots *s, struct clock *clock)
{
	struct queue *q = &s->member->queue;
	uint64_t next_ns;

	s->now_ns = clock_now(clock);
	for (;;) {
		s->over = s->over || slots_halted(s);
		next_ns = slots_begin(s);
		if (s->ready_count)
			queue_submit(q, s->ready, s->ready_count);
		s->ready_count = 0;
		if (!q->in_flight && next_ns == UINT64_MAX)
			return;
		if (!q->in_flight)
			clock_sleep_until(clock, next_ns < s->now_ns + longest_sleep_ns
							 ? next_ns
							 : s->now_ns + longest_sleep_ns);
		slots_reap(s, q, 1, next_ns);
		meter_live(&s->member->meter, q->now_ns);
		s->now_ns = next_ns == UINT64_MAX ? q->now_ns : clock_now(clock);
	}
}

int slots_run(struct slots *s, uint64_t start_ns, uint64_t until_ns)
{
	struct clock *clock = s->member->crew->store->clock;
	int ended;

	s->until_ns = until_ns;
	s->over = s->timed_out = false;
	for (uint32_t i = 0; s->warmup && !s->warm && i < s->member->meter.queue_count; i++)
		queue_measure_from(s->member->meter.queues[i], s->warmup->end_ns, slots_warm, s);
	clock_sleep_until(clock, start_ns);
	slots_loop(s, clock);
	ended = s->hooks->end ? s->hooks->end(s->owner) : 0;
	if (s->rc < 0 || ended < 0)
		return s->rc < 0 ? s->rc : ended;
	return slots_halted(s) ? -ECANCELED : 0;
}

uint64_t slots_waits(const struct crew *p, uint32_t thread, uint64_t now_ns,
		     char key[OBJECT_KEY_BYTES])
{
	const struct slots *s = p->members[thread].slots;
	uint64_t oldest_ns = now_ns, id = 0;

	for (uint32_t i = 0; i < s->depth; i++) {
		const struct slot *slot = slots_at(s, i);
		uint64_t since_ns = atomic_load_explicit(&slot->live_ns, memory_order_relaxed);

		if (!since_ns || since_ns >= oldest_ns)
			continue;
		oldest_ns = since_ns;
		id = atomic_load_explicit(&slot->live_id, memory_order_relaxed);
	}
	if (oldest_ns < now_ns)
		s->hooks->key(s->owner, id, key);
	return now_ns - oldest_ns;
}

void slots_fail(struct slots *s, struct slot *slot, int rc, const char *text)
{
	slot->failed = true;
	crew_fail(s->member, &slot->req, rc, text ? text : request_text(&slot->req));
	if (s->goes_on)
		return;
	s->rc = s->rc ? s->rc : rc;
	s->over = true;
}
