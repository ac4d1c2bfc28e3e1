/* SPDX-License-Identifier: Apache-2.0 */
/* Options for retries, shared by the stores whose requests can fail temporarily. The queue does the
 * retries (backends/queue/state.h). */
#ifndef HAUL_BACKENDS_RETRY_H
#define HAUL_BACKENDS_RETRY_H

#include "core/option/option.h"

struct retry_options {
	uint64_t attempts; /* per request, including the first */
	uint64_t first_ns, longest_ns;
	uint64_t patience_ns; /* bound of a wait that the store asks for */
	uint64_t budget;      /* further attempts per queue; 0: no bound */
};
extern const struct option retry_option_table[]; /* for OPT_TABLE */

#endif
