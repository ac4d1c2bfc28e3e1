/* Rolling status rounds: how ranks that do not meet at each step agree to stop, and to have finished.
 *
 * One round is always under way. When it completes the next is posted, unless it carried a reason to
 * stop or nobody was unfinished: then the session is over, on all ranks at the same round. Ranks that
 * have finished keep polling until then. Main thread only; no other status call on the group while a
 * session is open. */
#ifndef HAUL_WORKLOADS_COMMON_STATUS_ROUNDS_H
#define HAUL_WORKLOADS_COMMON_STATUS_ROUNDS_H

#include "core/clock.h"
#include "core/group/group.h"

struct status_rounds {
	struct group *group;
	bool open, over;
	struct status merged; /* of the last round that completed */
};

/* Opens a session: every rank of the group, in the same order as its other collectives. */
void status_rounds_begin(struct status_rounds *r, struct group *g, const struct status *mine);

/* Looks whether the round has completed, and posts the next with mine if there is to be one. True
 * when the session is over. Never blocks. *fresh (may be NULL): whether merged is new. */
bool status_rounds_poll(struct status_rounds *r, const struct status *mine, bool *fresh);

#endif
