/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants: what must hold where one part of the program relies on another. Each is asserted there, with its reason. A broken
 * one is a fault of haul itself, never of its input: bad input is an error.
 *
 *	INVARIANT(b->free_count < b->count, "no more slots come back than were taken");
 *
 * INVARIANT is on in every build, for where it costs less than 1 %. INVARIANT_SLOW is on in debug builds and under sanitizers.
 *
 * A thread that finds one broken goes no further, since what it would do next would be wrong. In a run, the signal thread is told
 * (SIGABRT with a pointer to the struct, ranks/run/state.h), and ends the run as one in which a rank failed, with the results so
 * far. Elsewhere nobody has blocked that signal, and the process ends by it. Any thread. */
#ifndef HAUL_CORE_INVARIANT_H
#define HAUL_CORE_INVARIANT_H

struct invariant {
	const char *condition, *reason, *file;
	int line;
};

_Noreturn void invariant_break(const struct invariant *broken);

#define INVARIANT(holds, why) \
	do { \
		static const struct invariant invariant_here = {#holds, (why), __FILE__, \
								__LINE__}; \
		if (__builtin_expect(!(holds), 0)) \
			invariant_break(&invariant_here); \
	} while (0)

#ifdef HAUL_SLOW_INVARIANTS
#define INVARIANT_SLOW(holds, why) INVARIANT(holds, why)
#else
/* Compiled, so that it does not rot, and left out. */
#define INVARIANT_SLOW(holds, why) ((void)sizeof(!(holds)))
#endif

#endif
