/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded library that simulates a full disk: write calls to files called *.part-* (or
 * *HAUL_FULL_END) fail with ENOSPC after HAUL_FULL_AFTER of them have succeeded, on the rank
 * HAUL_FULL_RANK (compared with PMI_RANK; unset: on all ranks). With HAUL_FULL_COUNT=path, each
 * such process appends the number of its writes to that file when it ends.
 *
 * With HAUL_FULL_HANGS=path it is a file system that does not answer: such a write makes that file,
 * and does not return. With HAUL_FULL_WHEN=path the disk is full, or hangs, once that file is
 * there. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long writes;

static bool is_part(int fd)
{
	const char *end = getenv("HAUL_FULL_END");
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if (!end)
		return strstr(path, ".part-") != NULL;
	return n > (ssize_t)strlen(end) && strcmp(path + n - strlen(end), end) == 0;
}

static bool is_met(int fd)
{
	const char *when = getenv("HAUL_FULL_WHEN");
	const char *after = getenv("HAUL_FULL_AFTER"), *rank = getenv("HAUL_FULL_RANK");
	const char *own = getenv("PMI_RANK");

	if (!is_part(fd))
		return false;
	writes++;
	if (when && access(when, F_OK) < 0)
		return false;
	return after && (!rank || (own && strcmp(rank, own) == 0)) && writes > atol(after);
}

static bool is_full(int fd)
{
	const char *hangs = getenv("HAUL_FULL_HANGS");

	if (!is_met(fd))
		return false;
	if (!hangs)
		return true;
	close(open(hangs, O_CREAT | O_WRONLY, 0666));
	for (;;)
		pause();
}

__attribute__((destructor)) static void tell_count(void)
{
	const char *path = getenv("HAUL_FULL_COUNT"), *own = getenv("PMI_RANK");
	FILE *f = path && writes ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%s %ld\n", own ? own : "0", writes);
	fclose(f);
}

ssize_t write(int fd, const void *data, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);

	if (!real)
		real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	if (is_full(fd)) {
		errno = ENOSPC;
		return -1;
	}
	return real(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	static ssize_t (*real)(int, const void *, size_t, off_t);

	if (!real)
		real = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
	if (is_full(fd)) {
		errno = ENOSPC;
		return -1;
	}
	return real(fd, data, size, at);
}

/* On a 64-bit machine this is the same call. */
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
	__attribute__((alias("pwrite")));
