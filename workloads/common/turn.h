/* Turns of a thread whose operations have times when they are due. In a turn, the thread takes up what is due, hands the
 * requests that are ready to its queue together, and waits until some come back or the next operation is due. With nothing in
 * flight it waits for 10 ms at most, because a stop may be asked for:
 *
 *	for (;;) {
 *		next_ns = …take up what is due at now_ns, turn_add…;
 *		if (!turn_submit(&turn) && next_ns == UINT64_MAX)
 *			break;
 *		n = turn_wait(&turn, now_ns, next_ns);
 *		…go on with turn.back[0 … n - 1]…;
 *		now_ns = turn_now(&turn, next_ns);
 *	}
 *
 * A turn belongs to one thread. */
#ifndef HAUL_WORKLOADS_COMMON_TURN_H
#define HAUL_WORKLOADS_COMMON_TURN_H

#include "workloads/common/crew.h"

struct turn {
	struct queue *queue;
	struct clock *clock;
	uint32_t depth;
	uint32_t ready_count;
	struct request **ready; /* [depth], to be submitted next */
	struct request **back;  /* [depth], those that the last wait returned */
};

/* -ENOMEM. Closing one that is zeroed or that failed to open is allowed. */
int turn_open(struct turn *t, struct queue *q, struct clock *clock, uint32_t depth,
	      struct err *err);
void turn_close(struct turn *t);
/* Memory of a turn beside the struct. */
uint64_t turn_bytes(uint64_t depth);

/* At most depth requests may be ready and in flight. */
static inline void turn_add(struct turn *t, struct request *r)
{
	t->ready[t->ready_count++] = r;
}

/* Whether anything is in flight then. */
bool turn_submit(struct turn *t);
/* next_ns: when the next operation is due; UINT64_MAX: none waits for its time. Returns how many came back. */
uint32_t turn_wait(struct turn *t, uint64_t now_ns, uint64_t next_ns);
/* The time after a wait: the queue's last stamp, where no operation waits for its time, since the clock need not be read. */
uint64_t turn_now(const struct turn *t, uint64_t next_ns);

#endif
