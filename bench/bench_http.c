/* SPDX-License-Identifier: Apache-2.0 */
/* Objects read or written over HTTP through the queue, by threads that work as readers do: haul's
 * side of the comparison with wrk and ab. Prints GB/s, requests/s, CPU seconds per GB, CPU
 * microseconds per request.
 *
 *	bench_http get|drop|put STORE_JSON KEY_FORMAT OBJECTS BYTES DEPTH SECONDS [THREADS]
 *	bench_http sign
 *
 * Each thread has a queue of its own with DEPTH requests in flight. KEY_FORMAT contains one %u. get
 * reads into memory, and streams longer objects through a buffer, as a training does. drop discards
 * what it reads. put writes each object by one PUT and does not ask for its size; all objects have
 * the same bytes, as with ab. */
#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "backends/http/auth/sign.h"
#include "backends/queue/queue.h"
#include "core/arena.h"
#include "core/buffers.h"

enum { THREADS_MAX = 64 };

/* What all threads share. */
struct bench {
	struct arena arena;
	struct job_store described;
	struct clock clock;
	struct log log;
	struct rank_place place;
	struct store store;
	const char *keys;
	unsigned count;
	uint64_t bytes, end_ns;
	uint32_t depth;
	bool put, drop;
};

struct worker {
	struct bench *bench;
	pthread_t thread;
	struct queue queue;
	struct buffers windows;
	struct request *reqs, **done;
	struct object *objects; /* [depth] */
	uint64_t number, seen, failed, streamed;
};

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static int open_store(struct bench *b, const char *text, struct err *err)
{
	cJSON *json = cJSON_Parse(text);
	const char *uri = cJSON_GetStringValue(cJSON_GetObjectItem(json, "uri"));
	char scheme[URI_SCHEME_BYTES];
	const struct backend_ops *ops;
	int rc = uri ? uri_scheme(uri, scheme, err) : -1;

	ops = rc == 0 ? backend_find(scheme) : NULL;
	if (!ops)
		return err_set(err, -1, "no store: %s", text);
	strcpy(b->described.name, "bench");
	b->described.section = &ops->section;
	b->described.options = arena_alloc(&b->arena, ops->section.size);
	rc = options_parse(ops->section.tables, b->described.options, json, "/store", &b->arena,
			   err);
	cJSON_Delete(json);
	clock_init(&b->clock);
	clock_learn_counter(&b->clock, CLOCK_SOURCE);
	log_init(&b->log, 2, LOG_WARNING, 0, 1);
	b->place = (struct rank_place){.ranks = 1, .nodes = 1, .local_ranks = 1};
	backends_process_begin(&b->described, 1);
	if (rc == 0)
		rc = store_open(
			&b->store, &b->described,
			&(struct store_opener){
				.place = &b->place, .clock = &b->clock, .log = &b->log, .seed = 42},
			err);
	return rc;
}

static int open_worker(struct worker *w, struct bench *b, struct err *err)
{
	bool whole = b->put || b->bytes < QUEUE_STREAM_BYTES;
	int rc;

	w->bench = b;
	w->reqs = calloc(b->depth, sizeof(*w->reqs));
	w->done = calloc(b->depth, sizeof(struct request *));
	w->objects = calloc(b->depth, sizeof(*w->objects));
	if (!w->reqs || !w->done || !w->objects)
		return err_set(err, -1, "no memory");
	rc = queue_open(&w->queue, &b->store, b->depth, err);
	if (rc == 0)
		rc = buffers_init(&w->windows, b->put ? 1 : b->depth,
				  whole ? b->bytes : QUEUE_STREAM_BYTES, err);
	return rc;
}

static void close_worker(struct worker *w)
{
	queue_close(&w->queue);
	buffers_free(&w->windows);
	free(w->reqs);
	free(w->done);
	free(w->objects);
}

/* A piece of a streamed object: a training would look at its bytes here. */
static int arrived(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct worker *w = req->user;

	(void)offset;
	(void)data;
	w->streamed += length;
	return 0;
}

/* Streams an object that is longer than a buffer, as a training does. */
static void stream_long(struct worker *w, struct request *req)
{
	const struct bench *b = w->bench;

	if (b->put || b->drop || b->bytes <= QUEUE_STREAM_BYTES)
		return;
	req->buffer_bytes = QUEUE_STREAM_BYTES;
	req->chunk = arrived;
	req->user = w;
}

/* Sends the request for the next object in this slot. The first write of a slot is preceded by a
 * begin, which sends nothing to the store and serves all later writes. Nothing is committed, so
 * each object is one PUT. */
static void next(struct worker *w, uint32_t slot)
{
	const struct bench *b = w->bench;
	struct object *o = &w->objects[slot];
	struct request *req = &w->reqs[slot], *one = req;
	void *data = (char *)w->windows.base + (b->put ? 0 : slot * w->windows.slot_bytes);

	snprintf(o->key, sizeof(o->key), b->keys, (unsigned)(w->number++ % b->count));
	*req = (struct request){.op = !b->put       ? REQ_READ
				      : o->state[0] ? REQ_WRITE
						    : REQ_BEGIN,
				.object = o,
				.length = b->bytes,
				.begin.part = b->bytes,
				.discard = b->drop,
				.data = data};
	stream_long(w, req);
	queue_submit(&w->queue, &one, 1);
}

static bool write_after_begin(struct worker *w, struct request *req)
{
	struct request *one = req;

	if (!w->bench->put || req->op == REQ_WRITE)
		return false;
	req->op = REQ_WRITE;
	queue_submit(&w->queue, &one, 1);
	return true;
}

static void *work(void *argument)
{
	struct worker *w = argument;
	const struct bench *b = w->bench;
	uint32_t n, flying = 0;
	uint64_t now;

	for (; flying < b->depth; flying++)
		next(w, flying);
	while (flying) {
		n = queue_reap(&w->queue, w->done, 1, b->depth, UINT64_MAX);
		now = clock_kernel_ns();
		for (uint32_t i = 0; i < n; i++) {
			struct request *req = w->done[i];

			if (write_after_begin(w, req))
				continue;
			w->seen++;
			w->failed += req->answer.status != 0 ||
				     (req->chunk && w->streamed < (w->seen - w->failed) * b->bytes);
			flying--;
			if (now >= b->end_ns)
				continue;
			next(w, (uint32_t)(req - w->reqs));
			flying++;
		}
	}
	return NULL;
}

/* Runs the workers, the first one by this thread. */
static void run(struct bench *b, struct worker *workers, uint32_t threads, double seconds)
{
	uint64_t start = clock_kernel_ns(), seen = 0, failed = 0, connections = 0;
	double cpu = cpu_seconds(), took;

	b->end_ns = start + (uint64_t)(seconds * 1e9);
	for (uint32_t i = 1; i < threads; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	work(&workers[0]);
	for (uint32_t i = 1; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	took = (double)(clock_kernel_ns() - start) * 1e-9;
	cpu = cpu_seconds() - cpu;
	for (uint32_t i = 0; i < threads; i++) {
		seen += workers[i].seen;
		failed += workers[i].failed;
		connections += workers[i].queue.endpoint_counts[0].connections;
	}
	printf("%.4f %.1f %.5f %.2f failed %llu connections %llu\n",
	       (double)seen * (double)b->bytes / took * 1e-9, (double)seen / took,
	       cpu / ((double)seen * (double)b->bytes * 1e-9), cpu / (double)seen * 1e6,
	       (unsigned long long)failed, (unsigned long long)connections);
}

/* Cost of a ranged GET, built and signed as the data path does it. */
static void sign(void)
{
	enum { REQUESTS = 200000 };
	static char buffer[REQUEST_BYTES];
	static const char *const path[] = {"/", "bucket", "/", "train/00/img_0000001.npz", NULL};
	struct credentials c = {.key = "AKIAIOSFODNN7EXAMPLE", .secret = "wJalrXUtnFEMI"};
	struct sign_v4 s;
	struct exchange x = {0};
	struct http_request r;
	double cpu;

	if (sign_v4_open(&s, NULL) < 0)
		return;
	cpu = cpu_seconds();
	for (int i = 0; i < REQUESTS; i++) {
		http_request_begin(&r, buffer, sizeof(buffer), HTTP_GET, "http", "s3-1:9000");
		http_request_path(&r, path);
		http_request_range(&r, "range", (uint64_t)i << 20, 8 << 20);
		sign_v4(&s, &r, &c, 1, "us-east-1", SIGN_UNSIGNED, 1369353600 + i / 1000);
		http_request_finish(&r, NULL, &x);
	}
	printf("%.2f us per request, built and signed\n", (cpu_seconds() - cpu) / REQUESTS * 1e6);
	sign_v4_close(&s);
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	uint32_t threads = argc > 8 ? (uint32_t)atoi(argv[8]) : 1;
	struct bench b = {0};
	struct err err = {0};
	int rc;

	if (argc == 2 && strcmp(argv[1], "sign") == 0) {
		sign();
		return 0;
	}
	if (argc < 8 || argc > 9 || threads == 0 || threads > THREADS_MAX) {
		fprintf(stderr, "bench_http get|drop|put STORE_JSON KEY_FORMAT OBJECTS BYTES DEPTH "
				"SECONDS [THREADS]\n"
				"bench_http sign\n");
		return 2;
	}
	b.put = strcmp(argv[1], "put") == 0;
	b.drop = strcmp(argv[1], "drop") == 0;
	b.keys = argv[3];
	b.count = (unsigned)atoi(argv[4]);
	b.bytes = strtoull(argv[5], NULL, 10);
	b.depth = (uint32_t)atoi(argv[6]);
	rc = open_store(&b, argv[2], &err);
	for (uint32_t i = 0; i < threads && rc == 0; i++)
		rc = open_worker(&workers[i], &b, &err);
	if (rc < 0) {
		fprintf(stderr, "bench_http: %s\n", err.text);
		return 1;
	}
	run(&b, workers, threads, atof(argv[7]));
	for (uint32_t i = 0; i < threads; i++)
		close_worker(&workers[i]);
	store_close(&b.store);
	arena_free(&b.arena);
	return 0;
}
