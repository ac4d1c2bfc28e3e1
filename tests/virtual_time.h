/* Virtual time, for tests of several threads: what a program would take on a machine that computes in no
 * time and wakes sleepers when they asked for it.
 *
 * In a test with VIRTUAL_TIME in its CMakeLists.txt the linker puts functions of virtual_time.c in the place
 * of the C library's (--wrap), for the test's objects and haul's: each wait, sleep and look at the clock
 * comes there. One thread runs at a time. When all threads wait, the clock jumps to the first of their
 * deadlines. Figures are therefore the same on every machine, busy or not, and a test takes as long as it
 * computes.
 *
 * This is not for tests of races, as threads never run at once, nor for what waits in the kernel for
 * something else than time and threads (sockets, rings): virtual time stands still meanwhile. */
#ifndef HAUL_TESTS_VIRTUAL_TIME_H
#define HAUL_TESTS_VIRTUAL_TIME_H

#include <stdint.h>

/* What a look at the clock and a yield take, so that loops of nothing else end. */
enum { VIRTUAL_TIME_LOOK_NS = 100, VIRTUAL_TIME_YIELD_NS = 500 };

/* From now on each sleep ends so much later than was asked for, as on a machine that wakes sleepers late.
 * May be called by any thread. It is 0 at the start. */
void virtual_time_oversleep(uint64_t ns);

#endif
