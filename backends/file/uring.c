/* SPDX-License-Identifier: Apache-2.0 */
/* The uring engine: io_uring, as many requests at once as the queue is deep.
 *
 * A ring belongs to the thread that submits (SINGLE_ISSUER), and completions are worked off when
 * that thread looks for them, not in the middle of its work (DEFER_TASKRUN). A queue may be opened
 * by another thread than the one it then belongs to: so the ring is made disabled, enabled at the
 * first submit, and made anew where a queue, nothing in flight, has passed to another thread.
 *
 * Memory that queue_memory names is registered: the kernel pins its pages once instead of for each
 * request. Files are not: a file is open for a sample or two, and registering costs more than it
 * saves.
 *
 * What cannot be done without waiting (buffered writes to most file systems, for one) the kernel
 * gives to threads of its own. Where it may start none (RLIMIT_NPROC, a control group's pids.max,
 * no memory) it cancels the request, and the engine makes it itself. */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/file/direct.h"
#include "backends/file/file.h"
#include "backends/file/span.h"
#include "core/numbers.h"
#include "core/time_ns.h"

enum {
	URING_REGIONS = 64,
	REGION_BYTES = 1 << 30, /* a registered region at most, says the kernel */
	REAP_BATCH = 64,
	/* Direct requests are handed over in groups of this size: the device begins on the first
	 * while the others are made, and its answers do not come back in one bunch, which would
	 * leave it idle. Measured at 32 in flight: 12 % more than all at once, for 4 % more
	 * processor time; at 4 the latter is 10 %, at 1 it is 50 %. No more answers are handed out
	 * at once, so that what follows them does not wait until the caller has looked at a whole
	 * bunch: at 64 in flight, searches get 7 % more, plain reads 4 %. From the page cache there
	 * is nothing to begin on. */
	DIRECT_BATCH = 8
};
#define PROBE_NS    UINT64_C(5000000000)
#define PROBE_BYTES UINT64_C(4096)

struct uring {
	struct io_uring ring;
	uint32_t depth;
	bool made, enabled;
	int failed; /* the ring takes nothing any more; made anew once what flies has come back */
	uint32_t flying;          /* taken by the kernel and not yet come back */
	uint32_t pending_count;   /* prepared, not yet taken; in order */
	struct request **pending; /* [depth] */
	uint32_t region_count;
	bool registered;
	struct iovec regions[URING_REGIONS];
};

static int ring_make(struct uring *u);
static void ring_drop(struct uring *u);
static void ring_register(struct uring *u);

static int uring_open(struct channel *c, struct err *err)
{
	struct file_channel *ch = c->state;
	struct uring *u = calloc(1, sizeof(*u) + c->depth * sizeof(struct request *));
	int rc;

	if (!u)
		return err_set(err, -ENOMEM, "no memory for a ring of depth %u", c->depth);
	u->pending = (struct request **)(u + 1);
	u->depth = c->depth;
	rc = ring_make(u);
	if (rc < 0) {
		free(u);
		/* From Linux 6.13 on rings count as locked memory, too. */
		return err_set(err, rc, "a ring of depth %u: %s%s", c->depth, strerror(-rc),
			       rc == -ENOMEM ? "; ulimit -l says how much may be locked" : "");
	}
	ch->engine = u;
	return 0;
}

/* The newest way that this kernel knows, then older ones: 6.1, 5.19, before. */
static int ring_make(struct uring *u)
{
	static const unsigned ways[] = {
		IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			IORING_SETUP_TASKRUN_FLAG,
		IORING_SETUP_R_DISABLED | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
		IORING_SETUP_R_DISABLED,
	};
	int rc = -EINVAL;

	for (size_t i = 0; i < COUNT(ways) && rc == -EINVAL; i++) {
		struct io_uring_params p = {.flags = ways[i]};

		rc = io_uring_queue_init_params(u->depth, &u->ring, &p);
		if (rc < 0)
			continue;
		u->made = true;
		/* Waiting until a deadline would need a request of its own: before 5.11. */
		if (!(p.features & IORING_FEAT_EXT_ARG)) {
			ring_drop(u);
			rc = -ENOSYS;
		}
	}
	return rc;
}

static void ring_drop(struct uring *u)
{
	if (u->made)
		io_uring_queue_exit(&u->ring);
	u->made = false;
	u->enabled = false;
	u->registered = false;
}

static void uring_close(struct channel *c)
{
	struct uring *u = ((struct file_channel *)c->state)->engine;

	ring_drop(u);
	free(u);
}

static void uring_add_memory(struct channel *c, void *base, uint64_t bytes)
{
	struct uring *u = ((struct file_channel *)c->state)->engine;
	char *at = base;

	if (u->registered)
		io_uring_unregister_buffers(&u->ring);
	u->registered = false;
	while (bytes && u->region_count < URING_REGIONS) {
		uint64_t piece = min_u64(bytes, REGION_BYTES);

		u->regions[u->region_count++] = (struct iovec){at, piece};
		at += piece;
		bytes -= piece;
	}
	ring_register(u);
	if (!u->registered)
		log_say(c->store->log, LOG_DEBUG,
			"%s: buffers are not registered with io_uring (is the limit on locked "
			"memory low? ulimit -l); it costs a little more CPU",
			c->store->uri);
}

static void ring_register(struct uring *u)
{
	if (u->made && u->region_count)
		u->registered =
			io_uring_register_buffers(&u->ring, u->regions, u->region_count) == 0;
}

/* The registered region that [data, data + bytes) lies in whole, or -1. */
static int region_of(const struct uring *u, const char *data, uint64_t bytes)
{
	if (!u->registered)
		return -1;
	for (uint32_t i = 0; i < u->region_count; i++) {
		const char *base = u->regions[i].iov_base;

		if (data >= base && data + bytes <= base + u->regions[i].iov_len)
			return (int)i;
	}
	return -1;
}

/* The kernel counts a request's bytes in 32 bits and moves less than 2 GiB: the queue sees to the
 * rest. */
static void prepare_one(struct uring *u, struct request *req, const struct file_span *r)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
	char *data = (char *)req->data + r->data;
	unsigned bytes = r->bytes < REGION_BYTES ? (unsigned)r->bytes : REGION_BYTES;
	int fd = file_descriptor(req->object), region = region_of(u, data, bytes);

	if (req->op == REQ_READ && region >= 0)
		io_uring_prep_read_fixed(sqe, fd, data, bytes, r->at, region);
	else if (req->op == REQ_READ)
		io_uring_prep_read(sqe, fd, data, bytes, r->at);
	else if (region >= 0)
		io_uring_prep_write_fixed(sqe, fd, data, bytes, r->at, region);
	else
		io_uring_prep_write(sqe, fd, data, bytes, r->at);
	io_uring_sqe_set_data(sqe, req);
	u->pending[u->pending_count++] = req;
}

/* Makes the ring this thread's: the first time, or because the queue has passed to it. Nothing is
 * in flight; what is pending moves to the new ring. */
static int ring_own(struct uring *u, uint64_t align)
{
	uint32_t n = u->pending_count;
	struct file_span r;
	int rc;

	if (u->enabled)
		ring_drop(u);
	if (!u->made) {
		rc = ring_make(u);
		if (rc < 0)
			return rc;
		ring_register(u);
		u->pending_count = 0;
		for (uint32_t i = 0; i < n; i++) {
			r = file_span_of(u->pending[i], align);
			prepare_one(u, u->pending[i], &r);
		}
	}
	/* Not every liburing exports io_uring_enable_rings. */
	if (syscall(__NR_io_uring_register, u->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL,
		    0) < 0)
		return -errno;
	u->enabled = true;
	return 0;
}

/* Hands what is pending to the kernel. What it does not take now, for lack of something, stays
 * pending; a ring that takes nothing any more fails it. */
static void flush(struct channel *c, struct uring *u)
{
	int rc = 0;

	while (rc >= 0 && u->pending_count) {
		rc = io_uring_submit(&u->ring);
		if (rc == -EINTR)
			rc = 0;
		else if (rc == -EEXIST && !u->flying)
			rc = ring_own(u, c->store->alignment);
		else if (rc == 0)
			return;
		if (rc <= 0)
			continue;
		u->pending_count -= (uint32_t)rc;
		u->flying += (uint32_t)rc;
		memmove(u->pending, u->pending + rc, u->pending_count * sizeof(struct request *));
	}
	if (rc >= 0 || rc == -EAGAIN || rc == -EBUSY)
		return;
	for (uint32_t i = 0; i < u->pending_count; i++) {
		u->pending[i]->answer.status = rc;
		file_ready(c, u->pending[i]);
	}
	u->pending_count = 0;
	u->failed = rc; /* the ring still holds what has just been given back */
}

/* Whether the ring takes requests; else why not. */
static int ring_ready(struct uring *u, uint64_t align)
{
	if (u->failed && u->flying)
		return u->failed;
	if (u->failed)
		ring_drop(u);
	u->failed = 0;
	return u->enabled ? 0 : ring_own(u, align);
}

static uint32_t group_of(const struct channel *c)
{
	const struct file_options *options = c->store->options;

	return options->direct ? DIRECT_BATCH : UINT32_MAX;
}

static void uring_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	struct uring *u = ((struct file_channel *)c->state)->engine;
	uint32_t batch = group_of(c);
	int rc = ring_ready(u, c->store->alignment);
	struct file_span r;

	for (uint32_t i = 0; i < n; i++) {
		reqs[i]->answer.status = rc < 0 ? rc : file_span_begin(c->store, reqs[i], &r);
		if (reqs[i]->answer.status || !r.bytes)
			file_ready(c, reqs[i]);
		else
			prepare_one(u, reqs[i], &r);
		if (u->pending_count >= batch) {
			flush(c, u);
			rc = u->failed;
		}
	}
	if (u->pending_count)
		flush(c, u);
}

/* The kernel gave up a request that nobody cancelled. */
static void move_here(const struct channel *c, struct request *req, const struct file_span *r)
{
	struct file_store *fs = c->store->state;

	file_span_move(req, r);
	if (c->store->place.local_rank == 0 && !atomic_exchange(&fs->threads_refused, true))
		log_say(c->store->log, LOG_WARNING,
			"%s: io_uring may start no thread for requests that must wait (ulimit -u, a "
			"control group's pids.max); such requests are made one after the other",
			c->store->uri);
}

/* Returns whether the request is over. */
static bool uring_take(struct channel *c, struct uring *u, struct request *req, int result)
{
	struct file_span r = file_span_of(req, c->store->alignment);

	u->flying--;
	if (result == -EINTR && !u->failed) {
		prepare_one(u, req, &r);
		return false;
	}
	if (result == -ECANCELED && c->store->state) /* the probe shall see it */
		move_here(c, req, &r);
	else if (result < 0)
		req->answer.status = result;
	else
		file_span_end(req, &r, (uint64_t)result);
	return true;
}

/* What has completed already. */
static uint32_t drain(struct channel *c, struct uring *u, struct request **done, uint32_t max)
{
	struct io_uring_cqe *cqes[REAP_BATCH];
	uint32_t n = 0, got;

	while (n < max && u->flying) {
		got = io_uring_peek_batch_cqe(&u->ring, cqes, min_u64(max - n, REAP_BATCH));
		if (!got)
			break;
		for (uint32_t i = 0; i < got; i++) {
			struct request *req = io_uring_cqe_get_data(cqes[i]);

			if (uring_take(c, u, req, cqes[i]->res))
				done[n++] = req;
		}
		io_uring_cq_advance(&u->ring, got);
	}
	return n;
}

/* Until n have completed or deadline_ns passes: -ETIME. */
static int await(const struct channel *c, struct uring *u, uint32_t n, uint64_t deadline_ns)
{
	struct __kernel_timespec left;
	struct io_uring_getevents_arg arg = {.ts = (uint64_t)(uintptr_t)&left};
	uint64_t now_ns, ns;
	int rc;

	if (deadline_ns == UINT64_MAX)
		return io_uring_enter2((unsigned)u->ring.ring_fd, 0, n, IORING_ENTER_GETEVENTS,
				       NULL, _NSIG / 8);
	now_ns = clock_now(c->store->clock);
	ns = excess_u64(deadline_ns, now_ns);
	left.tv_sec = (int64_t)(ns / NS_PER_S);
	left.tv_nsec = (long long)(ns % NS_PER_S);
	rc = io_uring_enter2((unsigned)u->ring.ring_fd, 0, n,
			     IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, (sigset_t *)&arg,
			     sizeof(arg));
	return ns ? rc : -ETIME;
}

static uint32_t uring_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
			   uint64_t deadline_ns)
{
	struct file_channel *ch = c->state;
	struct uring *u = ch->engine;
	uint32_t n, wanted;
	int rc = 0;

	max = min_u32(max, max_u32(min, group_of(c)));
	n = drain(c, u, done, max);

	while (n < min && rc != -ETIME) {
		if (u->pending_count)
			flush(c, u);
		while (n < min && ch->ready_count)
			done[n++] = ch->ready[--ch->ready_count];
		if (n >= min)
			break;
		wanted = min_u64(min - n, u->flying);
		if (wanted)
			rc = await(c, u, wanted, deadline_ns);
		else if (clock_now(c->store->clock) >= deadline_ns)
			rc = -ETIME;
		else
			sched_yield(); /* nothing flies, and the kernel takes nothing just now */
		n += drain(c, u, done + n, max - n);
	}
	/* Attempts that a signal ended are on their way again. */
	if (u->pending_count)
		flush(c, u);
	return n;
}

/* One block written by pwrite, read back through the ring. */
static int probe_read(const struct store *store, struct channel *c, int fd, char *data,
		      uint64_t bytes)
{
	struct object o = {.state = {[FILE_DESCRIPTOR] = (uint64_t)fd + 1}};
	struct request req = {.op = REQ_READ, .object = &o, .length = bytes, .data = data};
	struct request *one = &req, *done;

	memset(data, 0x5a, bytes);
	errno = 0;
	if (pwrite(fd, data, bytes, 0) != (ssize_t)bytes)
		return errno ? -errno : -EIO;
	memset(data, 0, bytes);
	uring_add_memory(c, data, bytes);
	uring_submit(c, &one, 1);
	if (file_uring.reap(c, &done, 1, 1, clock_now(store->clock) + PROBE_NS) != 1)
		return -ETIME;
	if (req.answer.status)
		return req.answer.status;
	return data[0] == 0x5a && data[bytes - 1] == 0x5a ? 0 : -EIO;
}

static int probe_on(const struct store *store, int fd, char *data, uint64_t bytes, struct err *err)
{
	struct request *ready[1];
	struct file_channel ch = {.ready = ready};
	struct channel c = {.store = (struct store *)store, .depth = 1, .state = &ch};
	int rc = uring_open(&c, err);

	if (rc < 0)
		return rc;
	rc = probe_read(store, &c, fd, data, bytes);
	uring_close(&c);
	/* A full disk says nothing about the engine. */
	if (rc == 0 || rc == -ENOSPC || rc == -EDQUOT)
		return 0;
	if (rc == -ETIME)
		return err_set(err, rc, "a read through io_uring did not complete in 5 s");
	return err_set(err, rc, "a read through io_uring: %s", strerror(-rc));
}

static int uring_probe(const struct store *store, struct err *err)
{
	const struct file_options *options = store->options;
	uint64_t block = max_u64(store->alignment, PROBE_BYTES);
	/* Mapped, not from the heap: a read that never comes back may hold the pages for ever. */
	char *map =
		mmap(NULL, 2 * block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd, rc;

	if (map == MAP_FAILED)
		return err_set(err, -ENOMEM, "no memory to try it on");
	fd = file_trial(store->root, options->direct ? O_DIRECT : 0);
	if (fd >= 0)
		rc = probe_on(store, fd, map + (-(uintptr_t)map & (block - 1)), block, err);
	else
		rc = err_set(err, fd, "no file to try it on: %s", strerror(-fd));
	if (fd >= 0)
		close(fd);
	munmap(map, 2 * block);
	return rc;
}

const struct file_engine file_uring = {
	.name = "uring",
	.depth_max = QUEUE_DEPTH_MAX,
	.probe = uring_probe,
	.open = uring_open,
	.close = uring_close,
	.add_memory = uring_add_memory,
	.submit = uring_submit,
	.reap = uring_reap,
};
