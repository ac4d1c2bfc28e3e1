/* Run-queue waits of this process: see sched.h. */
#include "core/sched.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

void sched_times(uint64_t *run_ns, uint64_t *runnable_ns)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;

	*run_ns = 0;
	*runnable_ns = 0;
	while (tasks && (entry = readdir(tasks))) {
		uint64_t run, runnable;
		char path[300];
		FILE *f;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
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
