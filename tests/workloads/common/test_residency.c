/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of page cache sampling: the samples are drawn evenly over the bytes of a file in the
 * working directory. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/backends/rig.h"
#include "tests/unit.h"
#include "workloads/common/cold.h"

enum { FILE_BYTES = 8 << 20 };

static int make_file(char *path)
{
	char *bytes = calloc(1, FILE_BYTES);
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0 && bytes);
	CU_ASSERT_EQUAL_FATAL(write(fd, bytes, FILE_BYTES), FILE_BYTES);
	free(bytes);
	return fd;
}

static void sampled(void)
{
	char path[] = "./test_residency.XXXXXX";
	struct object o = {0};
	struct residency r;
	struct queue q;
	struct rig rig;
	int fd = make_file(path);

	rig_init(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_open(&rig, "{\"uri\": \"file://.\"}"), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &rig.store, 1, NULL), 0);
	strcpy(o.key, path + 2);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);

	/* The file was just written, so all of it is in the cache. One sample every 64 KiB on
	 * average. */
	residency_init(&r, 64 << 10);
	for (uint64_t at = 0; at < FILE_BYTES; at += 1 << 20)
		residency_look(&r, &rig.store, &o, at, 1 << 20);
	CU_ASSERT_TRUE(r.looks > 110 && r.looks < 150);
	CU_ASSERT_TRUE(r.sampled_bytes > (r.looks - 1) * RESIDENCY_LOOK_BYTES);
	CU_ASSERT_EQUAL(r.resident_bytes, r.sampled_bytes);

	/* Small requests have their share of samples, and the first request always has one. */
	residency_init(&r, 64 << 10);
	for (uint64_t at = 0; at < FILE_BYTES; at += 1000)
		residency_look(&r, &rig.store, &o, at, 1000);
	CU_ASSERT_TRUE(r.looks > 110 && r.looks < 150);
	residency_init(&r, 1 << 20);
	residency_look(&r, &rig.store, &o, 0, 10);
	CU_ASSERT_EQUAL(r.sampled_bytes, 10);

	if (rig.store.cache == CACHE_PAGES) {
		/* The kernel may hold a page for a moment, hence the tries. */
		for (int i = 0; i < 50 && store_evict(&rig.store, &o, 0, 0) != 0; i++)
			;
		residency_init(&r, 64 << 10);
		residency_look(&r, &rig.store, &o, 0, FILE_BYTES);
		CU_ASSERT_TRUE(r.sampled_bytes > 100 * RESIDENCY_LOOK_BYTES);
		CU_ASSERT_EQUAL(r.resident_bytes, 0);
	}
	residency_init(&r, 0);
	residency_look(&r, &rig.store, &o, 0, FILE_BYTES);
	CU_ASSERT_EQUAL(r.looks, 0);

	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	unlink(path);
	close(fd);
	queue_close(&q);
	rig_close(&rig);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"sampled", sampled},
		CU_TEST_INFO_NULL,
	};

	return unit_main("residency", tests);
}
