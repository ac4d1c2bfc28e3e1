/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of file:// with psync, in a new folder below the working directory, which is the build's
 * and has a file system for direct I/O. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/file/system.h"
#include "core/content/fill.h"
#include "core/content/random.h"
#include "tests/backends/rig.h"
#include "tests/unit.h"

struct place_of_files {
	struct rig rig;
	struct queue queue;
	char folder[64];
};

static void files_begin(struct place_of_files *f, const char *options)
{
	char json[256];

	rig_init(&f->rig);
	strcpy(f->folder, "./test_file.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
	snprintf(json, sizeof(json), "{\"uri\": \"file://%s/root\"%s}", f->folder, options);
	CU_ASSERT_EQUAL_FATAL(rig_open(&f->rig, json), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&f->queue, &f->rig.store, 1, NULL), 0);
}

/* Removes the test's folder. rmdir fails if the test did not delete everything that it made. */
static void files_end(struct place_of_files *f)
{
	struct object root = {.key = "/"};

	CU_ASSERT_EQUAL(rig_do(&f->queue, &root, REQ_DELETE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rmdir(f->folder), 0);
	queue_close(&f->queue);
	rig_close(&f->rig);
}

/* Whether a version of that object is begun: its part has a drawn name. */
static bool part_stands(const struct place_of_files *f, const char *name)
{
	char path[256];
	glob_t found;
	bool stands;

	snprintf(path, sizeof(path), "%s/root/%s.haul-????????", f->folder, name);
	stands = glob(path, 0, NULL, &found) == 0 && found.gl_pathc == 1;
	globfree(&found);
	return stands;
}

static bool exists(const struct place_of_files *f, const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/root/%s", f->folder, name);
	return stat(path, &st) == 0;
}

static int delete (struct place_of_files *f, const char *key)
{
	struct object o = {0};

	strcpy(o.key, key);
	return rig_do(&f->queue, &o, REQ_DELETE, 0, 0, NULL, NULL);
}

static void write_and_read(const char *options)
{
	char text[] = "what is written is read", back[sizeof(text)];
	struct object o = {.key = "a/b/c.bin"};
	struct place_of_files f;
	uint64_t bytes;

	files_begin(&f, options);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_OPEN, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_BEGIN, 0, sizeof(text), NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_WRITE, 8, sizeof(text) - 8, text + 8, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_WRITE, 0, 8, text, NULL), 0);
	CU_ASSERT_TRUE(part_stands(&f, "a/b/c.bin"));
	CU_ASSERT_FALSE(exists(&f, "a/b/c.bin"));
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_COMMIT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, sizeof(text));
	CU_ASSERT_FALSE(part_stands(&f, "a/b/c.bin"));
	CU_ASSERT_EQUAL(o.state[0] | o.state[1], 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_STAT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, sizeof(text));
	CU_ASSERT_EQUAL(rig_get(&f.queue, "a/b/c.bin", back, sizeof(back)), 0);
	CU_ASSERT_STRING_EQUAL(back, text);
	CU_ASSERT_EQUAL(delete (&f, "a/b/"), -ENOTEMPTY);
	CU_ASSERT_EQUAL(delete (&f, "a/b/c.bin"), 0);
	CU_ASSERT_EQUAL(delete (&f, "a/b/c.bin"), -ENOENT);
	CU_ASSERT_EQUAL(delete (&f, "a/b/"), 0);
	CU_ASSERT_EQUAL(delete (&f, "a/"), 0);
	files_end(&f);
}

static void test_write_and_read(void)
{
	write_and_read("");
	write_and_read(", \"fsync\": \"file\"");
	write_and_read(", \"fsync\": \"folder\", \"engine\": \"psync\"");
	write_and_read(", \"engine\": \"mmap\"");
}

static void test_truncated_object_ends_early(void)
{
	char text[100] = {1}, back[100];
	struct object o = {.key = "short"};
	struct place_of_files f;
	uint64_t bytes;

	files_begin(&f, "");
	CU_ASSERT_EQUAL(rig_put(&f.queue, "short", text, 60), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(o.size, 60);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, 0, 100, back, &bytes), -ENODATA);
	CU_ASSERT_EQUAL(bytes, 60);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, 60, 1, back, NULL), -ENODATA);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, 60, 0, back, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_CLOSE, 0, 0, NULL, NULL), -EBADF);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, 0, 1, back, NULL), -EBADF);
	CU_ASSERT_EQUAL(delete (&f, "short"), 0);
	files_end(&f);
}

static void test_abort_keeps_the_old_version(void)
{
	char old[10] = "old", young[20] = "new", back[10];
	struct object o = {.key = "x"};
	struct place_of_files f;

	files_begin(&f, "");
	CU_ASSERT_EQUAL(rig_put(&f.queue, "x", old, sizeof(old)), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_BEGIN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_WRITE, 0, sizeof(young), young, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_ABORT, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_ABORT, 0, 0, NULL, NULL), -EBADF);
	CU_ASSERT_FALSE(part_stands(&f, "x"));
	CU_ASSERT_EQUAL(rig_get(&f.queue, "x", back, sizeof(back)), 0);
	CU_ASSERT_STRING_EQUAL(back, "old");
	/* A part that cannot be published can still be aborted. */
	CU_ASSERT_EQUAL(delete (&f, "x"), 0);
	CU_ASSERT_EQUAL(rig_put(&f.queue, "x/y", old, sizeof(old)), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_BEGIN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_WRITE, 0, sizeof(young), young, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_COMMIT, 0, 0, NULL, NULL), -EISDIR);
	CU_ASSERT_TRUE(part_stands(&f, "x"));
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_ABORT, 0, 0, NULL, NULL), 0);
	CU_ASSERT_FALSE(part_stands(&f, "x"));
	CU_ASSERT_EQUAL(delete (&f, "x/y"), 0);
	CU_ASSERT_EQUAL(delete (&f, "x/"), 0);
	files_end(&f);
}

static void test_psync_takes_one_request(void)
{
	struct err err = {0};
	struct place_of_files f;
	struct queue q;
	char text[] = "x";

	files_begin(&f, "");
	CU_ASSERT_EQUAL(queue_open(&q, &f.rig.store, 2, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(
		err.text,
		"file:// engine psync works on one request at a time; set depth 1 or another engine");
	CU_ASSERT_EQUAL(rig_put(&f.queue, "x", text, 1), 0);
	CU_ASSERT_EQUAL(delete (&f, "x"), 0);
	files_end(&f);
}

struct check {
	uint64_t key, next;
};

static int filler(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct check *c = req->user;

	CU_ASSERT_EQUAL(offset, c->next);
	c->next += length;
	fill(c->key, offset, data, length);
	return 0;
}

static int checker(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct check *c = req->user;

	CU_ASSERT_EQUAL(offset, c->next);
	c->next += length;
	return fill_verify(c->key, offset, data, length) == length ? 0 : -EBADMSG;
}

static int stream(struct queue *q, struct object *o, enum request_op op, uint64_t offset,
		  uint64_t length, void *window, uint64_t bytes)
{
	struct check c = {.key = 7, .next = offset};
	struct request req = {.op = op,
			      .object = o,
			      .offset = offset,
			      .length = length,
			      .data = window,
			      .buffer_bytes = bytes,
			      .chunk = op == REQ_READ ? checker : filler,
			      .user = &c};
	int status = queue_do(q, &req);

	CU_ASSERT_EQUAL(c.next, offset + length);
	CU_ASSERT_EQUAL(req.answer.done_bytes, length);
	return status;
}

static bool all_bytes(const unsigned char *data, uint64_t length, unsigned char value)
{
	for (uint64_t i = 0; i < length; i++) {
		if (data[i] != value)
			return false;
	}
	return true;
}

/* Any range, direct or buffered, whole or streamed, gives the bytes that were written. */
static void ranges(const char *options)
{
	enum { SIZE = 300001, ROOM = 1 << 19, WINDOW = 16 << 10 };
	struct object o = {.key = "ranges"};
	struct place_of_files f;
	void *data = NULL;
	uint64_t bytes, room;

	files_begin(&f, options);
	CU_ASSERT_EQUAL_FATAL(posix_memalign(&data, 4096, ROOM), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_BEGIN, 0, SIZE, NULL, NULL), 0);
	CU_ASSERT_EQUAL(stream(&f.queue, &o, REQ_WRITE, 0, SIZE, data, WINDOW), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_COMMIT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, SIZE);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(o.size, SIZE);
	for (uint64_t i = 0; i < 300; i++) {
		struct request req = {.op = REQ_READ, .object = &o, .data = data};

		req.offset = random_at(3, i, 0) % SIZE;
		req.length = 1 + random_at(3, i, 1) % (SIZE - req.offset);
		room = queue_buffer_bytes(&f.rig.store, req.length);
		CU_ASSERT_FATAL(room <= ROOM);
		memset((char *)data + room, 0x5a, ROOM - room);
		CU_ASSERT_EQUAL(queue_do(&f.queue, &req), 0);
		CU_ASSERT_EQUAL(req.answer.lead, req.offset % f.rig.store.alignment);
		CU_ASSERT_EQUAL(req.answer.done_bytes, req.length);
		CU_ASSERT_EQUAL(
			fill_verify(7, req.offset, (char *)data + req.answer.lead, req.length),
			req.length);
		CU_ASSERT(all_bytes((unsigned char *)data + room, ROOM - room, 0x5a));
		if (i % 10 == 0)
			CU_ASSERT_EQUAL(stream(&f.queue, &o, REQ_READ, req.offset, req.length, data,
					       WINDOW),
					0);
	}
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, SIZE - 5, 10, data, &bytes), -ENODATA);
	CU_ASSERT_EQUAL(bytes, 5);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(delete (&f, "ranges"), 0);
	free(data);
	files_end(&f);
}

static bool refuses_direct(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR | O_DIRECT, 0600);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static void test_ranges(void)
{
	ranges("");
	ranges(", \"engine\": \"mmap\"");
	ranges(", \"engine\": \"mmap\", \"fadvise\": \"sequential\", \"readahead\": 65536");
	ranges(", \"preallocate\": true");
	if (refuses_direct())
		return;
	ranges(", \"direct\": true");
}

static void test_direct_writes_begin_at_blocks(void)
{
	struct object o = {.key = "x"};
	struct place_of_files f;
	void *data = NULL;

	if (refuses_direct())
		return;
	files_begin(&f, ", \"direct\": true");
	CU_ASSERT(f.rig.store.alignment >= 512);
	CU_ASSERT_EQUAL_FATAL(posix_memalign(&data, 4096, 65536), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_BEGIN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_WRITE, 100, 4096, data, NULL), -EINVAL);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_ABORT, 0, 0, NULL, NULL), 0);
	write_and_read("");
	free(data);
	files_end(&f);
}

/* An error of the operating system becomes the request's status. */
static void test_errors_are_the_systems(void)
{
	struct object o = {0};
	struct place_of_files f;
	char text[10] = {0};

	files_begin(&f, "");
	CU_ASSERT_EQUAL(rig_put(&f.queue, "file", text, sizeof(text)), 0);
	CU_ASSERT_EQUAL(rig_put(&f.queue, "file/below", text, sizeof(text)), -ENOTDIR);
	strcpy(o.key, "file/below");
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	memset(o.key, 'x', 300);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_BEGIN, 0, 0, NULL, NULL), -ENAMETOOLONG);
	CU_ASSERT_EQUAL(delete (&f, "file"), 0);
	files_end(&f);
}

/* Makes the store's folder, because files_end expects one to remove. */
static void put_and_delete(struct place_of_files *f)
{
	CU_ASSERT_EQUAL(rig_put(&f->queue, "x", "", 0), 0);
	CU_ASSERT_EQUAL(delete (f, "x"), 0);
}

static void test_facts_are_those_in_effect(void)
{
	struct place_of_files f;
	struct store_facts facts;

	files_begin(&f, "");
	store_describe(&f.rig.store, &f.rig.described, &facts);
	CU_ASSERT_STRING_EQUAL(facts.name, "s");
	CU_ASSERT_PTR_NOT_NULL(strstr(facts.uri, "/root"));
	CU_ASSERT_STRING_EQUAL(facts.engine, "psync");
	CU_ASSERT_STRING_NOT_EQUAL(facts.file_system, "");
	CU_ASSERT_STRING_EQUAL(facts.note, "");
	CU_ASSERT_EQUAL(facts.direct, 0);
	CU_ASSERT_EQUAL(facts.block_bytes, 0);
	CU_ASSERT_EQUAL(facts.copies_read + facts.copies_streamed + facts.copies_written, 0);
	CU_ASSERT_EQUAL(facts.nodes, 1);
	put_and_delete(&f);
	files_end(&f);
	if (refuses_direct())
		return;
	files_begin(&f, ", \"direct\": true");
	store_describe(&f.rig.store, &f.rig.described, &facts);
	CU_ASSERT_EQUAL(facts.direct, 1);
	CU_ASSERT_EQUAL(facts.block_bytes, f.rig.store.alignment);
	put_and_delete(&f);
	files_end(&f);
}

static void test_file_systems(void)
{
	struct file_system fs;

	file_system_find("/proc/self", &fs);
	CU_ASSERT_STRING_EQUAL(fs.name, "proc");
	CU_ASSERT_EQUAL(fs.magic, 0x9fa0);
	file_system_find("/proc/nothing/below", &fs);
	CU_ASSERT_STRING_EQUAL(fs.name, "proc");
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"write and read", test_write_and_read},
		{"truncated object ends early", test_truncated_object_ends_early},
		{"abort keeps the old version", test_abort_keeps_the_old_version},
		{"psync takes one request", test_psync_takes_one_request},
		{"ranges", test_ranges},
		{"direct writes begin at blocks", test_direct_writes_begin_at_blocks},
		{"errors are the system's", test_errors_are_the_systems},
		{"facts are those in effect", test_facts_are_those_in_effect},
		{"file systems", test_file_systems},
		CU_TEST_INFO_NULL,
	};

	return unit_main("file", tests);
}
