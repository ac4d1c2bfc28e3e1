/* SPDX-License-Identifier: Apache-2.0 */
/* Whether to look for events a few times more before sleeping. Going to sleep and waking up costs
 * several microseconds, more in a virtual machine, and over a fast network the next event often
 * comes sooner. Looking for about as long as that costs at most twice the processor time of
 * whichever would have been the better choice (Karlin, Li, Manasse, Owicki: Empirical studies of
 * competitive spinning, SOSP 1991). Where looking is in vain more often than one time in three, it
 * soon happens at one wait out of 64 only, so a slow server costs next to nothing.
 *
 * Thread rule: one owner. All zero is a new one. */
#ifndef HAUL_BACKENDS_HTTP_NATIVE_SPIN_H
#define HAUL_BACKENDS_HTTP_NATIVE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SPIN_LOOKS = 32,    /* of 0.2 µs each: about what sleeping and waking up cost */
	SPIN_LEVEL_MAX = 6, /* then 63 waits out of 64 pass without */
};

struct spin {
	uint8_t level; /* 2^level - 1 waits pass after one in vain */
	uint8_t pass;  /* waits that are still to pass */
};

/* Asked before each wait for which nothing has come yet. */
bool spin_now(struct spin *s);
/* Says how looking ended, if spin_now returned true. */
void spin_said(struct spin *s, bool came);

#endif
