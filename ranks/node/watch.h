/* What a phase does to the machine it runs on, seen from outside the workload: the processor time of this
 * rank's process, and on a node's first rank the node's own rows. Main thread only. */
#ifndef HAUL_RANKS_NODE_WATCH_H
#define HAUL_RANKS_NODE_WATCH_H

#include <stdint.h>

#include "core/measure/tally.h"
#include "ranks/node/sampler.h"

struct watch {
	struct sampler *sampler;     /* NULL: none here */
	uint64_t user_ns, system_ns; /* at the start */
};

/* Begins to count, or begins anew (struct phase_context's hook). */
void watch_begin(void *watch);

/* What has been used since, into the common measures of the rank's row. The node's rows, NULL without a
 * sampler: they stand until the next beginning. */
struct client_series *watch_end(const struct watch *w, uint64_t *rank_row);

#endif
