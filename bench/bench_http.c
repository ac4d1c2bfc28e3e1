/* Objects read or written over HTTP through the queue, by one thread that works as a reader does:
 * haul's side of the comparison with wrk and ab. Prints GB/s, requests/s, CPU seconds per GB, CPU
 * microseconds per request.
 *
 *	bench_http get|drop|put STORE_JSON KEY_FORMAT OBJECTS BYTES DEPTH SECONDS
 *	bench_http sign
 *
 * KEY_FORMAT contains one %u. get reads into memory, and streams longer objects through a buffer,
 * as a training does. drop discards what it reads. put writes each object by one PUT and does not
 * ask for its size. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "backends/http/auth/sign.h"
#include "backends/queue/queue.h"
#include "core/arena.h"
#include "core/buffers.h"

struct bench {
	struct arena arena;
	struct job_store described;
	struct clock clock;
	struct log log;
	struct rank_place place;
	struct store store;
	struct queue queue;
	struct buffers windows;
	struct request *reqs, **done;
	struct object *objects; /* [depth] */
	const char *keys;
	unsigned count;
	uint64_t bytes, seen, failed, streamed;
	uint32_t depth;
	bool put, drop;
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
	log_init(&b->log, 2, LOG_WARNING, 0, 1);
	b->place = (struct rank_place){.ranks = 1, .nodes = 1, .local_ranks = 1};
	backends_process_begin(&b->described, 1);
	if (rc == 0)
		rc = store_open(
			&b->store, &b->described,
			&(struct store_opener){
				.place = &b->place, .clock = &b->clock, .log = &b->log, .seed = 42},
			err);
	if (rc == 0)
		rc = queue_open(&b->queue, &b->store, b->depth, err);
	if (rc == 0)
		rc = buffers_init(&b->windows, b->depth,
				  b->put || b->bytes < QUEUE_STREAM_BYTES ? b->bytes
									  : QUEUE_STREAM_BYTES,
				  err);
	return rc;
}

/* A piece of a streamed object: a training would look at its bytes here. */
static int arrived(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct bench *b = req->user;

	(void)offset;
	(void)data;
	b->streamed += length;
	return 0;
}

/* Streams an object that is longer than a buffer, as a training does. */
static void stream_long(struct bench *b, struct request *req)
{
	if (b->put || b->drop || b->bytes <= QUEUE_STREAM_BYTES)
		return;
	req->buffer_bytes = QUEUE_STREAM_BYTES;
	req->chunk = arrived;
	req->user = b;
}

/* Sends the request for the next object in this slot. The first write of a slot is preceded by a
 * begin, which sends nothing to the store and serves all later writes. Nothing is committed, so
 * each object is one PUT. */
static void next(struct bench *b, uint32_t slot, uint64_t number)
{
	struct object *o = &b->objects[slot];
	struct request *req = &b->reqs[slot], *one = req;
	void *data = (char *)b->windows.base + slot * b->windows.slot_bytes;

	snprintf(o->key, sizeof(o->key), b->keys, (unsigned)(number % b->count));
	*req = (struct request){.op = !b->put       ? REQ_READ
				      : o->state[0] ? REQ_WRITE
						    : REQ_BEGIN,
				.object = o,
				.length = b->bytes,
				.begin.part = b->bytes,
				.discard = b->drop,
				.data = data};
	stream_long(b, req);
	queue_submit(&b->queue, &one, 1);
}

static bool write_after_begin(struct bench *b, struct request *req)
{
	struct request *one = req;

	if (!b->put || req->op == REQ_WRITE)
		return false;
	req->op = REQ_WRITE;
	queue_submit(&b->queue, &one, 1);
	return true;
}

static void run(struct bench *b, double seconds)
{
	uint64_t start = clock_kernel_ns(), end = start + (uint64_t)(seconds * 1e9), number = 0,
		 now;
	double cpu = cpu_seconds(), took;
	uint32_t n, flying = 0;

	for (; flying < b->depth; flying++)
		next(b, flying, number++);
	while (flying) {
		n = queue_reap(&b->queue, b->done, 1, b->depth, UINT64_MAX);
		now = clock_kernel_ns();
		for (uint32_t i = 0; i < n; i++) {
			struct request *req = b->done[i];

			if (write_after_begin(b, req))
				continue;
			b->seen++;
			b->failed += req->answer.status != 0 ||
				     (req->chunk && b->streamed < (b->seen - b->failed) * b->bytes);
			flying--;
			if (now >= end)
				continue;
			next(b, (uint32_t)(req - b->reqs), number++);
			flying++;
		}
	}
	took = (double)(clock_kernel_ns() - start) * 1e-9;
	cpu = cpu_seconds() - cpu;
	printf("%.4f %.1f %.5f %.2f failed %llu connections %llu\n",
	       (double)b->seen * (double)b->bytes / took * 1e-9, (double)b->seen / took,
	       cpu / ((double)b->seen * (double)b->bytes * 1e-9), cpu / (double)b->seen * 1e6,
	       (unsigned long long)b->failed,
	       (unsigned long long)b->queue.endpoint_counts[0].connections);
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
	struct bench b = {0};
	struct err err = {0};

	if (argc == 2 && strcmp(argv[1], "sign") == 0) {
		sign();
		return 0;
	}
	if (argc != 8) {
		fprintf(stderr,
			"bench_http get|drop|put STORE_JSON KEY_FORMAT OBJECTS BYTES DEPTH SECONDS\n"
			"bench_http sign\n");
		return 2;
	}
	b.put = strcmp(argv[1], "put") == 0;
	b.drop = strcmp(argv[1], "drop") == 0;
	b.keys = argv[3];
	b.count = (unsigned)atoi(argv[4]);
	b.bytes = strtoull(argv[5], NULL, 10);
	b.depth = (uint32_t)atoi(argv[6]);
	b.reqs = calloc(b.depth, sizeof(*b.reqs));
	b.done = calloc(b.depth, sizeof(struct request *));
	b.objects = calloc(b.depth, sizeof(*b.objects));
	if (open_store(&b, argv[2], &err) < 0) {
		fprintf(stderr, "bench_http: %s\n", err.text);
		return 1;
	}
	run(&b, atof(argv[7]));
	queue_close(&b.queue);
	store_close(&b.store);
	buffers_free(&b.windows);
	arena_free(&b.arena);
	free(b.reqs);
	free(b.done);
	free(b.objects);
	return 0;
}
