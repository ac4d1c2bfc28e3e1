/* SPDX-License-Identifier: Apache-2.0 */
/* Coarse latency histogram: see coarse_hist.h. */
#include "core/measure/coarse_hist.h"

uint64_t coarse_edge(unsigned i)
{
	if (i < 16)
		return i;
	if (i >= COARSE_BUCKETS)
		return UINT64_C(1) << 42;
	return (uint64_t)(8 + (i & 7)) << ((i >> 3) - 1);
}
