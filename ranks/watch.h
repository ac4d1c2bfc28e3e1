/* What a phase costs the machine it runs on, seen from outside the workload: the processor time of this
 * rank's process. Main thread only. */
#ifndef HAUL_RANKS_WATCH_H
#define HAUL_RANKS_WATCH_H

#include <stdint.h>

#include "core/tally.h"

struct watch {
	uint64_t user_ns, system_ns; /* at the start */
};

/* Begins to count, or begins anew (struct phase_context's hook). */
void watch_begin(void *watch);

/* What has been used since, into the common measures of the rank's row. */
void watch_end(const struct watch *w, uint64_t *rank_row);

#endif
