/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the uring engine of file://, in new folders on the build's file system and on tmpfs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/file/file.h"
#include "core/buffers.h"
#include "core/content/fill.h"
#include "core/content/random.h"
#include "tests/backends/rig.h"
#include "tests/unit.h"

enum { SIZE = 3000001, DEPTH = 64, ROOM = 256 << 10, KEY = 7 };

struct place_of_files {
	struct rig rig;
	struct clock clock;
	struct queue queue;
	struct buffers buffers;
	char folder[64];
};

static int files_open(struct place_of_files *f, const char *parent, const char *options,
		      uint32_t depth, int log_fd)
{
	char json[256];
	int rc;

	*f = (struct place_of_files){0};
	rig_init(&f->rig);
	log_init(&f->rig.log, log_fd, LOG_WARNING, 0, 1);
	clock_init(&f->clock);
	f->rig.clock = &f->clock;
	snprintf(f->folder, sizeof(f->folder), "%s/test_uring.XXXXXX", parent);
	if (!mkdtemp(f->folder))
		return -errno;
	snprintf(json, sizeof(json), "{\"uri\": \"file://%s/root\"%s}", f->folder, options);
	rc = rig_open(&f->rig, json);
	return rc < 0 ? rc : queue_open(&f->queue, &f->rig.store, depth, &f->rig.err);
}

static void files_begin(struct place_of_files *f, const char *parent, const char *options,
			uint32_t depth)
{
	CU_ASSERT_EQUAL_FATAL(files_open(f, parent, options, depth, -1), 0);
	CU_ASSERT_FALSE(f->queue.channel.synchronous);
	CU_ASSERT_EQUAL_FATAL(buffers_init(&f->buffers, DEPTH, ROOM, NULL), 0);
}

static int delete (struct place_of_files *f, const char *key)
{
	struct object o = {0};

	strcpy(o.key, key);
	return rig_do(&f->queue, &o, REQ_DELETE, 0, 0, NULL, NULL);
}

static void files_end(struct place_of_files *f)
{
	delete (f, "/");
	CU_ASSERT_EQUAL(rmdir(f->folder), 0);
	queue_close(&f->queue);
	buffers_free(&f->buffers);
	rig_close(&f->rig);
}

/* Prints what the kernel answered, because a failure may not happen a second time. */
static void expect_whole(const struct request *req)
{
	CU_ASSERT_EQUAL(req->answer.status, 0);
	CU_ASSERT_EQUAL(req->answer.done_bytes, req->length);
	if (req->answer.status || req->answer.done_bytes != req->length)
		fprintf(stderr,
			"%s of %" PRIu64 " bytes at %" PRIu64 " of %s: %s, %" PRIu64 " moved\n",
			req->op == REQ_READ ? "read" : "write", req->length, req->offset,
			req->object->key, strerror(-req->answer.status), req->answer.done_bytes);
}

/* Writes the whole object in writes of 64 KiB, with as many in flight as the queue allows. */
static void write_deep(struct place_of_files *f, struct object *o)
{
	struct request reqs[DEPTH], *req, *done[DEPTH];
	uint32_t depth = f->queue.channel.depth, flying = 0, n;
	uint64_t at = 0, bytes;

	CU_ASSERT_EQUAL_FATAL(rig_do(&f->queue, o, REQ_BEGIN, 0, SIZE, NULL, NULL), 0);
	for (uint32_t i = 0; i < depth; i++)
		reqs[i] = (struct request){.data = buffers_take(&f->buffers)};
	while (at < SIZE || flying) {
		for (req = NULL; at < SIZE && flying < depth; at += req->length) {
			/* A request with length 0 is free. */
			for (req = reqs; req->length; req++)
				;
			*req = (struct request){
				.op = REQ_WRITE, .object = o, .offset = at, .data = req->data};
			req->length = SIZE - at < 65536 ? SIZE - at : 65536;
			fill(KEY, at, req->data, req->length);
			CU_ASSERT_EQUAL_FATAL(queue_submit(&f->queue, &req, 1), 0);
			flying++;
		}
		n = queue_reap(&f->queue, done, 1, depth, UINT64_MAX);
		CU_ASSERT_FATAL(n > 0);
		for (uint32_t i = 0; i < n; i++) {
			expect_whole(done[i]);
			done[i]->length = 0;
		}
		flying -= n;
	}
	for (uint32_t i = 0; i < depth; i++)
		buffers_give(&f->buffers, reqs[i].data);
	CU_ASSERT_EQUAL(rig_do(&f->queue, o, REQ_COMMIT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, SIZE);
}

static void check_read(struct place_of_files *f, const struct request *req)
{
	expect_whole(req);
	CU_ASSERT_EQUAL(req->answer.lead, req->offset % f->rig.store.alignment);
	CU_ASSERT_EQUAL(
		fill_verify(KEY, req->offset, (char *)req->data + req->answer.lead, req->length),
		req->length);
}

/* Reads count random ranges, submitted in batches of random size. */
static void read_deep(struct place_of_files *f, struct object *o, uint32_t count)
{
	uint32_t depth = f->queue.channel.depth, sent = 0, got = 0, free_count = depth, n, batch;
	struct request reqs[DEPTH], *free_ios[DEPTH], *done[DEPTH], *list[DEPTH];

	for (uint32_t i = 0; i < depth; i++) {
		reqs[i] = (struct request){.data = buffers_take(&f->buffers)};
		free_ios[i] = &reqs[i];
	}
	while (got < count) {
		batch = 1 + (uint32_t)(random_at(3, sent, 2) % depth);
		for (n = 0; n < batch && sent < count && free_count; n++, sent++) {
			list[n] = free_ios[--free_count];
			*list[n] = (struct request){
				.op = REQ_READ, .object = o, .data = list[n]->data};
			list[n]->offset = random_at(3, sent, 0) % (SIZE - ROOM / 2);
			list[n]->length = 1 + random_at(3, sent, 1) % (ROOM / 2);
			memset(list[n]->data, 0, ROOM);
		}
		if (n)
			CU_ASSERT_EQUAL_FATAL(queue_submit(&f->queue, list, n), 0);
		n = queue_reap(&f->queue, done, batch < depth - free_count ? 1 : 0, depth,
			       UINT64_MAX);
		for (uint32_t i = 0; i < n; i++) {
			check_read(f, done[i]);
			free_ios[free_count++] = done[i];
		}
		got += n;
	}
	CU_ASSERT_EQUAL(free_count, depth);
	for (uint32_t i = 0; i < depth; i++)
		buffers_give(&f->buffers, reqs[i].data);
}

static void ranges(const char *parent, const char *options, uint32_t depth, bool registered)
{
	struct object o = {.key = "a/b"};
	struct place_of_files f;

	files_begin(&f, parent, options, depth);
	if (registered)
		queue_memory(&f.queue, f.buffers.base, f.buffers.mapped_bytes);
	write_deep(&f, &o);
	CU_ASSERT_EQUAL_FATAL(rig_do(&f.queue, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(o.size, SIZE);
	read_deep(&f, &o, 200);
	CU_ASSERT_EQUAL(f.queue.op[REQ_READ].operations, 200);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(delete (&f, "a/b"), 0);
	CU_ASSERT_EQUAL(delete (&f, "a/"), 0);
	files_end(&f);
}

static bool refuses_direct(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_DIRECT, 0600);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static void test_ranges(void)
{
	static const uint32_t depths[] = {1, 2, 7, DEPTH};
	static const char *const parents[] = {".", "/dev/shm"};

	for (int p = 0; p < 2; p++) {
		if (access(parents[p], W_OK) < 0)
			continue;
		for (int d = 0; d < 4; d++) {
			ranges(parents[p], ", \"engine\": \"uring\"", depths[d], d % 2);
			ranges(parents[p], ", \"engine\": \"uring\"", depths[d], true);
			if (!refuses_direct(parents[p]))
				ranges(parents[p], ", \"engine\": \"uring\", \"direct\": true",
				       depths[d], true);
		}
	}
}

static int consume(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	uint64_t *next = req->user;

	CU_ASSERT_EQUAL(offset, *next);
	*next += length;
	return fill_verify(KEY, offset, data, length) == length ? 0 : -EBADMSG;
}

/* Several objects streamed through buffers at the same time. */
static void test_streams(void)
{
	struct object o = {.key = "x"};
	struct request reqs[5], *list[5], *done[5];
	struct place_of_files f;
	uint64_t next[5];
	uint32_t got = 0;

	files_begin(&f, ".", ", \"engine\": \"uring\"", 5);
	queue_memory(&f.queue, f.buffers.base, f.buffers.mapped_bytes);
	write_deep(&f, &o);
	CU_ASSERT_EQUAL_FATAL(rig_do(&f.queue, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	for (uint64_t i = 0; i < 5; i++) {
		next[i] = i * 1001;
		reqs[i] = (struct request){.op = REQ_READ,
					   .object = &o,
					   .offset = i * 1001,
					   .length = SIZE - i * 1001,
					   .data = buffers_take(&f.buffers),
					   .buffer_bytes = 100000 + i,
					   .chunk = consume,
					   .user = &next[i]};
		list[i] = &reqs[i];
	}
	CU_ASSERT_EQUAL(queue_submit(&f.queue, list, 5), 0);
	while (got < 5)
		got += queue_reap(&f.queue, done, 1, 5, UINT64_MAX);
	for (int i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(reqs[i].answer.status, 0);
		CU_ASSERT_EQUAL(next[i], SIZE);
		buffers_give(&f.buffers, reqs[i].data);
	}
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(delete (&f, "x"), 0);
	files_end(&f);
}

static void test_errors(void)
{
	char text[100] = {1}, back[100], not_mine[8];
	struct object o = {.key = "short"}, gone = {.key = "gone"};
	struct request reqs[4] = {
		{.op = REQ_READ, .object = &o, .length = 60, .data = back},
		{.op = REQ_STAT, .object = &gone},
		{.op = REQ_READ, .object = &gone, .length = 8, .data = not_mine},
		{.op = REQ_READ, .object = &o, .offset = 55, .length = 10, .data = not_mine},
	};
	struct request *list[] = {&reqs[0], &reqs[1], &reqs[2], &reqs[3]}, *done[4];
	struct place_of_files f;
	uint64_t bytes;

	files_begin(&f, ".", ", \"engine\": \"uring\"", 4);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &gone, REQ_OPEN, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_put(&f.queue, "short", text, 60), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, 0, 100, back, &bytes), -ENODATA);
	CU_ASSERT_EQUAL(bytes, 60);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, 60, 0, back, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_WRITE, 0, 1, text, NULL), -EBADF);
	CU_ASSERT_EQUAL(queue_submit(&f.queue, list, 4), 0);
	CU_ASSERT_EQUAL(queue_reap(&f.queue, done, 4, 4, UINT64_MAX), 4);
	CU_ASSERT_EQUAL(reqs[0].answer.status, 0);
	CU_ASSERT_EQUAL(memcmp(back, text, 60), 0);
	CU_ASSERT_EQUAL(reqs[1].answer.status, -ENOENT);
	CU_ASSERT_EQUAL(reqs[2].answer.status, -EBADF);
	CU_ASSERT_EQUAL(reqs[3].answer.status, -ENODATA);
	CU_ASSERT_EQUAL(reqs[3].answer.done_bytes, 5);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(delete (&f, "short"), 0);
	files_end(&f);
}

/* The file is a pipe, so the test decides which bytes arrive, and when. */
static void test_deadlines_and_short_transfers(void)
{
	struct object o = {.key = "pipe"};
	char back[20] = {0};
	struct request req = {.op = REQ_READ, .object = &o, .length = 20, .data = back};
	struct request *list[] = {&req}, *done[1];
	struct place_of_files f;
	uint64_t start;
	int ends[2];

	files_begin(&f, ".", ", \"engine\": \"uring\"", 2);
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	o.state[FILE_DESCRIPTOR] = (uint64_t)ends[0] + 1;
	CU_ASSERT_EQUAL(queue_submit(&f.queue, list, 1), 0);
	CU_ASSERT_EQUAL(queue_reap(&f.queue, done, 0, 1, 0), 0);
	start = clock_kernel_ns();
	CU_ASSERT_EQUAL(queue_reap(&f.queue, done, 1, 1, start + 20000000), 0);
	CU_ASSERT(clock_kernel_ns() - start >= 20000000);
	CU_ASSERT_EQUAL(queue_reap(&f.queue, done, 1, 1, 0), 0);
	CU_ASSERT_EQUAL(write(ends[1], "0123456789", 10), 10);
	/* Half of the bytes arrived: the queue requests the rest, and the deadline still holds. */
	CU_ASSERT_EQUAL(queue_reap(&f.queue, done, 1, 1, clock_kernel_ns() + 20000000), 0);
	CU_ASSERT_EQUAL(write(ends[1], "abcdefghij", 10), 10);
	CU_ASSERT_EQUAL(queue_reap(&f.queue, done, 1, 1, UINT64_MAX), 1);
	CU_ASSERT_EQUAL(req.answer.status, 0);
	CU_ASSERT_EQUAL(memcmp(back, "0123456789abcdefghij", 20), 0);
	CU_ASSERT_EQUAL(f.queue.op[REQ_READ].short_transfers, 1);
	close(ends[0]);
	close(ends[1]);
	files_end(&f);
}

static void *put_and_get(void *argument)
{
	struct place_of_files *f = argument;
	char *slot = buffers_take(&f->buffers);

	fill(KEY, 0, slot, 10000);
	CU_ASSERT_EQUAL(rig_put(&f->queue, "x", slot, 10000), 0);
	memset(slot, 0, 10000);
	CU_ASSERT_EQUAL(rig_get(&f->queue, "x", slot, 10000), 0);
	CU_ASSERT_EQUAL(fill_verify(KEY, 0, slot, 10000), 10000);
	buffers_give(&f->buffers, slot);
	return NULL;
}

/* A queue that was opened by one thread is used by several threads in turn, as a phase's readers
 * do. */
static void test_a_queue_passes_from_thread_to_thread(void)
{
	struct place_of_files f;
	pthread_t thread;

	files_begin(&f, ".", ", \"engine\": \"uring\"", 3);
	queue_memory(&f.queue, f.buffers.base, f.buffers.mapped_bytes);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, put_and_get, &f), 0);
		pthread_join(thread, NULL);
	}
	put_and_get(&f);
	CU_ASSERT_EQUAL(delete (&f, "x"), 0);
	files_end(&f);
}

static void test_depth(void)
{
	struct place_of_files f;
	struct queue deep;

	files_begin(&f, ".", ", \"engine\": \"uring\"", 1);
	CU_ASSERT_EQUAL(backend_depth(&f.rig.described), QUEUE_DEPTH_MAX);
	CU_ASSERT_EQUAL_FATAL(queue_open(&deep, &f.rig.store, QUEUE_DEPTH_MAX, NULL), 0);
	queue_close(&deep);
	((struct file_options *)f.rig.described.options)->engine = 0;
	CU_ASSERT_EQUAL(backend_depth(&f.rig.described), 1);
	((struct file_options *)f.rig.described.options)->engine = 1;
	files_end(&f);
}

/* From now on io_uring_setup, and no other call, fails in this process. */
static int forbid_io_uring(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

/* Runs in a process of its own. Exit status 77: the system does not allow the seccomp filter. */
static int without_io_uring(int log_fd)
{
	char text[] = "what is written is read", back[sizeof(text)] = "";
	struct store_facts facts;
	struct place_of_files f;
	int rc;

	if (forbid_io_uring() < 0)
		return 77;
	if (files_open(&f, ".", ", \"engine\": \"uring\"", 8, log_fd) < 0)
		return 1;
	rc = rig_put(&f.queue, "x", text, sizeof(text)) || !f.queue.channel.synchronous;
	rc = rc || rig_get(&f.queue, "x", back, sizeof(back)) || memcmp(text, back, sizeof(text));
	store_describe(&f.rig.store, &f.rig.described, &facts);
	rc = rc || strcmp(facts.engine, "psync") || !strstr(facts.note, "engine uring");
	rc = rc || delete (&f, "x") || delete (&f, "/") || rmdir(f.folder);
	queue_close(&f.queue);
	rig_close(&f.rig);
	return rc ? 2 : 0;
}

/* A user who may not start another thread: runs in a process of its own and, if started by root, as
 * another user. */
static int without_threads(int log_fd)
{
	const struct rlimit none = {0, 0};
	struct object o = {.key = "x"};
	struct place_of_files f;
	char parent[] = "/tmp/test_uring.XXXXXX";
	unsigned before = CU_get_number_of_failures();
	int rc;

	if (!mkdtemp(parent) || (geteuid() == 0 && chown(parent, 12345, 12345) < 0))
		return 1;
	if (setrlimit(RLIMIT_NPROC, &none) < 0 || (geteuid() == 0 && setuid(12345) < 0))
		return 77;
	if (files_open(&f, parent, ", \"engine\": \"uring\"", 8, log_fd) < 0 ||
	    buffers_init(&f.buffers, DEPTH, ROOM, NULL) < 0)
		return 1;
	write_deep(&f, &o);
	rc = rig_do(&f.queue, &o, REQ_OPEN, 0, 0, NULL, NULL);
	read_deep(&f, &o, 50);
	rc = rc || rig_do(&f.queue, &o, REQ_CLOSE, 0, 0, NULL, NULL) || delete (&f, "x");
	rc = rc || CU_get_number_of_failures() > before;
	files_end(&f);
	return rc || rmdir(parent) ? 2 : 0;
}

/* Runs a function in a process of its own. Returns its exit status, and in message what it
 * logged. */
static int run_in_child(int (*run)(int log_fd), char message[512])
{
	int ends[2], status = 0;
	ssize_t n = 0;
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	fflush(NULL);
	child = fork();
	if (child == 0)
		_exit(run(ends[1]));
	close(ends[1]);
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT(WIFEXITED(status));
	n = read(ends[0], message, 511);
	message[n > 0 ? n : 0] = '\0';
	close(ends[0]);
	return WEXITSTATUS(status);
}

static void test_psync_takes_its_place(void)
{
	char message[512];
	int rc = run_in_child(without_io_uring, message);

	if (rc == 77)
		return;
	CU_ASSERT_EQUAL(rc, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(message, "engine uring does not work here"));
	CU_ASSERT_PTR_NOT_NULL(strstr(message, "Operation not permitted"));
	CU_ASSERT_PTR_EQUAL(strchr(message, '\n'), message + strlen(message) - 1);
}

/* ext4 gives buffered writes to threads of the kernel; not every file system does. Without threads
 * they must be done in the call. */
static void test_without_kernel_threads(void)
{
	struct statfs fs;
	char message[512];
	int rc = run_in_child(without_threads, message);

	if (rc == 77)
		return;
	CU_ASSERT_EQUAL(rc, 0);
	if (statfs("/tmp", &fs) == 0 && fs.f_type == EXT4_SUPER_MAGIC)
		CU_ASSERT_PTR_NOT_NULL(strstr(message, "io_uring may start no thread"));
	if (message[0])
		CU_ASSERT_PTR_EQUAL(strchr(message, '\n'), message + strlen(message) - 1);
}

static int refuses(const struct store *store, struct err *err)
{
	(void)store;
	return err_set(err, -ENOSYS, "tried in vain");
}

/* One rank of a node logs the warning; the others do not. */
static void test_one_warning_per_node(void)
{
	static const struct file_engine broken = {.name = "broken", .probe = refuses};
	struct store store = {.uri = "file:///x"};
	char message[512] = "", note[256];
	struct log log;
	int ends[2];

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	log_init(&log, ends[1], LOG_WARNING, 0, 1);
	store.log = &log;
	for (uint32_t rank = 0; rank < 4; rank++) {
		store.place.local_rank = rank;
		CU_ASSERT_PTR_EQUAL(file_engine_working(&store, &broken, note), &file_psync);
		CU_ASSERT_STRING_EQUAL(
			note, "engine broken does not work here (tried in vain); psync takes its "
			      "place, one request at a time");
	}
	note[0] = '\0';
	CU_ASSERT_PTR_EQUAL(file_engine_working(&store, &file_psync, note), &file_psync);
	CU_ASSERT_STRING_EQUAL(note, "");
	CU_ASSERT(read(ends[0], message, sizeof(message) - 1) > 0);
	CU_ASSERT_STRING_EQUAL(message,
			       "haul: warning: file:///x: engine broken does not work here (tried "
			       "in vain); psync takes its place, one request at a time\n");
	close(ends[0]);
	close(ends[1]);
}

/* Whether the engine works here. If not, standard error says why. */
static bool works(void)
{
	struct place_of_files f;
	bool works;

	if (files_open(&f, ".", ", \"engine\": \"uring\"", 1, STDERR_FILENO) < 0)
		return true; /* the tests show the error */
	works = !f.queue.channel.synchronous;
	queue_close(&f.queue);
	rig_close(&f.rig);
	rmdir(f.folder);
	return works;
}

int main(void)
{
	CU_TestInfo whole[] = {
		{"ranges", test_ranges},
		{"streams", test_streams},
		{"errors", test_errors},
		{"deadlines and short transfers", test_deadlines_and_short_transfers},
		{"a queue passes from thread to thread", test_a_queue_passes_from_thread_to_thread},
		{"depth", test_depth},
		{"psync takes its place", test_psync_takes_its_place},
		{"without threads of the kernel", test_without_kernel_threads},
		{"one warning per node", test_one_warning_per_node},
		CU_TEST_INFO_NULL,
	};
	CU_TestInfo fallback[] = {
		{"one warning per node", test_one_warning_per_node},
		CU_TEST_INFO_NULL,
	};

	if (works())
		return unit_main("uring", whole);
	return unit_main("uring", fallback) ? 1 : 77;
}
