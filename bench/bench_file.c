/* SPDX-License-Identifier: Apache-2.0 */
/* haul's queue on file://, for run_file.sh, which compares it with fio on the same file.
 *
 *	bench_file FOLDER ENGINE DEPTH cached|direct WORK BLOCK_BYTES TOTAL_BYTES
 *
 * WORK is one of sequential, random, write and unique. The first two read FOLDER/data as a reader
 * of a training does: into buffers of a pool that the queue knows, with recorded latencies,
 * receiving whatever has arrived. The other two write FOLDER/out: write repeats the same bytes,
 * unique writes bytes that exist nowhere else. Room is reserved before the first write, and the
 * file is synced at the end; the time is from the first write to the published file. Prints GB/s
 * and CPU seconds per GB of that loop alone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cjson/cJSON.h>

#include "backends/queue/queue.h"
#include "core/arena.h"
#include "core/buffers.h"
#include "core/content/fill.h"
#include "core/content/random.h"

struct work {
	const char *folder, *engine;
	uint32_t depth;
	bool direct, random, write, unique;
	uint64_t block, total;
};

static double cpu_s(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/* The offset of block i: in order, starting again after the last block, or drawn. */
static uint64_t offset_of(const struct work *w, const struct object *o, uint64_t i)
{
	uint64_t blocks = o->size / w->block;

	return (w->random ? random_at(1, i, 0) % blocks : i % blocks) * w->block;
}

static void prepare(const struct work *w, struct object *o, struct request *req, uint64_t i)
{
	req->op = w->write ? REQ_WRITE : REQ_READ;
	req->object = o;
	req->length = w->block;
	req->offset = w->write ? i * w->block : offset_of(w, o, i);
	if (w->unique)
		fill(1, req->offset, req->data, req->length);
}

static int loop(const struct work *w, struct queue *q, struct object *o, struct request *reqs,
		struct request **list, struct request **done)
{
	uint64_t count = w->total / w->block, sent = 0, got = 0;
	uint32_t n = w->depth < count ? w->depth : (uint32_t)count;

	for (uint32_t i = 0; i < n; i++)
		list[i] = &reqs[i];
	while (got < count) {
		for (uint32_t i = 0; i < n; i++)
			prepare(w, o, list[i], sent++);
		if (n)
			queue_submit(q, list, n);
		n = queue_reap(q, done, 1, w->depth, UINT64_MAX);
		for (uint32_t i = 0; i < n; i++) {
			if (done[i]->answer.status)
				return done[i]->answer.status;
			list[i] = done[i];
		}
		got += n;
		if (n > count - sent)
			n = (uint32_t)(count - sent);
	}
	return 0;
}

static int one(struct queue *q, struct object *o, enum request_op op, uint64_t length)
{
	struct request req = {.op = op, .object = o, .length = length};

	return queue_do(q, &req);
}

/* Times the loop; for writes, also the commit that makes a file of them. */
static int timed(const struct work *w, struct queue *q, struct object *o, struct request *reqs,
		 struct request **lists)
{
	double cpu = cpu_s(), seconds, gb;
	uint64_t start = clock_kernel_ns();
	int rc = loop(w, q, o, reqs, lists, lists + w->depth);

	if (rc == 0 && w->write)
		rc = one(q, o, REQ_COMMIT, 0);
	seconds = (double)(clock_kernel_ns() - start) / 1e9;
	gb = (double)q->op[w->write ? REQ_WRITE : REQ_READ].bytes / 1e9;
	if (rc == 0)
		printf("%.4f %.5f\n", gb / seconds, (cpu_s() - cpu) / gb);
	return rc;
}

static int measure(const struct work *w, struct queue *q, struct buffers *buffers, struct err *err)
{
	struct object o = {0};
	struct request *reqs = calloc(w->depth, sizeof(*reqs));
	struct request **lists = calloc(2 * w->depth, sizeof(struct request *));
	int rc = reqs && lists ? 0 : -ENOMEM;

	strcpy(o.key, w->write ? "out" : "data");
	if (rc == 0)
		rc = one(q, &o, w->write ? REQ_BEGIN : REQ_OPEN, w->total);
	for (uint32_t i = 0; rc == 0 && i < w->depth; i++) {
		reqs[i].data = buffers_take(buffers);
		fill(2, 0, reqs[i].data, w->block);
	}
	if (rc == 0 && !w->write && o.size < w->block)
		rc = -ENODATA;
	if (rc == 0)
		rc = timed(w, q, &o, reqs, lists);
	if (rc == 0)
		rc = one(q, &o, w->write ? REQ_DELETE : REQ_CLOSE, 0);
	free(lists);
	free(reqs);
	return rc < 0 ? err_set(err, rc, "%s/%s: %s", w->folder, o.key, request_status_text(rc))
		      : 0;
}

static int describe(const struct work *w, struct job_store *described, struct arena *arena,
		    struct err *err)
{
	cJSON *object = cJSON_CreateObject();
	char uri[1024];
	int rc;

	snprintf(uri, sizeof(uri), "file://%s", w->folder);
	cJSON_AddStringToObject(object, "uri", uri);
	cJSON_AddStringToObject(object, "engine", w->engine);
	cJSON_AddBoolToObject(object, "direct", w->direct);
	if (w->write) {
		cJSON_AddStringToObject(object, "fsync", "file");
		cJSON_AddBoolToObject(object, "preallocate", true);
	}
	*described = (struct job_store){.name = "bench", .section = &backend_find("file")->section};
	described->options = arena_alloc(arena, described->section->size);
	rc = options_parse(described->section->tables, described->options, object, "", arena, err);
	cJSON_Delete(object);
	return rc;
}

static int run(const struct work *w, struct err *err)
{
	struct rank_place place = {.ranks = 1, .nodes = 1, .local_ranks = 1};
	struct buffers buffers = {0};
	struct arena arena = {0};
	struct job_store described;
	struct queue q = {0};
	struct store store;
	struct clock clock;
	struct log log;
	int rc;

	clock_init(&clock);
	clock_learn_counter(&clock, CLOCK_SOURCE);
	log_init(&log, 2, LOG_INFO, 0, 1);
	rc = describe(w, &described, &arena, err);
	if (rc == 0)
		rc = store_open(
			&store, &described,
			&(struct store_opener){.place = &place, .clock = &clock, .log = &log}, err);
	if (rc < 0)
		goto out_arena;
	rc = queue_open(&q, &store, w->depth, err);
	if (rc == 0)
		rc = buffers_init(&buffers, w->depth, queue_buffer_bytes(&store, w->block), err);
	if (rc == 0) {
		queue_memory(&q, buffers.base, buffers.mapped_bytes);
		rc = measure(w, &q, &buffers, err);
	}
	queue_close(&q);
	buffers_free(&buffers);
	store_close(&store);
out_arena:
	arena_free(&arena);
	return rc;
}

int main(int argc, char **argv)
{
	struct err err = {0};
	struct work w;

	if (argc != 8) {
		fprintf(stderr, "usage: bench_file FOLDER ENGINE DEPTH cached|direct "
				"sequential|random|write|unique BLOCK_BYTES TOTAL_BYTES\n");
		return 2;
	}
	w = (struct work){
		.folder = argv[1],
		.engine = argv[2],
		.depth = (uint32_t)strtoul(argv[3], NULL, 10),
		.direct = strcmp(argv[4], "direct") == 0,
		.random = strcmp(argv[5], "random") == 0,
		.write = strcmp(argv[5], "write") == 0 || strcmp(argv[5], "unique") == 0,
		.unique = strcmp(argv[5], "unique") == 0,
		.block = strtoull(argv[6], NULL, 10),
		.total = strtoull(argv[7], NULL, 10),
	};
	if (!w.depth || !w.block || run(&w, &err) < 0) {
		fprintf(stderr, "bench_file: %s\n", err.text[0] ? err.text : "wrong arguments");
		return 1;
	}
	return 0;
}
