/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of names in a store: renaming, listing by pages, writing in place. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/backends/rig.h"
#include "tests/unit.h"

enum { FILES = 57, PAGE = 10 };

static char folder[64], json[256];

static void names_begin(struct rig *r, struct queue *q, const char *scheme)
{
	strcpy(folder, "/tmp/haul-names-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	snprintf(json, sizeof(json), "{\"uri\": \"%s://%s\"}", scheme, folder);
	rig_init(r);
	CU_ASSERT_EQUAL_FATAL(rig_open(r, json), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(q, &r->store, 1, NULL), 0);
}

static void names_end(struct rig *r, struct queue *q)
{
	queue_close(q);
	rig_close(r);
	rmdir(folder);
}

static int delete (struct queue *q, const char *key)
{
	struct object o = {0};

	snprintf(o.key, sizeof(o.key), "%s", key);
	return rig_do(q, &o, REQ_DELETE, 0, 0, NULL, NULL);
}

static int rename_to(struct queue *q, const char *from, const char *to)
{
	struct object o = {0};
	struct request req = {.op = REQ_RENAME, .object = &o, .target = to};

	snprintf(o.key, sizeof(o.key), "%s", from);
	return queue_do(q, &req);
}

static void test_rename(void)
{
	static const char *const schemes[] = {"file", "mem"};
	char back[4] = "";
	struct queue q;
	struct rig r;

	for (unsigned i = 0; i < 2; i++) {
		names_begin(&r, &q, schemes[i]);
		CU_ASSERT_TRUE(store_can(&r.store, BACKEND_RENAME));
		CU_ASSERT_EQUAL(rename_to(&q, "a", "b"), -ENOENT);
		CU_ASSERT_EQUAL(rig_put(&q, "a", "one", 4), 0);
		CU_ASSERT_EQUAL(rig_put(&q, "b", "two", 4), 0);
		CU_ASSERT_EQUAL(rename_to(&q, "a", "b"), 0);
		CU_ASSERT_EQUAL(rig_get(&q, "b", back, 4), 0);
		CU_ASSERT_STRING_EQUAL(back, "one");
		CU_ASSERT_EQUAL(rename_to(&q, "b", "b"), 0);
		CU_ASSERT_EQUAL(rename_to(&q, "b", "c"), 0);
		CU_ASSERT_EQUAL(rename_to(&q, "b", "c"), -ENOENT);
		CU_ASSERT_EQUAL(delete (&q, "c"), 0);
		CU_ASSERT_EQUAL(delete (&q, "a"), -ENOENT);
		names_end(&r, &q);
	}
}

struct seen {
	unsigned times[FILES], folders, others;
};

static int note(struct request *req, const char *name, uint64_t size)
{
	struct seen *s = req->user;
	unsigned i;

	(void)size;
	if (sscanf(name, "n%u", &i) == 1 && i < FILES)
		s->times[i]++;
	else if (strcmp(name, "deep/") == 0)
		s->folders++;
	else
		s->others++;
	return 0;
}

static int refuse(struct request *req, const char *name, uint64_t size)
{
	(void)req, (void)name, (void)size;
	return -EILSEQ;
}

static uint64_t list_pages(struct queue *q, const char *key, uint64_t page, struct seen *s,
			   unsigned *pages)
{
	struct listing l = {.entry = note};
	struct object o = {0};
	uint64_t entries = 0;

	snprintf(o.key, sizeof(o.key), "%s", key);
	memset(s, 0, sizeof(*s));
	for (*pages = 0; *pages == 0 || l.more; ++*pages) {
		struct request req = {
			.op = REQ_LIST, .object = &o, .length = page, .listing = &l, .user = s};

		CU_ASSERT_EQUAL_FATAL(queue_do(q, &req), 0);
		CU_ASSERT_TRUE(req.answer.done_bytes <= (page ? page : LIST_PAGE_ENTRIES));
		entries += req.answer.done_bytes;
	}
	return entries;
}

/* Callers list one part each; together they get each entry once. */
static void test_list_in_parts(void)
{
	static const char *const schemes[] = {"file", "mem"};
	static const uint32_t parts[] = {2, 3, 64};
	struct object root = {.key = ""};
	struct queue q;
	struct rig r;
	char key[32];

	for (unsigned i = 0; i < 2; i++) {
		names_begin(&r, &q, schemes[i]);
		CU_ASSERT_TRUE(store_can(&r.store, BACKEND_LIST_PARTS));
		for (unsigned n = 0; n < FILES; n++) {
			snprintf(key, sizeof(key), "n%u", n);
			CU_ASSERT_EQUAL(rig_put(&q, key, "x", 1), 0);
		}
		for (unsigned k = 0; k < 3; k++) {
			uint64_t entries = 0, most = 0;
			struct seen s = {0};

			for (uint32_t part = 0; part < parts[k]; part++) {
				struct listing l = {.entry = note, .part = part, .parts = parts[k]};
				uint64_t before = entries;

				do {
					struct request req = {.op = REQ_LIST,
							      .object = &root,
							      .length = PAGE,
							      .listing = &l,
							      .user = &s};

					CU_ASSERT_EQUAL_FATAL(queue_do(&q, &req), 0);
					CU_ASSERT_TRUE(req.answer.done_bytes <= PAGE);
					entries += req.answer.done_bytes;
				} while (l.more);
				if (entries - before > most)
					most = entries - before;
			}
			CU_ASSERT_EQUAL(entries, FILES);
			CU_ASSERT_EQUAL(s.folders + s.others, 0);
			for (unsigned n = 0; n < FILES; n++)
				CU_ASSERT_EQUAL(s.times[n], 1);
			/* No part has nearly all entries. */
			CU_ASSERT_TRUE(most < FILES * 3 / 4);
		}
		for (unsigned n = 0; n < FILES; n++) {
			snprintf(key, sizeof(key), "n%u", n);
			CU_ASSERT_EQUAL(delete (&q, key), 0);
		}
		names_end(&r, &q);
	}
}

static void test_list(void)
{
	static const char *const schemes[] = {"file", "mem"};
	struct listing stubborn;
	struct object root = {.key = ""};
	struct request req = {.op = REQ_LIST, .object = &root, .listing = &stubborn};
	unsigned pages;
	struct seen s;
	struct queue q;
	struct rig r;
	char key[32];

	for (unsigned i = 0; i < 2; i++) {
		unsigned folders = i == 0; /* mem:// has none */

		names_begin(&r, &q, schemes[i]);
		for (unsigned n = 0; n < FILES; n++) {
			snprintf(key, sizeof(key), "n%u", n);
			CU_ASSERT_EQUAL(rig_put(&q, key, "x", 1), 0);
		}
		CU_ASSERT_EQUAL(rig_put(&q, "deep/n3", "x", 1), 0);
		CU_ASSERT_EQUAL(list_pages(&q, "", PAGE, &s, &pages), FILES + folders);
		CU_ASSERT_TRUE(pages >= FILES / PAGE + 1);
		for (unsigned n = 0; n < FILES; n++)
			CU_ASSERT_EQUAL(s.times[n], 1);
		CU_ASSERT_EQUAL(s.folders, folders);
		CU_ASSERT_EQUAL(s.others, 0);
		CU_ASSERT_EQUAL(list_pages(&q, "", 0, &s, &pages), FILES + folders);
		CU_ASSERT_EQUAL(pages, 1);
		CU_ASSERT_EQUAL(list_pages(&q, "deep/", 1, &s, &pages), 1);
		CU_ASSERT_EQUAL(s.times[3], 1);
		stubborn = (struct listing){.entry = refuse};
		CU_ASSERT_EQUAL(queue_do(&q, &req), -EILSEQ);
		for (unsigned n = 0; n < FILES; n++) {
			snprintf(key, sizeof(key), "n%u", n);
			delete (&q, key);
		}
		delete (&q, "deep/n3");
		delete (&q, "deep/");
		names_end(&r, &q);
	}
}

static void test_update(void)
{
	struct object a = {.key = "sub/x"}, b = {.key = "sub/x"};
	char back[9] = "";
	uint64_t bytes;
	struct queue q;
	struct rig r;

	names_begin(&r, &q, "file");
	CU_ASSERT_TRUE(store_can(&r.store, BACKEND_UPDATE));
	CU_ASSERT_EQUAL(rig_do(&q, &a, REQ_UPDATE, 0, 8, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &b, REQ_UPDATE, 0, 8, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &b, REQ_WRITE, 4, 4, "5678", NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &a, REQ_WRITE, 0, 4, "1234", NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &a, REQ_READ, 0, 8, back, NULL), 0);
	CU_ASSERT_STRING_EQUAL(back, "12345678");
	CU_ASSERT_EQUAL(rig_do(&q, &a, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &b, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &a, REQ_STAT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, 8);
	delete (&q, "sub/x");
	delete (&q, "sub/");
	names_end(&r, &q);

	names_begin(&r, &q, "mem");
	CU_ASSERT_FALSE(store_can(&r.store, BACKEND_UPDATE));
	CU_ASSERT_EQUAL(rig_do(&q, &a, REQ_UPDATE, 0, 8, NULL, NULL), -EOPNOTSUPP);
	names_end(&r, &q);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"rename", test_rename},
		{"list by pages", test_list},
		{"list in parts", test_list_in_parts},
		{"write in place", test_update},
		CU_TEST_INFO_NULL,
	};

	return unit_main("names", tests);
}
