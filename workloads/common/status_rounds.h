/* SPDX-License-Identifier: Apache-2.0 */
/* Rolling status rounds: how ranks that do not meet at each step agree that they stop or that all
 * have finished.
 *
 * One round is always under way. When it completes, the next is posted, unless it carried a reason
 * to stop or no rank was unfinished: then the session is over, on all ranks at the same round.
 * Ranks that have finished keep polling until then. Main thread only. While a session is open,
 * there may be no other status call on the group. */
#ifndef HAUL_WORKLOADS_COMMON_STATUS_ROUNDS_H
#define HAUL_WORKLOADS_COMMON_STATUS_ROUNDS_H

#include "core/group/group.h"

struct status_rounds {
	struct group *group;
	bool open, over;
	struct status merged; /* result of the latest completed round */
};

/* Opens a session. Every rank of the group calls it, in the same order as its other collectives. */
void status_rounds_begin(struct status_rounds *r, struct group *g, const struct status *mine);

/* Tests whether the round has completed, and then posts the next with mine if there is to be one.
 * Returns true when the session is over. Never blocks. *fresh (may be NULL): whether merged is
 * new. */
bool status_rounds_poll(struct status_rounds *r, const struct status *mine, bool *fresh);

#endif
