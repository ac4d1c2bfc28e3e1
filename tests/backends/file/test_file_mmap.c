/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the mmap engine: files that shrink while they are mapped, streams that are not copied,
 * and the engine that replaces it. test_file.c tests what it shares with psync. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/file/file.h"
#include "core/content/fill.h"
#include "tests/backends/rig.h"
#include "tests/unit.h"

enum { SIZE = 10 << 20, WINDOW = 1 << 20, KEY = 5 };

struct files {
	struct rig rig;
	struct queue queue;
	struct object o;
	char folder[64], path[128];
	char *data;
	uint64_t cut_at; /* 0: the file is not cut */
};

/* Makes one object of SIZE bytes and opens it. */
static void files_begin(struct files *f, const char *parent)
{
	char json[256];

	memset(f, 0, sizeof(*f));
	rig_init(&f->rig);
	snprintf(f->folder, sizeof(f->folder), "%s/test_file_mmap.XXXXXX", parent);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
	snprintf(json, sizeof(json), "{\"uri\": \"file://%s\", \"engine\": \"mmap\"}", f->folder);
	CU_ASSERT_EQUAL_FATAL(rig_open(&f->rig, json), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&f->queue, &f->rig.store, 1, NULL), 0);
	f->data = malloc(SIZE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f->data);
	fill(KEY, 0, f->data, SIZE);
	CU_ASSERT_EQUAL_FATAL(rig_put(&f->queue, "x", f->data, SIZE), 0);
	memset(f->data, 0, SIZE);
	strcpy(f->o.key, "x");
	snprintf(f->path, sizeof(f->path), "%s/x", f->folder);
	CU_ASSERT_EQUAL_FATAL(rig_do(&f->queue, &f->o, REQ_OPEN, 0, 0, NULL, NULL), 0);
}

static void files_end(struct files *f)
{
	CU_ASSERT_EQUAL(rig_do(&f->queue, &f->o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(unlink(f->path), 0);
	CU_ASSERT_EQUAL(rmdir(f->folder), 0);
	queue_close(&f->queue);
	rig_close(&f->rig);
	free(f->data);
}

static int read_at(struct files *f, uint64_t offset, uint64_t length)
{
	return rig_do(&f->queue, &f->o, REQ_READ, offset, length, f->data, NULL);
}

struct stream {
	struct files *files;
	uint64_t next, cut_at, pieces;
	bool lent;
};

/* Checks each piece. When the stream reaches cut_at, it truncates the file and then touches the
 * bytes that no longer exist. */
static int consume(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct stream *s = req->user;

	CU_ASSERT_EQUAL(offset, s->next);
	CU_ASSERT(length <= WINDOW);
	s->next += length;
	s->pieces++;
	s->lent = s->lent && data != req->data;
	if (s->cut_at && s->next > s->cut_at) {
		CU_ASSERT_EQUAL(truncate(s->files->path, 4096), 0);
		/* The pages are zeros, whatever the file contained, and the process lives on. */
		for (uint64_t i = 0; i < length; i++)
			CU_ASSERT_EQUAL_FATAL(((volatile char *)data)[i], 0);
		return 0;
	}
	return fill_verify(KEY, offset, data, length) == length ? 0 : -EBADMSG;
}

static struct request stream_of(struct files *f, struct stream *s, uint64_t offset, uint64_t length)
{
	*s = (struct stream){.files = f, .next = offset, .lent = true};
	return (struct request){.op = REQ_READ,
				.object = &f->o,
				.offset = offset,
				.length = length,
				.data = f->data,
				.buffer_bytes = WINDOW,
				.chunk = consume,
				.user = s};
}

static void test_streams_are_not_copied(void)
{
	struct store_facts facts;
	struct stream s;
	struct files f;
	struct request req;

	files_begin(&f, ".");
	req = stream_of(&f, &s, 777, SIZE - 777);
	CU_ASSERT_EQUAL(queue_do(&f.queue, &req), 0);
	CU_ASSERT_EQUAL(req.answer.done_bytes, SIZE - 777);
	CU_ASSERT_EQUAL(s.next, SIZE);
	CU_ASSERT_EQUAL(s.pieces, 10);
	CU_ASSERT(s.lent);
	CU_ASSERT_EQUAL(f.queue.op[REQ_READ].operations, 1);
	CU_ASSERT_EQUAL(f.queue.op[REQ_READ].bytes, SIZE - 777);
	req = stream_of(&f, &s, SIZE - 100, 200);
	CU_ASSERT_EQUAL(queue_do(&f.queue, &req), -ENODATA);
	CU_ASSERT_EQUAL(req.answer.done_bytes, 100);
	store_describe(&f.rig.store, &f.rig.described, &facts);
	CU_ASSERT_STRING_EQUAL(facts.engine, "mmap");
	CU_ASSERT_EQUAL(facts.copies_read, 1);
	CU_ASSERT_EQUAL(facts.copies_streamed + facts.copies_written, 0);
	files_end(&f);
}

static int refuse(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	(void)req;
	(void)data;
	(void)length;
	return offset >= 2 * WINDOW ? -ECANCELED : 0;
}

static void test_a_consumer_may_end_a_stream(void)
{
	struct stream s;
	struct files f;
	struct request req;

	files_begin(&f, ".");
	req = stream_of(&f, &s, 0, SIZE);
	req.chunk = refuse;
	CU_ASSERT_EQUAL(queue_do(&f.queue, &req), -ECANCELED);
	CU_ASSERT_EQUAL(req.answer.done_bytes, 2 * WINDOW);
	files_end(&f);
}

/* The file is cut before a read: bytes that still exist are read, and missing bytes are an error
 * that does not end the process. */
static void cut_before_a_read(const char *parent)
{
	struct files f;

	files_begin(&f, parent);
	CU_ASSERT_EQUAL(read_at(&f, 0, SIZE), 0);
	CU_ASSERT_EQUAL(fill_verify(KEY, 0, f.data, SIZE), SIZE);
	CU_ASSERT_EQUAL(truncate(f.path, 1 << 20), 0);
	CU_ASSERT_EQUAL(read_at(&f, 0, 1 << 20), 0);
	CU_ASSERT_EQUAL(fill_verify(KEY, 0, f.data, 1 << 20), 1 << 20);
	CU_ASSERT_EQUAL(read_at(&f, 2 << 20, 100), -EIO);
	CU_ASSERT_EQUAL(read_at(&f, 0, SIZE), -EIO);
	CU_ASSERT_EQUAL(f.queue.op[REQ_READ].errors, 2);
	files_end(&f);
}

/* The file is cut during a read: the consumer meets zeros and the request fails. Every later read
 * fails, too, because zeros now replace the mapped file. After it is opened again, the file has its
 * new size. */
static void cut_in_a_read(const char *parent)
{
	struct stream s;
	struct files f;
	struct request req;

	files_begin(&f, parent);
	req = stream_of(&f, &s, 0, SIZE);
	s.cut_at = 3 * WINDOW;
	CU_ASSERT_EQUAL(queue_do(&f.queue, &req), -EIO);
	CU_ASSERT_EQUAL(s.next, 4 * WINDOW);
	CU_ASSERT_EQUAL(req.answer.done_bytes, 3 * WINDOW);
	CU_ASSERT_EQUAL(read_at(&f, 3 * WINDOW + 5, 100), -EIO);
	CU_ASSERT_EQUAL(read_at(&f, 0, 100), -EIO);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &f.o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &f.o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(f.o.size, 4096);
	CU_ASSERT_EQUAL(read_at(&f, 0, 4096), 0);
	CU_ASSERT_EQUAL(fill_verify(KEY, 0, f.data, 4096), 4096);
	files_end(&f);
}

static void test_a_file_cut_short(void)
{
	static const char *const parents[] = {".", "/dev/shm"};

	for (int i = 0; i < 2; i++) {
		if (access(parents[i], W_OK) < 0)
			continue;
		cut_before_a_read(parents[i]);
		cut_in_a_read(parents[i]);
	}
}

/* Four threads each read their own file; only the one whose file is cut gets the error. */
static void *read_own(void *argument)
{
	struct files *f = argument;
	struct stream s;
	struct request req = stream_of(f, &s, 0, SIZE);

	s.cut_at = f->cut_at;
	return (void *)(intptr_t)queue_do(&f->queue, &req);
}

static void test_a_fault_ends_only_its_own_read(void)
{
	struct files f[4];
	pthread_t threads[4];
	void *status;

	for (int i = 0; i < 4; i++) {
		files_begin(&f[i], ".");
		f[i].cut_at = i == 2 ? SIZE / 2 : 0;
	}
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, read_own, &f[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &status);
		CU_ASSERT_EQUAL((intptr_t)status, i == 2 ? -EIO : 0);
		files_end(&f[i]);
	}
}

/* A SIGBUS outside the range of a guard ends the process, as without haul. */
static void test_other_faults_end_the_process(void)
{
	int status = 0;
	pid_t child;

	CU_ASSERT_EQUAL(fault_guard_install(), 0);
	CU_ASSERT_EQUAL(fault_guard_install(), 0);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		int fd = memfd_create("nothing", 0);
		char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		uint64_t broken = 0;
		struct fault_guard g = {map + 4096, 4096, 4096, &broken};

		fault_guard_enter(&g);
		_exit(*(volatile char *)map + 100);
	}
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	/* A sanitizer may turn the signal into an exit; the status must not be that of a successful
	 * access. */
	CU_ASSERT((WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) ||
		  (WIFEXITED(status) && WEXITSTATUS(status) < 100 && WEXITSTATUS(status) != 0));
}

/* An object that is opened to be written in place: reads give what was written, whole and in
 * pieces, while it grows. */
static void test_written_in_place(void)
{
	struct object o = {.key = "grows"};
	struct stream s;
	struct files f;
	char path[160];
	struct request req;

	files_begin(&f, ".");
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_UPDATE, 0, 0, NULL, NULL), 0);
	fill(KEY, 0, f.data, SIZE);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_WRITE, 0, SIZE, f.data, NULL), 0);
	memset(f.data, 0, SIZE);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, 5, SIZE - 5, f.data, NULL), 0);
	CU_ASSERT_EQUAL(fill_verify(KEY, 5, f.data, SIZE - 5), SIZE - 5);
	req = stream_of(&f, &s, 777, SIZE - 777);
	req.object = &o;
	CU_ASSERT_EQUAL(queue_do(&f.queue, &req), 0);
	CU_ASSERT_EQUAL(s.next, SIZE);
	CU_ASSERT_FALSE(s.lent);
	req = stream_of(&f, &s, SIZE - 5, 6);
	req.object = &o;
	CU_ASSERT_EQUAL(queue_do(&f.queue, &req), -ENODATA);
	CU_ASSERT_EQUAL(req.answer.done_bytes, 5);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	snprintf(path, sizeof(path), "%s/grows", f.folder);
	CU_ASSERT_EQUAL(unlink(path), 0);
	files_end(&f);
}

static void test_empty_and_sparse(void)
{
	struct object o = {.key = "empty"};
	struct files f;
	char path[160];

	files_begin(&f, ".");
	CU_ASSERT_EQUAL(rig_put(&f.queue, "empty", "", 0), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, 0, 0, f.data, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, 0, 1, f.data, NULL), -ENODATA);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, 0, 1, f.data, NULL), -EBADF);
	snprintf(path, sizeof(path), "%s/empty", f.folder);
	CU_ASSERT_EQUAL(truncate(path, 1 << 20), 0);
	memset(f.data, 1, 1 << 20);
	CU_ASSERT_EQUAL(rig_get(&f.queue, "empty", f.data, 1 << 20), 0);
	CU_ASSERT(f.data[0] == 0 && f.data[(1 << 20) - 1] == 0);
	CU_ASSERT_EQUAL(unlink(path), 0);
	files_end(&f);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"streams are not copied", test_streams_are_not_copied},
		{"a consumer may end a stream", test_a_consumer_may_end_a_stream},
		{"a file cut short", test_a_file_cut_short},
		{"a fault ends only its own read", test_a_fault_ends_only_its_own_read},
		{"other faults end the process", test_other_faults_end_the_process},
		{"written in place", test_written_in_place},
		{"empty and sparse", test_empty_and_sparse},
		CU_TEST_INFO_NULL,
	};

	return unit_main("file_mmap", tests);
}
