/* Tests of object stores over HTTP, against a real server that tests/servers/run.py has started:
 * all operations, unusual keys, sizes around the limits. HAUL_TEST_STORE has the store's JSON (with
 * the "uri" of an existing, empty bucket or container). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/backends/rig.h"
#include "tests/unit.h"

enum { MIB = 1 << 20, LARGE_MIB = 200 };

static struct clock real;

static const char *store_json(void)
{
	return getenv("HAUL_TEST_STORE");
}

static void begin(struct rig *r, struct queue *q, uint32_t depth)
{
	rig_init(r);
	clock_init(&real);
	r->clock = &real;
	CU_ASSERT_EQUAL(rig_open(r, store_json()), 0);
	if (r->err.text[0])
		fprintf(stderr, "%s\n", r->err.text);
	CU_ASSERT_EQUAL_FATAL(queue_open(q, &r->store, depth, &r->err), 0);
}

static void end(struct rig *r, struct queue *q)
{
	queue_close(q);
	rig_close(r);
}

/* Bytes that depend on the offset and the salt, eight at a time; any offset may be the first. */
static void fill(uint8_t *data, uint64_t offset, uint64_t n, uint64_t salt)
{
	uint64_t word;

	for (uint64_t i = 0; i < n;) {
		uint64_t in = (offset + i) % 8, bytes = 8 - in < n - i ? 8 - in : n - i;

		word = mix64((offset + i) / 8 + salt * 1000003);
		memcpy(data + i, (uint8_t *)&word + in, bytes);
		i += bytes;
	}
}

static bool same(const uint8_t *data, uint64_t offset, uint64_t n, uint64_t salt)
{
	uint8_t wanted[4096];

	for (uint64_t i = 0; i < n; i += sizeof(wanted)) {
		uint64_t bytes = n - i < sizeof(wanted) ? n - i : sizeof(wanted);

		fill(wanted, offset + i, bytes, salt);
		if (memcmp(data + i, wanted, bytes) != 0)
			return false;
	}
	return true;
}

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

	begin(&r, &q, 4);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		uint64_t size = 0;

		fill(data, 0, sizeof(data), i);
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
	end(&r, &q);
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

		fill(data, at, n, size);
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
		CU_ASSERT(same(data, at, n, size));
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

	begin(&r, &q, 1);
	put_get(&q, "s/0", 0, 8 * MIB, MIB);
	put_get(&q, "s/1", 1, 8 * MIB, MIB);
	put_get(&q, "s/5m-1", 5 * MIB - 1, 5 * MIB, MIB);
	put_get(&q, "s/5m", 5 * MIB, 5 * MIB, 5 * MIB);
	put_get(&q, "s/5m+1", 5 * MIB + 1, 5 * MIB, 3 * MIB);
	put_get(&q, "s/200m", (uint64_t)LARGE_MIB * MIB, 16 * MIB, 8 * MIB);
	end(&r, &q);
}

/* Many parts and ranges in flight, completed in any order. */
static void test_many_at_once(void)
{
	enum { DEPTH = 8, PARTS = 7 };
	static struct request reqs[DEPTH], *done[DEPTH], *list[DEPTH];
	uint64_t size = (uint64_t)PARTS * 5 * MIB - 12345, stored;
	uint8_t *data = malloc((size_t)PARTS * 5 * MIB);
	struct object o = {.key = "many"};
	struct request req = {.op = REQ_BEGIN, .object = &o, .length = size, .begin.part = 5 * MIB};
	struct queue q;
	struct rig r;

	begin(&r, &q, DEPTH);
	fill(data, 0, size, 7);
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
	CU_ASSERT(same(data, 0, size, 7));
	CU_ASSERT(reqs[0].answer.first_byte_ns >= reqs[0].answer.submit_ns);
	CU_ASSERT(reqs[0].answer.first_byte_ns <= reqs[0].answer.done_ns);
	CU_ASSERT_EQUAL(q.op[REQ_READ].bytes, size);
	rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL);
	free(data);
	end(&r, &q);
}

static int chunk_fill(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	(void)req;
	fill(data, offset, length, 9);
	return 0;
}

static int chunk_check(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	*(uint64_t *)req->user += length;
	return same(data, offset, length, 9) ? 0 : -EILSEQ;
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

	begin(&r, &q, 2);
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
	end(&r, &q);
}

static void test_what_is_not_there(void)
{
	struct object o = {.key = "none"};
	uint8_t byte;
	struct queue q;
	struct rig r;

	begin(&r, &q, 1);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_get(&q, "none", &byte, 1), -ENOENT);
	CU_ASSERT_EQUAL(q.op[REQ_STAT].errors, 0);
	strcpy(o.key, "folder/");
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL), -ENOENT);
	end(&r, &q);
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

	begin(&r, &q, 1);
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
	end(&r, &q);
}

/* Two stores write one version, as two ranks would. A commit reports a missing part, which can then
 * still be written. */
static void test_shared(void)
{
	enum { PARTS = 5, PART = 5 * MIB, SIZE = PARTS * PART - 4321 };
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

	begin(&r, &q, 1);
	begin(&far, &other, 2);
	fill(data, 0, SIZE, 3);
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
	CU_ASSERT(same(data, 0, SIZE, 3));
	CU_ASSERT_EQUAL(rig_do(&q, &one, REQ_DELETE, 0, 0, NULL, NULL), 0);
	free(data);
	end(&far, &other);
	end(&r, &q);
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

	begin(&r, &q, 2);
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
	end(&r, &q);
}

struct seen {
	uint32_t entries, folders;
	uint64_t sizes, sum;
};

static int entry(struct request *req, const char *name, uint64_t size)
{
	struct seen *seen = req->user;

	seen->entries++;
	if (name[strlen(name) - 1] == '/') {
		seen->folders++;
		CU_ASSERT_EQUAL(size, LIST_SIZE_UNKNOWN);
		return 0;
	}
	seen->sizes += size;
	seen->sum += (uint64_t)strtoul(name + strlen(name) - 3, NULL, 10);
	return 0;
}

static void test_list(void)
{
	enum { OBJECTS = 25, PAGE = 10 };
	struct object o = {0};
	struct listing listing = {.entry = entry};
	struct seen seen = {0};
	struct request req = {.user = &seen};
	uint32_t pages = 0;
	struct queue q;
	struct rig r;

	begin(&r, &q, 2);
	for (int i = 0; i < OBJECTS; i++) {
		snprintf(o.key, sizeof(o.key), "l/a b+%%&\xc3\xa9 %03d", i);
		CU_ASSERT_EQUAL(rig_put(&q, o.key, "12345", (uint64_t)(i % 3)), 0);
	}
	CU_ASSERT_EQUAL(rig_put(&q, "l/sub/one", "1", 1), 0);
	do {
		strcpy(o.key, "l/");
		req = (struct request){.op = REQ_LIST,
				       .object = &o,
				       .length = PAGE,
				       .listing = &listing,
				       .user = &seen};
		CU_ASSERT_EQUAL_FATAL(queue_do(&q, &req), 0);
		CU_ASSERT(req.answer.done_bytes <= PAGE);
	} while (++pages < 10 && listing.more);
	CU_ASSERT_EQUAL(pages, 3);
	CU_ASSERT_EQUAL(seen.entries, OBJECTS + 1);
	CU_ASSERT_EQUAL(seen.folders, 1);
	CU_ASSERT_EQUAL(seen.sizes, 8 * 3 + 0);
	CU_ASSERT_EQUAL(seen.sum, OBJECTS * (OBJECTS - 1) / 2);
	for (int i = 0; i < OBJECTS; i++) {
		snprintf(o.key, sizeof(o.key), "l/a b+%%&\xc3\xa9 %03d", i);
		rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL);
	}
	strcpy(o.key, "l/sub/one");
	rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL);
	end(&r, &q);
}

enum { OPEN_UPLOADS = 23, OPEN_PAGE = 5 };

struct opened {
	char key[OPEN_UPLOADS][64];
	struct shared_version version[OPEN_UPLOADS];
	uint32_t count;
};

static int opened(struct request *req, const char *name, uint64_t size)
{
	struct opened *o = req->user;

	CU_ASSERT_EQUAL(size, LIST_SIZE_UNKNOWN);
	CU_ASSERT_FATAL(o->count < OPEN_UPLOADS);
	snprintf(o->key[o->count], sizeof(o->key[0]), "u/%s", name);
	strcpy(o->version[o->count++].id, req->listing->upload);
	return 0;
}

static int list_opened(struct queue *q, struct opened *o)
{
	struct object folder = {.key = "u/"};
	struct listing listing = {.entry = opened, .uploads = true};
	int rc = 0;

	o->count = 0;
	do {
		struct request req = {.op = REQ_LIST,
				      .object = &folder,
				      .length = OPEN_PAGE,
				      .listing = &listing,
				      .user = o};

		rc = queue_do(q, &req);
	} while (rc == 0 && listing.more);
	return rc;
}

/* Uploads that nobody will end, three of each object and one beside the folder, are found page by page, and dropped by
 * their ids, while the others stay. */
static void test_open_uploads(void)
{
	static struct opened o;
	struct shared_version beside = {0}, version;
	struct object left = {0};
	struct request req = {.op = REQ_BEGIN, .object = &left, .length = 20 * MIB};
	struct queue q, mine;
	struct rig r;

	begin(&r, &q, 2);
	if (!store_can(&r.store, BACKEND_UPLOADS)) {
		CU_ASSERT_EQUAL(list_opened(&q, &o), -EOPNOTSUPP);
		end(&r, &q);
		return;
	}
	CU_ASSERT_EQUAL_FATAL(queue_open(&mine, &r.store, OPEN_UPLOADS + 1, &r.err), 0);
	for (int i = 0; i <= OPEN_UPLOADS; i++) {
		struct object one = {0};

		snprintf(one.key, sizeof(one.key),
			 i == OPEN_UPLOADS ? "v" : "u/s/a b+%%&\xc3\xa9 %d", i / 3);
		version = (struct shared_version){0};
		req.object = &one;
		req.begin.part = 5 * MIB;
		req.begin.shared = i == OPEN_UPLOADS ? &beside : &version;
		CU_ASSERT_EQUAL(queue_do(&mine, &req), 0);
	}
	queue_close(&mine);
	CU_ASSERT_EQUAL(list_opened(&q, &o), 0);
	CU_ASSERT_EQUAL(o.count, OPEN_UPLOADS);
	for (uint32_t i = 0; i < o.count; i++) {
		char key[64];

		snprintf(key, sizeof(key), "u/s/a b+%%&\xc3\xa9 %u", i / 3);
		CU_ASSERT_STRING_EQUAL(o.key[i], key);
		strcpy(left.key, o.key[i]);
		req = (struct request){
			.op = REQ_ABORT, .object = &left, .begin.shared = &o.version[i]};
		if (i)
			CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
		/* What is gone already is as well. */
		if (i == 1)
			CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	}
	version = o.version[0];
	CU_ASSERT_EQUAL(list_opened(&q, &o), 0);
	CU_ASSERT_EQUAL(o.count, 1);
	CU_ASSERT_STRING_EQUAL(o.version[0].id, version.id);
	strcpy(left.key, o.key[0]);
	req = (struct request){.op = REQ_ABORT, .object = &left, .begin.shared = &version};
	CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	CU_ASSERT_EQUAL(list_opened(&q, &o), 0);
	CU_ASSERT_EQUAL(o.count, 0);
	strcpy(left.key, "v");
	req = (struct request){.op = REQ_ABORT, .object = &left, .begin.shared = &beside};
	CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &left, REQ_ABORT, 0, 0, NULL, NULL), -EBADF);
	end(&r, &q);
}

enum { NUMBERED = 130, PARTS_FOLDERS = 4, PARTS_PAGE = 10 };

struct numbers {
	unsigned seen[NUMBERED], folders, others;
};

static int numbered(struct request *req, const char *name, uint64_t size)
{
	struct numbers *n = req->user;
	unsigned number;

	if (name[strlen(name) - 1] == '/') {
		CU_ASSERT_EQUAL(size, LIST_SIZE_UNKNOWN);
		n->folders++;
	} else if (sscanf(name, "img_%u.npz", &number) == 1 && number < NUMBERED) {
		CU_ASSERT_EQUAL(size, 1);
		n->seen[number]++;
	} else {
		n->others++;
	}
	return 0;
}

/* Lists one part of the folder, page by page, and returns the number of its entries. */
static unsigned list_part(struct queue *q, const char *folder, uint32_t part, uint32_t parts,
			  struct numbers *n)
{
	struct listing listing = {.entry = numbered, .part = part, .parts = parts};
	struct object o = {0};
	unsigned entries = 0;

	strcpy(o.key, folder);
	do {
		struct request req = {.op = REQ_LIST,
				      .object = &o,
				      .length = PARTS_PAGE,
				      .listing = &listing,
				      .user = n};

		CU_ASSERT_EQUAL_FATAL(queue_do(q, &req), 0);
		entries += (unsigned)req.answer.done_bytes;
	} while (listing.more);
	return entries;
}

/* Together the parts contain each entry once, whatever the page size, and numbered names are
 * divided evenly. */
static void test_list_parts(void)
{
	static const uint32_t all_parts[] = {1, 2, 3, 8, 40};
	struct object o = {0};
	struct queue q;
	struct rig r;
	bool can;

	begin(&r, &q, 2);
	can = store_can(&r.store, BACKEND_LIST_PARTS);
	for (int i = 0; can && i < NUMBERED + PARTS_FOLDERS; i++) {
		snprintf(o.key, sizeof(o.key), i < NUMBERED ? "n/img_%05d.npz" : "n/img_%05d/one",
			 i < NUMBERED ? i : (i - NUMBERED) * 7);
		CU_ASSERT_EQUAL(rig_put(&q, o.key, "1", 1), 0);
	}
	for (size_t p = 0; can && p < sizeof(all_parts) / sizeof(all_parts[0]); p++) {
		struct numbers n = {0};
		unsigned most = 0, all = 0;

		for (uint32_t part = 0; part < all_parts[p]; part++) {
			unsigned entries = list_part(&q, "n/", part, all_parts[p], &n);

			all += entries;
			most = entries > most ? entries : most;
		}
		CU_ASSERT_EQUAL(all, NUMBERED + PARTS_FOLDERS);
		CU_ASSERT_EQUAL(n.folders, PARTS_FOLDERS);
		CU_ASSERT_EQUAL(n.others, 0);
		for (int i = 0; i < NUMBERED; i++)
			CU_ASSERT_EQUAL(n.seen[i], 1);
		if (all_parts[p] == 2 || all_parts[p] == 8)
			CU_ASSERT(most <= 2 * (NUMBERED + PARTS_FOLDERS) / all_parts[p]);
	}
	/* Each part of an empty folder is empty. */
	for (uint32_t part = 0; can && part < 3; part++)
		CU_ASSERT_EQUAL(list_part(&q, "nothing here/", part, 3, NULL), 0);
	for (int i = 0; can && i < NUMBERED + PARTS_FOLDERS; i++) {
		snprintf(o.key, sizeof(o.key), i < NUMBERED ? "n/img_%05d.npz" : "n/img_%05d/one",
			 i < NUMBERED ? i : (i - NUMBERED) * 7);
		rig_do(&q, &o, REQ_DELETE, 0, 0, NULL, NULL);
	}
	if (!can) {
		struct listing listing = {.entry = numbered, .part = 0, .parts = 2};
		struct request req = {.op = REQ_LIST, .object = &o, .listing = &listing};

		CU_ASSERT_EQUAL(queue_do(&q, &req), -ENOTSUP);
	}
	end(&r, &q);
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

	begin(&r, &q, 1);
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
	end(&r, &q);
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

	begin(&r, &q, 2);
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
	end(&r, &q);
}

/* All requests use one connection. */
static void test_connections_are_kept(void)
{
	uint64_t opens = strstr(store_json(), "head_on_open") ? 20 : 0;
	struct queue q;
	struct rig r;
	uint8_t byte;

	begin(&r, &q, 4);
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
	end(&r, &q);
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
		{"list", test_list},
		{"list parts", test_list_parts},
		{"open uploads", test_open_uploads},
		{"publishing", test_publishing},
		{"delete of several", test_delete_many},
		{"connections are kept", test_connections_are_kept},
		CU_TEST_INFO_NULL,
	};

	if (!store_json()) {
		fprintf(stderr, "HAUL_TEST_STORE is not set: see tests/servers/run.py\n");
		return 1;
	}
	return unit_main("objects", tests);
}
