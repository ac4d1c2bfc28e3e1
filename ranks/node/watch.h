/* Machine use of a phase, seen from outside the workload: the processor time of this rank's process
 * and, on the first rank of a node, the node's own rows. Main thread only. */
#ifndef HAUL_RANKS_NODE_WATCH_H
#define HAUL_RANKS_NODE_WATCH_H

#include <stdint.h>

#include "core/measure/tally.h"
#include "ranks/node/sampler.h"

struct watch {
	struct sampler *sampler;     /* NULL: this rank has none */
	uint64_t user_ns, system_ns; /* processor time at the start */
};

/* Begins to count, or begins again (a hook of struct phase_context). */
void watch_begin(void *watch);

/* The processor time since then goes into the rank's row. The watch goes on. */
void watch_so_far(const struct watch *w, uint64_t *rank_row);

/* Adds what was used since then to the common measures of the rank's row. Returns the node's rows,
 * or NULL without a sampler; they are valid until the next begin. */
struct client_series *watch_end(const struct watch *w, uint64_t *rank_row);

#endif
