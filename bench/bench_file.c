/* haul's queue on file://, for run_file.sh, which sets it beside fio on the same file.
 *
 *	bench_file FOLDER ENGINE DEPTH cached|direct sequential|random BLOCK_BYTES TOTAL_BYTES
 *
 * Reads FOLDER/data as a reader does: buffers from a pool, made known to the queue, latencies
 * recorded. A deep queue is received in quarters, so that a wake-up pays for several. Prints GB/s and
 * CPU seconds per GB of the loop alone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cjson/cJSON.h>

#include "backends/queue.h"
#include "core/arena.h"
#include "core/buffers.h"
#include "core/random.h"

struct work {
	const char *folder, *engine;
	uint32_t depth;
	bool direct, random;
	uint64_t block, total;
};

static double cpu_s(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/* The blocks of the object in order, again from its start at its end, or drawn. */
static uint64_t offset_of(const struct work *w, const struct object *o, uint64_t i)
{
	uint64_t blocks = o->size / w->block;

	return (w->random ? random_at(1, i, 0) % blocks : i % blocks) * w->block;
}

static int loop(const struct work *w, struct queue *q, struct object *o, struct io *ios,
		struct io **list, struct io **done)
{
	uint64_t count = w->total / w->block, sent = 0, got = 0;
	uint32_t n = w->depth < count ? w->depth : (uint32_t)count;
	uint32_t min = w->depth >= 16 ? w->depth / 4 : 1;

	for (uint32_t i = 0; i < n; i++)
		list[i] = &ios[i];
	while (got < count) {
		for (uint32_t i = 0; i < n; i++) {
			list[i]->op = IO_READ;
			list[i]->object = o;
			list[i]->length = w->block;
			list[i]->offset = offset_of(w, o, sent++);
		}
		if (n)
			queue_submit(q, list, n);
		n = queue_reap(q, done, min, w->depth, UINT64_MAX);
		for (uint32_t i = 0; i < n; i++) {
			if (done[i]->status)
				return done[i]->status;
			list[i] = done[i];
		}
		got += n;
		if (n > count - sent)
			n = (uint32_t)(count - sent);
	}
	return 0;
}

static int measure(const struct work *w, struct queue *q, struct buffers *buffers, struct err *err)
{
	struct object o = {.key = "data"};
	struct io *ios = calloc(w->depth, sizeof(*ios)), io = {.op = IO_OPEN, .object = &o};
	struct io **lists = calloc(2 * w->depth, sizeof(struct io *));
	double cpu, seconds, gb;
	uint64_t start;
	int rc = ios && lists ? queue_do(q, &io) : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && i < w->depth; i++)
		ios[i].data = buffers_take(buffers);
	if (rc == 0 && o.size < w->block)
		rc = -ENODATA;
	if (rc == 0) {
		cpu = cpu_s();
		start = clock_kernel_ns();
		rc = loop(w, q, &o, ios, lists, lists + w->depth);
		seconds = (double)(clock_kernel_ns() - start) / 1e9;
		gb = (double)q->stats->op[IO_READ].bytes / 1e9;
		printf("%.4f %.5f\n", gb / seconds, (cpu_s() - cpu) / gb);
		io.op = IO_CLOSE;
		queue_do(q, &io);
	}
	free(lists);
	free(ios);
	return rc < 0 ? err_set(err, rc, "%s/data: %s", w->folder, io_status_text(rc)) : 0;
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
	*described = (struct job_store){.name = "bench", .section = &backend_find("file")->section};
	described->options = arena_alloc(arena, described->section->size);
	rc = options_parse(described->section->tables, described->options, object, "", arena, err);
	cJSON_Delete(object);
	return rc;
}

static int run(const struct work *w, struct err *err)
{
	struct place place = {.ranks = 1, .nodes = 1, .local_ranks = 1};
	struct buffers buffers = {0};
	struct arena arena = {0};
	struct job_store described;
	struct queue q = {0};
	struct store store;
	struct clock clock;
	struct log log;
	int rc;

	clock_init(&clock);
	log_init(&log, 2, LOG_INFO, 0, 1);
	rc = describe(w, &described, &arena, err);
	if (rc == 0)
		rc = store_open(&store, &described, &place, NULL, &clock, &log, 1, err);
	if (rc < 0)
		goto out_arena;
	rc = queue_open(&q, &store, w->depth, err);
	if (rc == 0)
		rc = buffers_init(&buffers, w->depth, queue_window(&store, w->block), err);
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
				"sequential|random BLOCK_BYTES TOTAL_BYTES\n");
		return 2;
	}
	w = (struct work){
		.folder = argv[1],
		.engine = argv[2],
		.depth = (uint32_t)strtoul(argv[3], NULL, 10),
		.direct = strcmp(argv[4], "direct") == 0,
		.random = strcmp(argv[5], "random") == 0,
		.block = strtoull(argv[6], NULL, 10),
		.total = strtoull(argv[7], NULL, 10),
	};
	if (!w.depth || !w.block || run(&w, &err) < 0) {
		fprintf(stderr, "bench_file: %s\n", err.text[0] ? err.text : "wrong arguments");
		return 1;
	}
	return 0;
}
