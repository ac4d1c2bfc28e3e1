/* How a store's requests are tried again: options that stores with transient faults share. The trying itself is the
 * queue's (backends/queue/retry.h). */
#ifndef HAUL_BACKENDS_RETRY_H
#define HAUL_BACKENDS_RETRY_H

#include "core/option/option.h"

struct retry_options {
	uint64_t attempts; /* of a request, the first included */
	uint64_t first_ns, longest_ns;
	uint64_t budget; /* further attempts a queue; 0: no bound */
};
extern const struct option retry_option_table[]; /* for OPT_TABLE */

#endif
