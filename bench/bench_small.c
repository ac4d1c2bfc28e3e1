/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bound for reading small files: threads that open, fstat, read and close them, and do
 * nothing else. A baseline for run_small.sh that contains none of haul's code.
 *
 *	bench_small THREADS PASSES < LIST
 *
 * Thread t reads files t, t + THREADS, … of the list. Prints files, seconds and processor
 * seconds. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 1 << 20, THREADS_MAX = 64 };

struct list {
	char **paths;
	size_t count;
	unsigned threads, passes;
};

struct reader {
	const struct list *list;
	unsigned index;
	size_t files;
	pthread_t thread;
};

static int read_file(const char *path, char *window)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	off_t at = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		st.st_size = 0;
	for (; at < st.st_size && n > 0; at += n)
		n = pread(fd, window, WINDOW, at);
	close(fd);
	return at == st.st_size && at > 0 ? 0 : -1;
}

static void *read_all(void *argument)
{
	struct reader *r = argument;
	const struct list *l = r->list;
	char *window = malloc(WINDOW);

	if (window == NULL)
		return NULL;
	memset(window, 0, WINDOW);
	for (unsigned pass = 0; pass < l->passes; pass++)
		for (size_t i = r->index; i < l->count; i += l->threads)
			if (read_file(l->paths[i], window) == 0)
				r->files++;
	free(window);
	return NULL;
}

static int list_read(struct list *l)
{
	size_t room = 0, size = 0;
	char *line = NULL;
	ssize_t n;

	while ((n = getline(&line, &size, stdin)) > 0) {
		if (l->count == room) {
			char **more =
				realloc(l->paths, (room = room ? 2 * room : 1024) * sizeof(*more));

			if (more == NULL)
				return -1;
			l->paths = more;
		}
		line[n - 1] = '\0';
		l->paths[l->count++] = strdup(line);
	}
	free(line);
	return l->count ? 0 : -1;
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	struct reader readers[THREADS_MAX] = {{NULL, 0, 0, 0}};
	struct list list = {NULL, 0, 0, 0};
	double wall, cpu;
	size_t files = 0;

	if (argc == 3) {
		list.threads = (unsigned)atoi(argv[1]);
		list.passes = (unsigned)atoi(argv[2]);
	}
	if (list.threads < 1 || list.threads > THREADS_MAX || list_read(&list) < 0) {
		fprintf(stderr, "bench_small THREADS PASSES < LIST\n");
		return 2;
	}
	wall = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned i = 0; i < list.threads; i++) {
		readers[i].list = &list;
		readers[i].index = i;
		if (pthread_create(&readers[i].thread, NULL, read_all, &readers[i]))
			return 1;
	}
	for (unsigned i = 0; i < list.threads; i++) {
		pthread_join(readers[i].thread, NULL);
		files += readers[i].files;
	}
	wall = now(CLOCK_MONOTONIC) - wall;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	if (files != list.count * list.passes) {
		fprintf(stderr, "only %zu of %zu files could be read\n", files,
			list.count * list.passes);
		return 1;
	}
	printf("%zu %.4f %.4f\n", files, wall, cpu);
	return 0;
}
