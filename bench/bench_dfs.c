/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of daos:// per read, above the test library with the interface of libdfs (tests/libs/dfs):
 * that library called directly, one read at a time and 64 at once, and the queue of haul with 64 at
 * once. Times are those of this thread's processor. Each figure is the median of 7 rounds. No DAOS
 * is asked, so the figures say what haul costs and nothing of DAOS. */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "backends/dfs/library.h"
#include "backends/queue/queue.h"
#include "core/arena.h"

enum { ROUNDS = 7, READS = 200000, WINDOW = 64, READ_BYTES = 4096, OBJECT_BYTES = 1 << 20 };

static char buffers[WINDOW][READ_BYTES];

struct bench {
	struct dfs_library library;
	struct dfs_mount *mount;
	struct dfs_object *object;
	struct queue queue;
	struct object o;
};

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t place_of(uint32_t i)
{
	return (uint64_t)i * READ_BYTES % OBJECT_BYTES;
}

static void one_at_a_time(struct bench *b)
{
	struct dfs_iov iov = {buffers[0], READ_BYTES, READ_BYTES};
	struct dfs_scatter to = {.count = 1, .iovs = &iov};
	uint64_t got;

	for (uint32_t i = 0; i < READS; i++)
		b->library.dfs_read(b->mount, b->object, &to, place_of(i), &got, NULL);
}

struct slot {
	struct dfs_event event;
	struct dfs_iov iov;
	struct dfs_scatter to;
	uint64_t got;
};

static void many_at_once(struct bench *b)
{
	static struct slot slots[WINDOW];
	struct dfs_event *done[WINDOW];
	struct dfs_handle queue;
	uint32_t sent = 0, ended = 0;

	b->library.daos_eq_create(&queue);
	for (uint32_t i = 0; i < WINDOW; i++) {
		slots[i].iov = (struct dfs_iov){buffers[i], READ_BYTES, READ_BYTES};
		slots[i].to = (struct dfs_scatter){.count = 1, .iovs = &slots[i].iov};
		done[i] = &slots[i].event;
	}
	for (int n = WINDOW; ended < READS;
	     n = b->library.daos_eq_poll(queue, 1, 1000, WINDOW, done)) {
		ended += sent ? (uint32_t)n : 0;
		for (int i = 0; i < n && sent < READS; i++) {
			struct slot *s = (struct slot *)done[i];

			b->library.daos_event_init(&s->event, queue, NULL);
			b->library.dfs_read(b->mount, b->object, &s->to, place_of(sent++), &s->got,
					    &s->event);
		}
		if (ended == READS)
			break;
	}
	b->library.daos_eq_destroy(queue, DFS_DESTROY_FORCE);
}

static void by_haul(struct bench *b)
{
	static struct request requests[WINDOW];
	struct request *done[WINDOW];
	uint32_t sent = 0, ended = 0, n = WINDOW;

	for (uint32_t i = 0; i < WINDOW; i++)
		done[i] = &requests[i];
	while (ended < READS) {
		uint32_t from = sent;

		for (uint32_t i = 0; i < n && sent < READS; i++) {
			uint32_t at = (uint32_t)(done[i] - requests);

			requests[at] = (struct request){.op = REQ_READ,
							.object = &b->o,
							.offset = place_of(sent++),
							.length = READ_BYTES,
							.data = buffers[at]};
		}
		queue_submit(&b->queue, done, sent - from);
		n = queue_reap(&b->queue, done, 1, WINDOW, UINT64_MAX);
		ended += n;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_ns(struct bench *b, void (*reads)(struct bench *b))
{
	double ns[ROUNDS];

	reads(b);
	for (int i = 0; i < ROUNDS; i++) {
		double from = cpu_ns();

		reads(b);
		ns[i] = (cpu_ns() - from) / READS;
	}
	qsort(ns, ROUNDS, sizeof(ns[0]), by_value);
	return ns[ROUNDS / 2];
}

static int make_object(struct bench *b)
{
	static char bytes[OBJECT_BYTES];
	struct dfs_iov iov = {bytes, OBJECT_BYTES, OBJECT_BYTES};
	struct dfs_scatter from = {.count = 1, .iovs = &iov};
	int rc = b->library.dfs_open(b->mount, NULL, "o", S_IFREG | 0600, O_CREAT | O_RDWR, 0, 0,
				     NULL, &b->object);

	return rc ? rc : b->library.dfs_write(b->mount, b->object, &from, 0, NULL);
}

static int open_queue(struct bench *b, struct store *store, struct clock *clock, struct err *err)
{
	static struct arena arena;
	static struct log log;
	static struct job_store described = {.name = "d"};
	static const struct rank_place place = {.ranks = 1, .nodes = 1, .local_ranks = 1};
	struct request open = {.op = REQ_OPEN, .object = &b->o};
	cJSON *json = cJSON_CreateObject();
	int rc;

	cJSON_AddStringToObject(json, "uri", "daos://pool/cont");
	cJSON_AddStringToObject(json, "library", TEST_DFS);
	log_init(&log, -1, LOG_ERROR, 0, 1);
	described.section = &backend_find("daos")->section;
	described.options = arena_alloc(&arena, described.section->size);
	rc = options_parse(described.section->tables, described.options, json, "/d", &arena, err);
	cJSON_Delete(json);
	if (rc == 0)
		rc = store_open(
			store, &described,
			&(struct store_opener){.place = &place, .clock = clock, .log = &log}, err);
	if (rc == 0)
		rc = queue_open(&b->queue, store, WINDOW, err);
	strcpy(b->o.key, "o");
	return rc < 0 ? rc : queue_do(&b->queue, &open);
}

int main(void)
{
	char folder[] = "/tmp/bench_dfs_XXXXXX", path[64];
	struct err err = {0};
	static struct bench b;
	struct store store;
	struct clock clock;
	double single, many, haul;

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/pool", folder);
	mkdir(path, 0700);
	strcat(path, "/cont");
	mkdir(path, 0700);
	setenv("HAUL_DFS_ROOT", folder, 1);
	clock_init(&clock);
	if (dfs_library_open(&b.library, TEST_DFS, &err) < 0 || b.library.dfs_init() ||
	    b.library.dfs_connect("pool", NULL, "cont", O_RDWR, NULL, &b.mount) ||
	    make_object(&b) || open_queue(&b, &store, &clock, &err) < 0) {
		printf("bench_dfs: %s\n", err.text);
		return 1;
	}
	single = median_ns(&b, one_at_a_time);
	many = median_ns(&b, many_at_once);
	haul = median_ns(&b, by_haul);
	printf("ns of processor per read of %d bytes\n"
	       "%8.0f  the library, one at a time\n"
	       "%8.0f  the library, %d at once\n"
	       "%8.0f  haul, %d at once: %.0f above the library\n",
	       READ_BYTES, single, many, WINDOW, haul, WINDOW, haul - many);
	snprintf(path, sizeof(path), "rm -rf %s", folder);
	return system(path) != 0;
}
