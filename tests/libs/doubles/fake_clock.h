/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks that move only when a test advances them or when somebody sleeps: any number of threads
 * may use one, and a sleep moves it forward at once. */
#ifndef HAUL_TESTS_FAKE_CLOCK_H
#define HAUL_TESTS_FAKE_CLOCK_H

#include "core/clock.h"

void clock_init_fake(struct clock *c, uint64_t start_ns);
void clock_advance(struct clock *c, uint64_t ns);

#endif
