/* Run-queue waits: how long this process's threads were ready to run but had no core. This tells a
 * busy machine from a slow haul. Source: Linux's /proc/self/task/N/schedstat
 * (Documentation/scheduler/sched-stats.rst). */
#ifndef HAUL_CORE_SCHED_H
#define HAUL_CORE_SCHED_H

#include <stdint.h>

/* Sums over the threads that are alive now; 0 where the kernel does not report them. Any thread. */
void sched_times(uint64_t *run_ns, uint64_t *runnable_ns);

#endif
