/* Objects that a trace reads before it writes them: they are made before the phase begins, with all threads of all ranks. Their
 * requests count nowhere, and have no rows in the operation log. */
#ifndef HAUL_WORKLOADS_REPLAY_MAKE_H
#define HAUL_WORKLOADS_REPLAY_MAKE_H

#include "workloads/replay/work.h"

/* Collective. *stopped tells why it ended early. A store that keeps no content is asked for nothing. */
int replay_make(struct replay_work *work, struct phase_context *ctx, enum stop_reason *stopped,
		struct err *err);

#endif
