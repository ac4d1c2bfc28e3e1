/* I/O threads of a key-value cache: see worker.h. */
#include "workloads/kvcache/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "workloads/kvcache/columns.h"

/* A thread that waits looks that often whether the crew has been halted. */
enum { WORKER_LOOK_S = 1 };

static const struct meter_map kv_maps[] = {
	{REQ_READ, METER_NONE, KV_HIST_CHUNK_READ, METER_NONE, METER_NONE},
	{REQ_WRITE, METER_NONE, KV_HIST_CHUNK_WRITE, METER_NONE, METER_NONE},
	{REQ_OPEN, KV_OPENS, KV_HIST_OPEN, METER_NONE, METER_NONE},
	{REQ_STAT, KV_STATS, KV_HIST_STAT, METER_NONE, METER_NONE},
	{REQ_DELETE, KV_DELETES, KV_HIST_DELETE, METER_NONE, METER_NONE},
};

const struct meter_layout kv_meter = {
	.schema = &kvcache_schema,
	.maps = kv_maps,
	.map_count = sizeof(kv_maps) / sizeof(kv_maps[0]),
	.late = METER_NONE,
	.short_transfers = METER_NONE,
	.sync = KV_HIST_SYNC,
	.publish = KV_HIST_PUBLISH,
	.live_op = REQ_READ,
};

static uint64_t worker_round(uint64_t bytes)
{
	return (bytes + PATTERN_BLOCK - 1) / PATTERN_BLOCK * PATTERN_BLOCK;
}

uint64_t kv_worker_bytes(const struct kv_setup *s)
{
	uint64_t window = sizeof(struct kv_window) + sizeof(struct request *);

	return sizeof(struct kv_worker) + sizeof(struct crew_thread) + meter_bytes(&kv_meter) +
	       s->options->depth * (window + worker_round(s->options->chunk));
}

uint64_t kv_window_bytes(const struct kv_setup *s, const struct store *stores)
{
	uint64_t most = s->in_memory ? s->options->chunk : 0;

	for (uint32_t i = 0; i < s->store_count; i++) {
		uint64_t bytes = queue_buffer_bytes(&stores[i], s->options->chunk);

		if (store_can(&stores[i], BACKEND_CONTENT) && bytes > most)
			most = bytes;
	}
	return worker_round(most);
}

static int worker_open_queues(struct kv_worker *w, uint32_t depth, uint64_t buffer_bytes,
			      struct err *err)
{
	const struct kv_setup *s = w->work->setup;
	int rc = 0;

	w->queues[0] = &w->member->queue;
	for (uint32_t i = 1; rc == 0 && i < s->store_count; i++) {
		w->queues[i] = &w->more[i - 1];
		rc = queue_open(w->queues[i], &w->work->stores[i], depth, err);
		if (rc < 0)
			break;
		queue_memory(w->queues[i], w->member->buffer, buffer_bytes);
		meter_attach(&w->member->meter, w->queues[i]);
	}
	return rc;
}

static int worker_open(struct kv_worker *w, struct err *err)
{
	const struct kv_setup *s = w->work->setup;
	uint32_t depth = (uint32_t)s->options->depth;
	uint64_t bytes = kv_window_bytes(s, w->work->stores);
	int rc;

	sem_init(&w->given, 0, 0);
	w->windows = calloc(depth, sizeof(*w->windows));
	w->reaped = calloc(depth, sizeof(struct request *));
	if (!w->windows || !w->reaped)
		return err_set(err, -ENOMEM, "no memory for %u chunks in flight", depth);
	for (uint32_t i = 0; w->member->buffer && i < depth; i++)
		w->windows[i].buffer = (char *)w->member->buffer + i * bytes;
	rc = worker_open_queues(w, depth, depth * bytes, err);
	return rc;
}

int kv_workers_open(struct kv_work *work, struct crew *crew, struct err *err)
{
	int rc = 0;

	sem_init(&work->own_arrived, 0, 0);
	if (!work->arrived)
		work->arrived = &work->own_arrived;
	work->workers = calloc(crew->threads, sizeof(*work->workers));
	if (!work->workers)
		return err_set(err, -ENOMEM, "no memory for %u threads", crew->threads);
	for (uint32_t i = 0; rc == 0 && i < crew->threads; i++) {
		work->workers[i].work = work;
		work->workers[i].member = &crew->members[i];
		rc = worker_open(&work->workers[i], err);
	}
	return rc;
}

void kv_workers_close(struct kv_work *work, const struct crew *crew)
{
	if (!work->workers)
		return;
	for (uint32_t i = 0; i < crew->threads; i++) {
		struct kv_worker *w = &work->workers[i];

		if (!w->work)
			break;
		for (uint32_t k = 1; k < KV_STORES_MAX; k++)
			if (w->queues[k])
				queue_close(w->queues[k]);
		free(w->windows);
		free(w->reaped);
		sem_destroy(&w->given);
	}
	sem_destroy(&work->own_arrived);
	free(work->workers);
	work->workers = NULL;
}

/* Its task is the main thread's again. The counts are, too, until it is given another one. */
static void worker_answer(struct kv_worker *w, uint64_t number)
{
	struct kv_work *work = w->work;

	snapshot_rest(&w->member->part);
	atomic_fetch_or_explicit(&work->answered[number / 64], UINT64_C(1) << number % 64,
				 memory_order_release);
	sem_post(work->arrived);
}

/* Waits for a task. Returns false where there will be none. */
static bool worker_take(struct kv_worker *w)
{
	const struct crew *crew = w->member->crew;
	struct timespec until;
	int rc;

	do {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += WORKER_LOOK_S;
		rc = sem_clockwait(&w->given, CLOCK_MONOTONIC, &until);
		if (atomic_load_explicit(&w->work->ending, memory_order_acquire) ||
		    atomic_load_explicit(&crew->halt, memory_order_relaxed))
			return false;
	} while (rc < 0);
	return true;
}

int kv_worker_run(struct crew_thread *member, uint64_t number)
{
	struct kv_work *work = member->crew->argument;
	struct kv_worker *w = &work->workers[number];

	worker_answer(w, number);
	while (worker_take(w)) {
		kv_transfer(w);
		meter_live(&member->meter, w->task.times.end_ns);
		crew_look(member);
		worker_answer(w, number);
	}
	return w->rc;
}
