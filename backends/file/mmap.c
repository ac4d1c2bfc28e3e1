/* SPDX-License-Identifier: Apache-2.0 */
/* The mmap engine: a file is mapped when it is opened, and its bytes are taken from the page cache
 * itself. A request that carries data is one copy, as the kernel's is with pread; one that streams
 * is handed the mapping, and nothing is copied at all. Writes go by pwrite.
 *
 * Pages are brought in by one system call a request, not by a fault each, unless the request touches
 * them: then each comes by its fault, with whatever engine else. A file that is cut short
 * while it is mapped has pages no more: see struct fault_guard. From then on all reads of the object
 * give -EIO, since what the mapping shows is not the file. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/file/direct.h"
#include "backends/file/file.h"
#include "core/numbers.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

enum { STREAM_BYTES = 4 << 20 };

static int mmap_object_open(struct object *o)
{
	void *map;

	o->state[FILE_BROKEN] = 0;
	o->state[FILE_MAP_BYTES] = 0;
	if (!o->size)
		return 0;
	map = mmap(NULL, o->size, PROT_READ, MAP_SHARED, file_descriptor(o), 0);
	if (map == MAP_FAILED)
		return -errno;
	o->state[FILE_MAP] = (uintptr_t)map;
	o->state[FILE_MAP_BYTES] = o->size;
	return 0;
}

static void mmap_object_close(struct object *o)
{
	if (o->state[FILE_MAP_BYTES])
		munmap((void *)(uintptr_t)o->state[FILE_MAP], o->state[FILE_MAP_BYTES]);
}

/* The whole pages around a range of the mapping. */
static struct fault_guard pages_around(struct object *o, char *from, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)from & (page - 1);

	return (struct fault_guard){.base = from - before,
				    .bytes = (before + bytes + page - 1) & ~(page - 1),
				    .page_bytes = page,
				    .broken = &o->state[FILE_BROKEN]};
}

/* Brings the pages in. Older kernels cannot: each is then brought in by a fault. */
static int populate(const struct fault_guard *g)
{
	if (madvise(g->base, g->bytes, MADV_POPULATE_READ) == 0 || errno == EINVAL)
		return 0;
	return errno == EFAULT || errno == EHWPOISON ? -EIO : -errno;
}

/* bytes at offset at, to data or to the chunk call. */
static int mmap_take(struct request *req, uint64_t at, uint64_t bytes)
{
	struct object *o = req->object;
	char *from = (char *)(uintptr_t)o->state[FILE_MAP] + at;
	struct fault_guard g = pages_around(o, from, bytes);
	int rc = req->touch ? 0 : populate(&g);

	if (rc < 0)
		return rc;
	fault_guard_enter(&g);
	if (req->chunk)
		rc = req->chunk(req, at, from, bytes);
	else
		memcpy((char *)req->data + (at - req->offset), from, bytes);
	clock_wait_for_loads();
	fault_guard_leave();
	if (__atomic_load_n(g.broken, __ATOMIC_SEQ_CST))
		return -EIO;
	/* What has been streamed is not held: it would count as this process's memory. */
	if (req->chunk)
		madvise(g.base, g.bytes, MADV_DONTNEED);
	return rc < 0 ? rc : 0;
}

/* What is open to be written too is not mapped, for it grows: read through the window. */
static void move_unmapped(struct channel *c, struct request *req)
{
	struct request piece = {.op = REQ_READ, .object = req->object, .data = req->data};
	uint64_t left = req->length - req->answer.done_bytes;
	int rc;

	if (!req->chunk) {
		file_psync.move(c, req);
		return;
	}
	while (req->answer.status == 0 && left) {
		piece.offset = req->offset + req->answer.done_bytes;
		piece.length = min_u64(left, req->buffer_bytes);
		piece.answer.done_bytes = 0;
		file_psync.move(c, &piece);
		if (piece.answer.status == 0 && !piece.answer.done_bytes)
			return;
		rc = piece.answer.status;
		if (rc == 0)
			rc = req->chunk(req, piece.offset, piece.data, piece.answer.done_bytes);
		if (rc < 0)
			req->answer.status = rc;
		else
			req->answer.done_bytes += piece.answer.done_bytes;
		left = req->length - req->answer.done_bytes;
	}
}

static void mmap_move(struct channel *c, struct request *req)
{
	struct object *o = req->object;
	uint64_t at = req->offset + req->answer.done_bytes, end = req->offset + req->length;
	uint64_t size = o->state[FILE_MAP_BYTES], piece = end - at;
	int fd = file_descriptor(o);

	req->answer.status = fd < 0 ? -EBADF : 0;
	if (req->answer.status)
		return;
	if (req->op == REQ_WRITE)
		file_psync.move(c, req);
	if (req->op == REQ_READ && !size)
		move_unmapped(c, req);
	if (req->op == REQ_WRITE || !size)
		return;
	if (end > size)
		end = size;
	if (req->chunk)
		piece = req->buffer_bytes ? req->buffer_bytes : STREAM_BYTES;
	while (req->answer.status == 0 && at < end) {
		if (piece > end - at)
			piece = end - at;
		file_ask_ahead(c->store, fd, at + piece);
		req->answer.status = mmap_take(req, at, piece);
		if (req->answer.status == 0)
			req->answer.done_bytes += piece;
		at += piece;
	}
}

/* One page, written by pwrite, through a mapping. */
static int mmap_probe(const struct store *store, struct err *err)
{
	static const char text[] = "haul";
	char *map;
	int fd = file_trial(store->root, 0), rc = 0;

	if (fd < 0)
		return err_set(err, fd, "no file to try it on: %s", strerror(-fd));
	if (pwrite(fd, text, sizeof(text), 0) != sizeof(text)) {
		close(fd);
		return 0; /* a full disk says nothing about the engine */
	}
	map = mmap(NULL, sizeof(text), PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		rc = err_set(err, -errno, "mapping a file: %s", strerror(errno));
	else if (memcmp(map, text, sizeof(text)) != 0)
		rc = err_set(err, -EIO, "a mapped file does not show what was written to it");
	if (map != MAP_FAILED)
		munmap(map, sizeof(text));
	close(fd);
	return rc;
}

int file_map_opened(const struct store *store, struct object *o, bool touch)
{
	int rc;

	if (file_engine_of(store)->object_open)
		return file_engine_of(store)->object_open(o);
	rc = touch ? file_mmap.start() : 0;
	return touch && rc == 0 ? mmap_object_open(o) : rc;
}

const struct file_engine file_mmap = {
	.name = "mmap",
	.depth_max = 1,
	.copies_read = 1,
	.streams = true,
	.cached_only = true,
	.move = mmap_move,
	.probe = mmap_probe,
	.start = fault_guard_install,
	.object_open = mmap_object_open,
	.object_close = mmap_object_close,
};

/* What a signal handler may know of its thread is thread-local: the one place in haul that needs
 * it. */

static _Thread_local const struct fault_guard *current;

/* Zeroes from the missing page to the end of the guarded range: behind the end of a file that was
 * cut there is nothing, and one fault does for all of it. mmap is a plain system call, fit for a
 * handler. */
static bool cover(const struct fault_guard *g, char *at)
{
	char *page = at - ((uintptr_t)at & (g->page_bytes - 1)), *end = g->base + g->bytes;

	__atomic_store_n(g->broken, 1, __ATOMIC_SEQ_CST);
	return mmap(page, (size_t)(end - page), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		    -1, 0) != MAP_FAILED;
}

static void on_bus(int number, siginfo_t *info, void *context)
{
	const struct fault_guard *g = current;
	char *at = info->si_addr;
	int saved = errno;

	(void)context;
	if (!g || at < g->base || at >= g->base + g->bytes || !cover(g, at))
		signal(number, SIG_DFL); /* the access is made again, and ends the process */
	errno = saved;
}

int fault_guard_install(void)
{
	struct sigaction now, ours = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

	if (sigaction(SIGBUS, NULL, &now) < 0)
		return -errno;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus)
		return 0;
	sigemptyset(&ours.sa_mask);
	return sigaction(SIGBUS, &ours, NULL) < 0 ? -errno : 0;
}

/* The fences keep the compiler from moving the guarded reads out. */
void fault_guard_enter(const struct fault_guard *g)
{
	current = g;
	atomic_signal_fence(memory_order_seq_cst);
}

void fault_guard_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	current = NULL;
}
