/* SPDX-License-Identifier: Apache-2.0 */
/* Listings of an object store over HTTP: pages, parts, and uploads that nobody will end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/backends/http/objects.h"
#include "tests/unit.h"

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

void objects_test_list(void)
{
	enum { OBJECTS = 25, PAGE = 10 };
	struct object o = {0};
	struct listing listing = {.entry = entry};
	struct seen seen = {0};
	struct request req = {.user = &seen};
	uint32_t pages = 0;
	struct queue q;
	struct rig r;

	objects_begin(&r, &q, 2);
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
	objects_end(&r, &q);
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

/* An object whose length was unknown, and into which nothing was written, is empty and leaves no
 * upload. */
static void check_empty_object(struct queue *q)
{
	static struct opened o;
	struct object empty = {.key = "u/empty"};
	struct request req = {.op = REQ_BEGIN, .object = &empty, .begin.part = 5 * MIB};
	uint64_t stored = 1;

	CU_ASSERT_EQUAL(queue_do(q, &req), 0);
	CU_ASSERT_EQUAL(rig_do(q, &empty, REQ_COMMIT, 0, 0, NULL, &stored), 0);
	CU_ASSERT_EQUAL(stored, 0);
	CU_ASSERT_EQUAL(list_opened(q, &o), 0);
	CU_ASSERT_EQUAL(o.count, 0);
	CU_ASSERT_EQUAL(rig_do(q, &empty, REQ_DELETE, 0, 0, NULL, NULL), 0);
}

/* Uploads that nobody will end, three of each object and one beside the folder, are found page by
 * page, and dropped by their ids, while the others stay. */
void objects_test_open_uploads(void)
{
	static struct opened o;
	struct shared_version beside = {0}, version;
	struct object left = {0};
	struct request req = {.op = REQ_BEGIN, .object = &left, .length = 20 * MIB};
	struct queue q, mine;
	struct rig r;

	objects_begin(&r, &q, 2);
	if (!store_can(&r.store, BACKEND_UPLOADS)) {
		CU_ASSERT_EQUAL(list_opened(&q, &o), -EOPNOTSUPP);
		objects_end(&r, &q);
		return;
	}
	check_empty_object(&q);
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
	objects_end(&r, &q);
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
void objects_test_list_parts(void)
{
	static const uint32_t all_parts[] = {1, 2, 3, 8, 40};
	struct object o = {0};
	struct queue q;
	struct rig r;
	bool can;

	objects_begin(&r, &q, 2);
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
	objects_end(&r, &q);
}
