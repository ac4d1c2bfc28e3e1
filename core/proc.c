/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void proc_value(const char *path, const char *key, char *out, size_t bytes)
{
	FILE *f = fopen(path, "re");
	char line[256];

	out[0] = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (!colon || strncmp(line, key, strlen(key)) != 0)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		colon[strcspn(colon, "\n")] = '\0';
		snprintf(out, bytes, "%s", colon);
		break;
	}
	if (f)
		fclose(f);
}

uint64_t proc_memory_bytes(const char *key)
{
	char kib[64];

	proc_value("/proc/meminfo", key, kib, sizeof(kib));
	return strtoull(kib, NULL, 10) << 10;
}

static void sched_times_at(const char *folder, uint64_t *run_ns, uint64_t *runnable_ns)
{
	DIR *tasks = opendir(folder);
	struct dirent *entry;

	*run_ns = 0;
	*runnable_ns = 0;
	while (tasks && (entry = readdir(tasks))) {
		uint64_t run, runnable;
		char path[320];
		FILE *f;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%.40s/%.255s/schedstat", folder, entry->d_name);
		f = fopen(path, "r");
		if (!f)
			continue; /* the thread has just ended */
		if (fscanf(f, "%" SCNu64 " %" SCNu64, &run, &runnable) == 2) {
			*run_ns += run;
			*runnable_ns += runnable;
		}
		fclose(f);
	}
	if (tasks)
		closedir(tasks);
}

void sched_times(uint64_t *run_ns, uint64_t *runnable_ns)
{
	sched_times_at("/proc/self/task", run_ns, runnable_ns);
}

void sched_times_of(int process, uint64_t *run_ns, uint64_t *runnable_ns)
{
	char folder[40];

	snprintf(folder, sizeof(folder), "/proc/%d/task", process);
	sched_times_at(folder, run_ns, runnable_ns);
}
