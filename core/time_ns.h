/* SPDX-License-Identifier: Apache-2.0 */
/* Times as haul counts them, in ns, and as the kernel takes them. Pure functions; any thread. */
#ifndef HAUL_CORE_TIME_NS_H
#define HAUL_CORE_TIME_NS_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_D  (86400 * NS_PER_S)

static inline struct timespec ns_to_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
				 .tv_nsec = (long)(ns % NS_PER_S)};
}

static inline uint64_t timespec_to_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_nsec;
}

#endif
