/* Turns of a thread: see turn.h. */
#include "workloads/common/turn.h"

#include <errno.h>
#include <stdlib.h>

static const uint64_t longest_sleep_ns = 10000000;

int turn_open(struct turn *t, struct queue *q, struct clock *clock, uint32_t depth, struct err *err)
{
	*t = (struct turn){.queue = q, .clock = clock, .depth = depth};
	t->ready = calloc(depth, sizeof(struct request *));
	t->back = calloc(depth, sizeof(struct request *));
	if (!t->ready || !t->back)
		return err_set(err, -ENOMEM, "no memory for %u operations in flight", depth);
	return 0;
}

void turn_close(struct turn *t)
{
	free(t->ready);
	free(t->back);
	*t = (struct turn){0};
}

uint64_t turn_bytes(uint64_t depth)
{
	return 2 * sizeof(struct request *) * depth;
}

bool turn_submit(struct turn *t)
{
	if (t->ready_count)
		queue_submit(t->queue, t->ready, t->ready_count);
	t->ready_count = 0;
	return t->queue->in_flight > 0;
}

uint32_t turn_wait(struct turn *t, uint64_t now_ns, uint64_t next_ns)
{
	if (t->queue->in_flight)
		return queue_reap(t->queue, t->back, 1, t->depth, next_ns);
	clock_sleep_until(t->clock, next_ns < now_ns + longest_sleep_ns
					    ? next_ns
					    : now_ns + longest_sleep_ns);
	return 0;
}

uint64_t turn_now(const struct turn *t, uint64_t next_ns)
{
	return next_ns == UINT64_MAX ? t->queue->now_ns : clock_now(t->clock);
}
