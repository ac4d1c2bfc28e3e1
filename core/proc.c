/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

uint64_t proc_bytes(const char *path, const char *key)
{
	char kib[64];

	proc_value(path, key, kib, sizeof(kib));
	return strtoull(kib, NULL, 10) << 10;
}

uint64_t proc_memory_bytes(const char *key)
{
	return proc_bytes("/proc/meminfo", key);
}

void sched_times(uint64_t *run_ns, uint64_t *runnable_ns)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;

	*run_ns = 0;
	*runnable_ns = 0;
	while (tasks && (entry = readdir(tasks))) {
		uint64_t run, runnable;
		char path[320];
		FILE *f;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.255s/schedstat", entry->d_name);
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

void sched_watch_open(struct sched_watch *w, int process, uint32_t keeps)
{
	char folder[40];

	snprintf(folder, sizeof(folder), "/proc/%d/task", process);
	*w = (struct sched_watch){.tasks = opendir(folder),
				  .keeps = keeps < SCHED_WATCH_THREADS ? keeps
								       : SCHED_WATCH_THREADS};
}

/* The file of a thread, which is closed afterwards unless it is kept. */
static int watched_file(struct sched_watch *w, const char *name, bool *kept)
{
	char path[280];
	int thread = atoi(name), file;

	for (uint32_t i = 0; i < w->count; i++)
		if (w->kept[i].thread == thread)
			return w->kept[i].file;
	snprintf(path, sizeof(path), "%.255s/schedstat", name);
	file = openat(dirfd(w->tasks), path, O_RDONLY | O_CLOEXEC);
	*kept = file >= 0 && w->count < w->keeps;
	if (*kept)
		w->kept[w->count++] = (struct sched_watched){thread, file};
	else
		*kept = file < 0;
	return file;
}

static bool thread_runnable_ns(int file, uint64_t *ns)
{
	char text[96];
	ssize_t length = file < 0 ? -1 : pread(file, text, sizeof(text) - 1, 0);

	if (length <= 0)
		return false; /* the thread has ended */
	text[length] = '\0';
	return sscanf(text, "%*u %" SCNu64, ns) == 1;
}

uint64_t sched_watch_runnable_ns(struct sched_watch *w)
{
	struct dirent *entry;
	uint64_t sum = 0;

	if (!w->tasks)
		return 0;
	rewinddir(w->tasks);
	while ((entry = readdir(w->tasks))) {
		bool kept = true;
		uint64_t ns;
		int file;

		if (entry->d_name[0] == '.')
			continue;
		file = watched_file(w, entry->d_name, &kept);
		if (thread_runnable_ns(file, &ns))
			sum += ns;
		if (!kept)
			close(file);
	}
	return sum;
}

void sched_watch_close(struct sched_watch *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		close(w->kept[i].file);
	if (w->tasks)
		closedir(w->tasks);
	*w = (struct sched_watch){0};
}
