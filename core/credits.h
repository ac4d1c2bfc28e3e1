/* SPDX-License-Identifier: Apache-2.0 */
/* Credits: permissions to begin work, given many at a time and taken one by one, by any threads.
 * Unlike a semaphore, giving n of them takes one system call at most, and none where nobody
 * waits. */
#ifndef HAUL_CORE_CREDITS_H
#define HAUL_CORE_CREDITS_H

#include <stdatomic.h>
#include <stdint.h>

struct credits {
	_Atomic uint32_t count, waiters;
};

/* Call while no thread uses them. */
void credits_init(struct credits *c, uint32_t count);

/* Any thread. The sum of all credits must fit the count. */
void credits_give(struct credits *c, uint32_t n);

/* Takes one credit; waits for it for at most wait_ns. Returns 0 or -ETIMEDOUT. */
int credits_take(struct credits *c, uint64_t wait_ns);

#endif
