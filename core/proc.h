/* SPDX-License-Identifier: Apache-2.0 */
/* What Linux tells of this node and process in files, mostly of lines "key : value": /proc/cpuinfo,
 * /proc/meminfo. */
#ifndef HAUL_CORE_PROC_H
#define HAUL_CORE_PROC_H

#include <stddef.h>
#include <stdint.h>

/* The value of the first line that begins with key; "" where there is none. Cut to bytes. */
void proc_value(const char *path, const char *key, char *out, size_t bytes);

/* The same of a line in kB, in bytes. 0: unknown. */
uint64_t proc_bytes(const char *path, const char *key);
/* A line of /proc/meminfo: "MemTotal", "MemAvailable". 0: unknown. */
uint64_t proc_memory_bytes(const char *key);

/* Run-queue waits: how long this process's threads ran, and were ready to run but had no core,
 * which tells a busy machine from a slow haul. Sums over the threads that are alive now, of Linux's
 * /proc/self/task/N/schedstat (Documentation/scheduler/sched-stats.rst); 0 where the kernel does
 * not report them. Any thread. */
void sched_times(uint64_t *run_ns, uint64_t *runnable_ns);
/* The time that threads of another process of this node were ready to run but had no core. A thread that
 * ends takes its time with it. Files of `keeps` threads, at most SCHED_WATCH_THREADS, stay open, since they are read again and
 * again. Belongs to one thread. */
enum { SCHED_WATCH_THREADS = 16 };
struct sched_watch {
	void *tasks; /* the folder; NULL: the process has ended */
	struct sched_watched {
		int thread, file;
	} kept[SCHED_WATCH_THREADS];
	uint32_t count, keeps;
};
void sched_watch_open(struct sched_watch *w, int process, uint32_t keeps);
uint64_t sched_watch_runnable_ns(struct sched_watch *w);
void sched_watch_close(struct sched_watch *w);

#endif
