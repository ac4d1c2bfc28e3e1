/* SPDX-License-Identifier: Apache-2.0 */
/* Window: the time that is measured, which begins where a warm-up ends. One rule for all figures says what of a request, or of an
 * operation, that began before it and ended in it belongs to it: the share of its time that lies inside.
 *
 *	 warm-up        from_ns           window
 *	────────────────────┼──────────────────────────────►
 *	      ├─────────────┼──────┤      of 8 MiB: 8 MiB * (end - from) / (end - begin)
 *
 * Bytes are divided so. What cannot be divided, such as a latency, belongs to the window if at least half of the time does. Pure
 * functions; any thread. */
#ifndef HAUL_CORE_MEASURE_WINDOW_H
#define HAUL_CORE_MEASURE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* Operations are added up in so many parts each. */
enum { WINDOW_PARTS_BITS = 16, WINDOW_PARTS = 1 << WINDOW_PARTS_BITS };

static inline uint64_t window_share(uint64_t from_ns, uint64_t begin_ns, uint64_t end_ns,
				    uint64_t amount)
{
	if (begin_ns >= from_ns)
		return amount;
	if (end_ns <= from_ns)
		return 0;
	return (uint64_t)((unsigned __int128)amount * (end_ns - from_ns) / (end_ns - begin_ns));
}

static inline bool window_has(uint64_t from_ns, uint64_t begin_ns, uint64_t end_ns)
{
	return begin_ns >= from_ns || (end_ns > from_ns && end_ns - from_ns >= from_ns - begin_ns);
}

/* Whole operations of that many parts. */
static inline uint64_t window_whole(uint64_t parts)
{
	return (parts + WINDOW_PARTS / 2) >> WINDOW_PARTS_BITS;
}

#endif
