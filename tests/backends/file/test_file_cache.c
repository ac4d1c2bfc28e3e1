/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the page cache of file://: which pages of a file it holds, both in the working directory
 * (the build's, on a disk) and on tmpfs, from which nothing can be dropped. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/file/cache.h"
#include "tests/unit.h"

enum { FILE_BYTES = 8 << 20 };

/* Writes the file in pieces. Written page by page, it is in the cache page by page; the kernel may
 * cache, and drop, a larger write in larger pieces. */
static int make_file(char *path, size_t piece)
{
	char *bytes = calloc(1, piece);
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0 && bytes);
	for (size_t at = 0; at < FILE_BYTES; at += piece)
		CU_ASSERT_EQUAL_FATAL(write(fd, bytes, piece), (ssize_t)piece);
	free(bytes);
	return fd;
}

/* Other processes also change the page cache (they may drop all caches, or hold a page for a
 * moment), and a test cannot tell whose change it sees. So each case has several tries; wrong code
 * fails all of them. */
enum { TRIES = 50 };

struct read_case {
	uint64_t offset, length, read_from, read_bytes;
	int64_t cached;
};

static bool counts_what_was_read(int fd, const char *path, const struct read_case *c, char *bytes)
{
	if (file_cache_evict(path) != 0)
		return false;
	CU_ASSERT_EQUAL(pread(fd, bytes, c->read_bytes, (off_t)c->read_from),
			(ssize_t)c->read_bytes);
	return file_cache_resident(fd, c->offset, c->length) == c->cached &&
	       file_cache_mincore(fd, c->offset, c->length) == c->cached;
}

static void residency_by_page(void)
{
	static const struct read_case cases[] = {
		{0, FILE_BYTES, 0, 0, 0},
		{0, 4096, 0, 1, 4096},
		{4096, 4096, 0, 4096, 0},
		{100, 50, 0, 4096, 50},
		/* only the first of the two pages is cached */
		{4000, 200, 0, 4096, 100},
		{0, 0, 0, 4096, 0},
		{FILE_BYTES - 4096, 4096, FILE_BYTES - 1, 1, 4096},
		/* a range behind the end of the file is in no page */
		{FILE_BYTES + 4096, 4096, 0, FILE_BYTES, 0},
		{1 << 20, 1 << 20, 0, FILE_BYTES, 1 << 20},
	};
	char path[] = "./test_file_cache.XXXXXX", *bytes = malloc(FILE_BYTES);
	int fd = make_file(path, FILE_BYTES);

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (size_t i = 0; !file_cache_is_memory(".") && i < sizeof(cases) / sizeof(cases[0]);
	     i++) {
		int tries = 0;

		while (tries < TRIES && !counts_what_was_read(fd, path, &cases[i], bytes))
			tries++;
		CU_ASSERT(tries < TRIES);
	}
	CU_ASSERT_EQUAL(file_cache_evict("./not/there"), -ENOENT);
	CU_ASSERT_EQUAL(file_cache_resident(-1, 0, 1), -EBADF);
	unlink(path);
	close(fd);
	free(bytes);
}

struct drop_case {
	uint64_t offset, length;
	int64_t stays, left; /* bytes cached afterwards, in the range and in the file */
};

static bool drops(const struct drop_case *c)
{
	char path[] = "./test_file_cache.XXXXXX";
	int fd = make_file(path, 4096);
	bool right = file_cache_resident(fd, 0, FILE_BYTES) == FILE_BYTES &&
		     file_cache_drop(fd, c->offset, c->length) == c->stays &&
		     file_cache_resident(fd, 0, FILE_BYTES) == c->left;

	unlink(path);
	close(fd);
	return right;
}

/* Only pages that are completely inside the range are dropped; dirty pages are written first. */
static void a_range_is_dropped(void)
{
	static const struct drop_case cases[] = {
		{4096, 8192, 0, FILE_BYTES - 8192},
		{100, 4096, 4096, FILE_BYTES},
		{4000, 4192, 2096, FILE_BYTES - 4096},
		{FILE_BYTES / 2, 0, 0, FILE_BYTES / 2},
		{0, FILE_BYTES / 2, 0, FILE_BYTES / 2},
		{FILE_BYTES, 0, 0, FILE_BYTES},
		{0, 0, 0, 0},
	};

	for (size_t i = 0; !file_cache_is_memory(".") && i < sizeof(cases) / sizeof(cases[0]);
	     i++) {
		int tries = 0;

		while (tries < TRIES && !drops(&cases[i]))
			tries++;
		CU_ASSERT(tries < TRIES);
	}
	CU_ASSERT_EQUAL(file_cache_drop(-1, 0, 0), -EBADF);
}

static void memory_is_never_cold(void)
{
	char path[] = "/dev/shm/test_file_cache.XXXXXX";
	int fd;

	CU_ASSERT_FALSE(file_cache_is_memory("/proc"));
	if (!file_cache_is_memory("/dev/shm/not/there"))
		return; /* /dev/shm is not tmpfs here */
	fd = make_file(path, FILE_BYTES);
	CU_ASSERT_EQUAL(file_cache_evict(path), FILE_BYTES);
	CU_ASSERT_EQUAL(file_cache_resident(fd, 0, FILE_BYTES), FILE_BYTES);
	unlink(path);
	close(fd);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"residency by page", residency_by_page},
		{"a range is dropped", a_range_is_dropped},
		{"memory is never cold", memory_is_never_cold},
		CU_TEST_INFO_NULL,
	};

	return unit_main("file_cache", tests);
}
