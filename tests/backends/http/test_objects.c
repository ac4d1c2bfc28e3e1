/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of object stores over HTTP, against a real server that tests/servers/run.py has started:
 * all operations, unusual keys, sizes around the limits. HAUL_TEST_STORE has the store's JSON (with
 * the "uri" of an existing, empty bucket or container). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/backends/http/objects.h"
#include "tests/unit.h"

/* The large object has many parts in a full run, and three in a quick one. */
enum { LARGE_MIB = 18, LARGE_FULL_MIB = 200 };

static void test_keys(void)
{
	static const char *const keys[] = {
		"plain",
		"a/b/c",
		"with space",
		"per%cent",
		"per%2Fcent",
		"plus+and&amp=~",
		"double//slash",
		"dots/../and/./more",
		"quote'(*)!@:;,$#?",
		"\xc3\xa9t\xc3\xa9/\xe6\x96\x87\xe4\xbb\xb6",
		"tail.",
		"<xml>\"&'",
	};
	uint8_t data[32], back[32];
	struct object o = {0};
	struct queue q;
	struct rig r;

	objects_begin(&r, &q, 4);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		uint64_t size = 0;

		objects_fill(data, 0, sizeof(data), i);
		memset(back, 0, sizeof(back));
		snprintf(o.key, sizeof(o.key), "%s", keys[i]);
		CU_ASSERT_EQUAL(rig_put(&q, keys[i], data, sizeof(data)), 0);
		CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, &size), 0);
		CU_ASSERT_EQUAL(size, sizeof(data));
		CU_ASSERT_EQUAL(rig_get(&q, keys[i], back, sizeof(back)), 0);
		CU_ASSERT_EQUAL(memcmp(data, back, sizeof(data)), 0);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(o.key, sizeof(o.key), "%s", keys[i]);
		CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL), 0);
		CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	}
	objects_end(&r, &q);
}

/* Writes an object, in parts if it is larger than one part, and reads it in ranges. */
static void put_get(struct queue *q, const char *key, uint64_t size, uint64_t part, uint64_t range)
{
	uint64_t most = part > range ? part : range, stored = 0;
	uint8_t *data = malloc(most);
	struct object o = {0};
	struct request req = {.op = REQ_BEGIN, .object = &o, .length = size, .begin.part = part};

	snprintf(o.key, sizeof(o.key), "%s", key);
	CU_ASSERT_EQUAL(queue_do(q, &req), 0);
	for (uint64_t at = 0; at < size; at += part) {
		uint64_t n = size - at < part ? size - at : part;

		objects_fill(data, at, n, size);
		CU_ASSERT_EQUAL(rig_do(q, &o, REQ_WRITE, at, n, data, NULL), 0);
	}
	CU_ASSERT_EQUAL(rig_do(q, &o, REQ_COMMIT, 0, 0, NULL, &stored), 0);
	CU_ASSERT_EQUAL(stored, size);
	CU_ASSERT_EQUAL(rig_do(q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	for (uint64_t at = 0; at < size; at += range) {
		uint64_t n = size - at < range ? size - at : range, got = 0;

		memset(data, 0, n);
		CU_ASSERT_EQUAL(rig_do(q, &o, REQ_READ, at, n, data, &got), 0);
		CU_ASSERT_EQUAL(got, n);
		CU_ASSERT(objects_same(data, at, n, size));
	}
	CU_ASSERT_EQUAL(rig_do(q, &o, REQ_READ, size, 1, data, NULL), -ENODATA);
	if (size)
		CU_ASSERT_EQUAL(rig_do(q, &o, REQ_READ, size - 1, 2, data, NULL), -ENODATA);
	CU_ASSERT_EQUAL(rig_do(q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(q, &o, REQ_DELETE, 0, 0, NULL, NULL), 0);
	free(data);
}

static void test_sizes(void)
{
	struct queue q;
	struct rig r;

	objects_begin(&r, &q, 1);
	put_get(&q, "s/0", 0, 8 * MIB, MIB);
	put_get(&q, "s/1", 1, 8 * MIB, MIB);
	put_get(&q, "s/5m-1", 5 * MIB - 1, 5 * MIB, MIB);
	put_get(&q, "s/5m", 5 * MIB, 5 * MIB, 5 * MIB);
	put_get(&q, "s/5m+1", 5 * MIB + 1, 5 * MIB, 3 * MIB);
	put_get(&q, "s/large", (uint64_t)(unit_full() ? LARGE_FULL_MIB : LARGE_MIB) * MIB, 16 * MIB,
		8 * MIB);
	objects_end(&r, &q);
}

/* Many parts and ranges in flight, completed in any order. */
static void test_many_at_once(void)
{
	enum { DEPTH = 8, PARTS = 5 };
	static struct request reqs[DEPTH], *done[DEPTH], *list[DEPTH];
	uint64_t size = (uint64_t)PARTS * 5 * MIB - 12345, stored;
	uint8_t *data = malloc((size_t)PARTS * 5 * MIB);
	struct object o = {.key = "many"};
	struct request req = {.op = REQ_BEGIN, .object = &o, .length = size, .begin.part = 5 * MIB};
	struct queue q;
	struct rig r;

	objects_begin(&r, &q, DEPTH);
	objects_fill(data, 0, size, 7);
	CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < PARTS; i++) {
			uint64_t at = (uint64_t)(PARTS - 1 - i) * 5 * MIB;

			reqs[i] = (struct request){.op = pass ? REQ_READ : REQ_WRITE,
						   .object = &o,
						   .offset = at,
						   .length = size - at < 5 * MIB ? size - at
										 : 5 * MIB,
						   .data = data + at};
			list[i] = &reqs[i];
		}
		CU_ASSERT_EQUAL(queue_submit(&q, list, PARTS), 0);
		CU_ASSERT_EQUAL(queue_reap(&q, done, PARTS, PARTS, UINT64_MAX), PARTS);
		for (int i = 0; i < PARTS; i++)
			CU_ASSERT_EQUAL(reqs[i].answer.status, 0);
		if (pass)
			break;
		CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_COMMIT, 0, 0, NULL, &stored), 0);
		CU_ASSERT_EQUAL(stored, size);
		memset(data, 0, size);
		CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	}
	CU_ASSERT(objects_same(data, 0, size, 7));
	CU_ASSERT(reqs[0].answer.first_byte_ns >= reqs[0].answer.submit_ns);
	CU_ASSERT(reqs[0].answer.first_byte_ns <= reqs[0].answer.done_ns);
	CU_ASSERT_EQUAL(q.op[REQ_READ].bytes, size);
	rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL);
	free(data);
	objects_end(&r, &q);
}

static int chunk_fill(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	(void)req;
	objects_fill(data, offset, length, 9);
	return 0;
}

static int chunk_check(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	*(uint64_t *)req->user += length;
	return objects_same(data, offset, length, 9) ? 0 : -EILSEQ;
}

/* Streams through a small buffer, written by one PUT and read by one GET. */
static void test_streams(void)
{
	static uint8_t window[100000];
	uint64_t size = 3 * MIB + 17, seen = 0;
	struct object o = {.key = "stream"};
	struct request req = {.op = REQ_BEGIN, .object = &o, .length = size, .begin.part = 8 * MIB};
	struct queue q;
	struct rig r;

	objects_begin(&r, &q, 2);
	CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	req = (struct request){.op = REQ_WRITE,
			       .object = &o,
			       .length = size,
			       .data = window,
			       .buffer_bytes = sizeof(window),
			       .chunk = chunk_fill};
	CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_COMMIT, 0, 0, NULL, NULL), 0);
	rig_do(&q, &o, REQ_OPEN, 0, 0, NULL, NULL);
	req = (struct request){.op = REQ_READ,
			       .object = &o,
			       .offset = 11,
			       .length = size - 11,
			       .data = window,
			       .buffer_bytes = sizeof(window),
			       .chunk = chunk_check,
			       .user = &seen};
	CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	CU_ASSERT_EQUAL(seen, size - 11);
	CU_ASSERT_EQUAL(req.answer.attempts, 1);
	rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL);
	objects_end(&r, &q);
}

static void test_what_is_not_there(void)
{
	struct object o = {.key = "none"};
	uint8_t byte;
	struct queue q;
	struct rig r;

	objects_begin(&r, &q, 1);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_get(&q, "none", &byte, 1), -ENOENT);
	CU_ASSERT_EQUAL(q.op[REQ_STAT].errors, 0);
	strcpy(o.key, "folder/");
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL), -ENOENT);
	objects_end(&r, &q);
}

/* After an abort nothing remains of the upload, whether by one PUT or by parts, and the earlier
 * object stays. */
static void test_abort(void)
{
	static uint8_t data[5 * MIB];
	struct object o = {.key = "aborted"};
	struct request req;
	uint64_t size = 0;
	struct queue q;
	struct rig r;

	objects_begin(&r, &q, 1);
	for (uint64_t bytes = 100; bytes <= 8 * MIB; bytes *= 83886) {
		req = (struct request){
			.op = REQ_BEGIN, .object = &o, .length = bytes, .begin.part = 5 * MIB};
		CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
		CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_WRITE, 0,
				       bytes < sizeof(data) ? bytes : sizeof(data), data, NULL),
				0);
		CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_ABORT, 0, 0, NULL, NULL), 0);
		CU_ASSERT_EQUAL(o.state[0], 0);
		CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	}
	CU_ASSERT_EQUAL(rig_put(&q, "aborted", "before", 6), 0);
	req = (struct request){
		.op = REQ_BEGIN, .object = &o, .length = 8 * MIB, .begin.part = 5 * MIB};
	CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_WRITE, 0, sizeof(data), data, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_ABORT, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, &size), 0);
	CU_ASSERT_EQUAL(size, 6);
	rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL);
	objects_end(&r, &q);
}

/* Two stores write one version, as two ranks would. A commit reports a missing part, which can then
 * still be written. */
static void test_shared(void)
{
	enum { PARTS = 4, PART = 5 * MIB, SIZE = PARTS * PART - 4321 };
	uint8_t *data = malloc(PARTS * PART);
	struct object one = {.key = "shared"}, two = {.key = "shared"};
	struct shared_version version = {0};
	struct request req = {.op = REQ_BEGIN,
			      .object = &one,
			      .length = SIZE,
			      .begin.part = PART,
			      .begin.shared = &version};
	struct queue q, other;
	struct rig r, far;
	uint64_t stored = 0, requests;

	objects_begin(&r, &q, 1);
	objects_begin(&far, &other, 2);
	objects_fill(data, 0, SIZE, 3);
	CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	CU_ASSERT(version.id[0] != '\0');
	req.object = &two;
	CU_ASSERT_EQUAL(queue_do(&other, &req), 0);
	CU_ASSERT_EQUAL(other.endpoint_counts[0].requests, 0);
	CU_ASSERT_EQUAL(rig_do(&q, &one, REQ_COMMIT, 0, 0, NULL, &stored), -ENODATA);
	CU_ASSERT_EQUAL(stored, 0);
	for (uint64_t at = 0; at < SIZE; at += PART) {
		bool far_one = at / PART % 2;

		if (at == 2 * PART)
			continue;
		CU_ASSERT_EQUAL(rig_do(far_one ? &other : &q, far_one ? &two : &one, REQ_WRITE, at,
				       SIZE - at < PART ? SIZE - at : PART, data + at, NULL),
				0);
	}
	CU_ASSERT_EQUAL(rig_do(&other, &two, REQ_COMMIT, 0, 0, NULL, NULL), -EBADF);
	CU_ASSERT_EQUAL(rig_do(&q, &one, REQ_COMMIT, 0, 0, NULL, &stored), -ENODATA);
	CU_ASSERT_EQUAL(stored, SIZE - PART);
	CU_ASSERT_EQUAL(rig_do(&q, &one, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_do(&other, &two, REQ_WRITE, 2 * PART, PART, data + 2 * PART, NULL), 0);
	requests = other.endpoint_counts[0].requests;
	CU_ASSERT_EQUAL(rig_do(&other, &two, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(two.state[0], 0);
	CU_ASSERT_EQUAL(other.endpoint_counts[0].requests, requests);
	CU_ASSERT_EQUAL(rig_do(&q, &one, REQ_COMMIT, 0, 0, NULL, &stored), 0);
	CU_ASSERT_EQUAL(stored, SIZE);
	memset(data, 0, SIZE);
	CU_ASSERT_EQUAL(rig_get(&other, "shared", data, SIZE), 0);
	CU_ASSERT(objects_same(data, 0, SIZE, 3));
	CU_ASSERT_EQUAL(rig_do(&q, &one, REQ_DELETE, 0, 0, NULL, NULL), 0);
	free(data);
	objects_end(&far, &other);
	objects_end(&r, &q);
}

/* The store that began the version aborts it, whatever the others wrote. A later version does not
 * contain parts of an aborted one. */
static void test_shared_abort(void)
{
	enum { PART = 5 * MIB, SIZE = 2 * PART };
	uint8_t *data = calloc(1, SIZE);
	struct object one = {.key = "left"}, two = {.key = "left"};
	uint64_t stored = 0;
	struct queue q;
	struct rig r;

	objects_begin(&r, &q, 2);
	for (int i = 0; i < 2; i++) {
		struct shared_version version = {0};
		struct request req = {.op = REQ_BEGIN,
				      .object = &one,
				      .length = SIZE,
				      .begin.part = PART,
				      .begin.shared = &version};

		CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
		req.object = &two;
		CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
		CU_ASSERT_EQUAL(rig_do(&q, &two, REQ_WRITE, (uint64_t)i * PART, PART, data, NULL),
				0);
		CU_ASSERT_EQUAL(rig_do(&q, &two, REQ_CLOSE, 0, 0, NULL, NULL), 0);
		CU_ASSERT_EQUAL(rig_do(&q, &one, REQ_COMMIT, 0, 0, NULL, &stored), -ENODATA);
		CU_ASSERT_EQUAL(stored, PART);
		CU_ASSERT_EQUAL(rig_do(&q, &one, REQ_ABORT, 0, 0, NULL, NULL), 0);
		CU_ASSERT_EQUAL(rig_do(&q, &one, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	}
	free(data);
	objects_end(&r, &q);
}

/* The time to make an object visible is reported apart from the time to send it. It is 0 where one
 * PUT does both. */
static void test_publishing(void)
{
	static const struct {
		uint64_t size, part;
		bool publishes;
	} table[] = {{MIB, 8 * MIB, false}, {7 * MIB, 5 * MIB, true}, {0, 8 * MIB, true}};
	uint8_t *data = calloc(1, 7 * MIB);
	struct queue q;
	struct rig r;

	objects_begin(&r, &q, 1);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct object o = {.key = "published"};
		struct request req = {.op = REQ_BEGIN,
				      .object = &o,
				      .length = table[i].size,
				      .begin.part = table[i].part};

		CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
		CU_ASSERT_EQUAL(req.answer.publish_ns, 0);
		for (uint64_t at = 0; at < table[i].size; at += table[i].part) {
			uint64_t left = table[i].size - at;

			req = (struct request){.op = REQ_WRITE,
					       .object = &o,
					       .offset = at,
					       .length =
						       left < table[i].part ? left : table[i].part,
					       .data = data};
			CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
			CU_ASSERT_EQUAL(req.answer.publish_ns, 0);
		}
		req = (struct request){.op = REQ_COMMIT, .object = &o};
		CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
		CU_ASSERT_EQUAL(req.answer.publish_ns > 0, table[i].publishes);
		/* The commit also asks for the size. */
		CU_ASSERT(req.answer.publish_ns < req.answer.done_ns - req.answer.submit_ns);
		CU_ASSERT_EQUAL(req.answer.sync_ns, 0);
		rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL);
	}
	free(data);
	objects_end(&r, &q);
}

/* One request deletes several objects: with unusual keys, one that does not exist and one that
 * cannot be requested. Nothing else is deleted. A store that can delete only one object per request
 * refuses it and deletes nothing. */
static void test_delete_many(void)
{
	static const char *const keys[] = {
		"d/plain",
		"d/with space",
		"d/per%cent",
		"d/per%2F+plus",
		"d/amp&amp;=<>\"'~",
		"d//slash",
		"d/\xc3\xa9\xe6\x96\x87",
		"d/not there",
		"d/bell\x07",
	};
	enum { KEYS = sizeof(keys) / sizeof(keys[0]), PUT = KEYS - 2 };
	struct request_key list[KEYS] = {0};
	struct object o = {.key = "d/plain"};
	struct request req = {
		.op = REQ_DELETE, .object = &o, .batch.keys = list, .batch.count = KEYS};
	uint64_t requests;
	struct queue q;
	struct rig r;
	bool several;

	objects_begin(&r, &q, 2);
	several = store_can(&r.store, BACKEND_BATCH);
	CU_ASSERT_EQUAL(rig_put(&q, "d/stays", "1", 1), 0);
	for (int i = 0; i < KEYS; i++) {
		snprintf(list[i].key, sizeof(list[i].key), "%s", keys[i]);
		if (i < PUT)
			CU_ASSERT_EQUAL(rig_put(&q, keys[i], "12345", 5), 0);
	}
	requests = q.endpoint_counts[0].requests;
	CU_ASSERT_EQUAL(queue_do(&q, &req), several ? -EINVAL : -ENOTSUP);
	CU_ASSERT_EQUAL(q.endpoint_counts[0].requests - requests, several);
	CU_ASSERT_EQUAL(request_failures(&req), several ? 1 : KEYS);
	CU_ASSERT_EQUAL(q.op[REQ_DELETE].errors, several ? 1 : KEYS);
	CU_ASSERT_EQUAL(q.op[REQ_DELETE].operations, 1);
	for (int i = 0; i < PUT; i++) {
		snprintf(o.key, sizeof(o.key), "%s", keys[i]);
		CU_ASSERT_EQUAL(list[i].status, several ? 0 : -ENOTSUP);
		CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, NULL), several ? -ENOENT : 0);
		rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL);
	}
	/* S3 does not report whether an object existed. */
	CU_ASSERT_EQUAL(list[PUT].status, several ? 0 : -ENOTSUP);
	CU_ASSERT_EQUAL(list[PUT + 1].status, several ? -EINVAL : -ENOTSUP);
	CU_ASSERT_PTR_NOT_NULL(several ? list[PUT + 1].why : "");
	strcpy(o.key, "d/stays");
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL), 0);
	objects_end(&r, &q);
}

/* All requests use one connection. */
static void test_connections_are_kept(void)
{
	uint64_t opens = strstr(objects_store(), "head_on_open") ? 20 : 0;
	struct queue q;
	struct rig r;
	uint8_t byte;

	objects_begin(&r, &q, 4);
	CU_ASSERT_EQUAL(rig_put(&q, "kept", "x", 1), 0);
	for (int i = 0; i < 20; i++)
		CU_ASSERT_EQUAL(rig_get(&q, "kept", &byte, 1), 0);
	CU_ASSERT_EQUAL(q.endpoint_counts[0].connections, 1);
	CU_ASSERT_EQUAL(q.endpoint_counts[0].failures, 0);
	CU_ASSERT_EQUAL(q.endpoint_counts[0].attempts, 22 + opens);
	CU_ASSERT_EQUAL(q.endpoint_counts[0].requests, 22 + opens);
	/* An object that is known to be read as a whole is requested without a range. */
	CU_ASSERT_EQUAL(q.endpoint_counts[0].status[206], 20 - opens);
	CU_ASSERT(q.endpoint_counts[0].wire_bytes > q.endpoint_counts[0].bytes);
	objects_end(&r, &q);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"keys", test_keys},
		{"sizes", test_sizes},
		{"many at once", test_many_at_once},
		{"streams", test_streams},
		{"what is not there", test_what_is_not_there},
		{"abort", test_abort},
		{"shared", test_shared},
		{"shared, abort", test_shared_abort},
		{"list", objects_test_list},
		{"list parts", objects_test_list_parts},
		{"open uploads", objects_test_open_uploads},
		{"publishing", test_publishing},
		{"delete of several", test_delete_many},
		{"connections are kept", test_connections_are_kept},
		CU_TEST_INFO_NULL,
	};

	if (!objects_store()) {
		fprintf(stderr, "HAUL_TEST_STORE is not set: see tests/servers/run.py\n");
		return 1;
	}
	return unit_main("objects", tests);
}
