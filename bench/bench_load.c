/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bound for loading a model: threads that open files and read or copy ranges of them, and do nothing else. A baseline for
 * run_load.py that contains none of haul's code.
 *
 *	bench_load read|whole|direct|map|ahead THREADS PASSES < LIST
 *
 * LIST has a line for each range: PATH OFFSET BYTES. Threads share the ranges in their order, each by one pread into memory of the
 * thread's own, which it keeps. whole: into memory that is made for it; direct: without the page cache; map: by a copy from a mapping of the file;
 * ahead: so, by one more thread, beside THREADS that read the files in blocks of 16 MiB until that one is done. Prints the
 * seconds of each pass, and processor seconds of all. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RANGES_MAX = 1 << 20, THREADS_MAX = 64, BLOCK = 16 << 20, PATH_BYTES = 4096, PAGE = 4096 };

struct range {
	char *path;
	size_t file, offset, bytes;
};

struct work {
	struct range *ranges;
	size_t count, files, most;
	bool whole, direct, map, ahead;
	unsigned threads;
	char *memory[THREADS_MAX + 1]; /* of the threads, for all passes */
	_Atomic size_t next, next_file;
	_Atomic unsigned begun;
	atomic_bool done, failed;
};

/* The file that a thread has open. */
struct file {
	const char *path;
	int fd;
	char *map;
	size_t bytes;
};

static void leave(struct file *f)
{
	if (!f->path)
		return;
	if (f->map)
		munmap(f->map, f->bytes);
	close(f->fd);
	f->path = NULL;
	f->map = NULL;
}

static bool enter(struct file *f, const char *path, bool direct, bool map)
{
	struct stat st;

	if (f->path == path)
		return true;
	leave(f);
	f->fd = open(path, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return false;
	f->path = path;
	f->bytes = (size_t)st.st_size;
	if (map)
		f->map = mmap(NULL, f->bytes, PROT_READ, MAP_SHARED, f->fd, 0);
	return f->map != MAP_FAILED;
}

static bool read_at(const struct file *f, char *memory, size_t bytes, size_t offset)
{
	for (ssize_t n = 1; bytes && offset < f->bytes && n > 0;
	     memory += n, offset += (size_t)n, bytes -= (size_t)n) {
		n = pread(f->fd, memory, bytes, (off_t)offset);
		if (n <= 0)
			return false;
	}
	return true;
}

/* The next file that nobody has begun to read. */
static const struct range *next_file(struct work *w)
{
	size_t file = atomic_fetch_add(&w->next_file, 1);

	for (size_t i = 0; i < w->count; i++)
		if (w->ranges[i].file == file)
			return &w->ranges[i];
	return NULL;
}

static void *go_ahead(void *argument)
{
	struct work *w = argument;
	const struct range *r;
	struct file f = {NULL, -1, NULL, 0};
	char *memory = w->memory[w->begun++];

	while (!w->done && (r = next_file(w)) != NULL && enter(&f, r->path, false, false))
		for (size_t at = 0; at < f.bytes && !w->done; at += BLOCK)
			w->failed = w->failed || !read_at(&f, memory, BLOCK, at);
	leave(&f);
	return NULL;
}

static void *take(void *argument)
{
	struct work *w = argument;
	struct file f = {NULL, -1, NULL, 0};
	char *memory = w->memory[w->begun++];
	size_t i;

	while (!w->failed && (i = atomic_fetch_add(&w->next, 1)) < w->count) {
		const struct range *r = &w->ranges[i];
		size_t past = w->direct ? r->offset % PAGE : 0;

		if (w->whole && posix_memalign((void **)&memory, PAGE, r->bytes) != 0)
			w->failed = true;
		if (w->failed || !enter(&f, r->path, w->direct, w->map))
			w->failed = true;
		else if (w->map)
			memcpy(memory, f.map + r->offset, r->bytes);
		else if (!read_at(&f, memory,
				  w->direct ? (past + r->bytes + PAGE - 1) / PAGE * PAGE : r->bytes,
				  r->offset - past))
			w->failed = true;
		if (w->whole)
			free(memory);
	}
	leave(&f);
	w->done = true;
	return NULL;
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool pass(struct work *w)
{
	pthread_t threads[THREADS_MAX + 1];
	double began = now(CLOCK_MONOTONIC);
	unsigned all = w->threads + w->ahead;

	w->next = 0;
	w->next_file = 0;
	w->begun = 0;
	w->done = false;
	for (unsigned i = 0; i < all; i++)
		if (pthread_create(&threads[i], NULL, w->ahead && i ? go_ahead : take, w))
			return false;
	for (unsigned i = 0; i < all; i++)
		pthread_join(threads[i], NULL);
	printf("%.6f ", now(CLOCK_MONOTONIC) - began);
	return !w->failed;
}

static bool list_read(struct work *w)
{
	char path[PATH_BYTES];
	struct range r = {NULL, 0, 0, 0};

	w->ranges = calloc(RANGES_MAX, sizeof(*w->ranges));
	while (w->ranges && w->count < RANGES_MAX &&
	       scanf("%4095s %zu %zu", path, &r.offset, &r.bytes) == 3) {
		if (!r.path || strcmp(r.path, path) != 0) {
			r.path = strdup(path);
			r.file = w->files++;
		}
		w->most = r.bytes > w->most ? r.bytes : w->most;
		w->ranges[w->count++] = r;
	}
	return w->count > 0;
}

int main(int argc, char **argv)
{
	const char *way = argc == 4 ? argv[1] : "";
	struct work w = {.whole = strcmp(way, "whole") == 0,
			 .direct = strcmp(way, "direct") == 0,
			 .ahead = strcmp(way, "ahead") == 0};
	int passes = argc == 4 ? atoi(argv[3]) : 0;
	double cpu;

	w.map = w.ahead || strcmp(way, "map") == 0;
	w.threads = argc == 4 ? (unsigned)atoi(argv[2]) : 0;
	if (w.threads < 1 || w.threads > THREADS_MAX || !list_read(&w)) {
		fprintf(stderr, "bench_load read|whole|direct|map|ahead THREADS PASSES < LIST\n");
		return 2;
	}
	for (unsigned i = 0; !w.whole && i < w.threads + w.ahead; i++) {
		size_t bytes = w.ahead ? BLOCK : w.most + 2 * PAGE;

		if (posix_memalign((void **)&w.memory[i], PAGE, bytes) != 0)
			return 1;
		memset(w.memory[i], 0, bytes);
	}
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < passes; i++)
		if (!pass(&w)) {
			fprintf(stderr, "a file could not be read\n");
			return 1;
		}
	printf("%.6f\n", now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	return 0;
}
