/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a range that are doubled from one to the next: 1..16 is 1, 2, 4, 8, 16, and 1..12 is 1, 2,
 * 4, 8, 12; "64 KiB..1 MiB" are sizes. Plain data; any thread. */
#ifndef HAUL_PLAN_SEARCH_DOUBLING_H
#define HAUL_PLAN_SEARCH_DOUBLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DOUBLING_TEXT_BYTES = 32 };

struct doubling {
	uint64_t next, high;
	bool size, over;
};

/* Whether the text between two positions is such a range. */
bool doubling_begin(struct doubling *d, const char *from, const char *to);
/* The next value; false: there is none. */
bool doubling_next(struct doubling *d, char text[DOUBLING_TEXT_BYTES]);

#endif
