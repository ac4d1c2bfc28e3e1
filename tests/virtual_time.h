/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time for tests of several threads: it passes as on a machine that computes in no time and
 * wakes sleepers exactly when they asked for it.
 *
 * For a test with VIRTUAL_TIME in its CMakeLists.txt, the linker replaces functions of the C
 * library by those of virtual_time.c (--wrap), in the objects of the test and of haul, so each
 * wait, sleep and reading of the clock goes there. One thread runs at a time. When all threads
 * wait, the clock jumps to the earliest deadline. Times are therefore the same on every machine,
 * busy or not, and a test takes only as long as it computes.
 *
 * It cannot test races, because threads never run at the same time, nor waits in the kernel for
 * other things than time and threads (sockets, rings), because virtual time does not pass
 * meanwhile. */
#ifndef HAUL_TESTS_VIRTUAL_TIME_H
#define HAUL_TESTS_VIRTUAL_TIME_H

#include <stdint.h>

/* The time that a reading of the clock and a yield take, so that loops that do nothing else end. */
enum { VIRTUAL_TIME_LOOK_NS = 100, VIRTUAL_TIME_YIELD_NS = 500 };

/* From now on each sleep ends this much later than requested, as on a machine that wakes sleepers
 * late. May be called by any thread. It is 0 at the start. */
void virtual_time_oversleep(uint64_t ns);

#endif
