/* SPDX-License-Identifier: Apache-2.0 */
/* I/O threads of a key-value cache: see worker.h. */
#include "workloads/kvcache/worker.h"

#include "core/clock_wait.h"

int kv_loads_open(struct kv_loads *l, uint32_t threads, uint32_t most)
{
	*l = (struct kv_loads){.most = most};
	l->thread = calloc(threads, sizeof(*l->thread));
	l->with = calloc((size_t)most + 1, sizeof(*l->with));
	if (!l->thread || !l->with)
		return -ENOMEM;
	for (uint32_t i = 0; i < threads; i++)
		list_append(&l->with[0], &l->thread[i].link);
	return 0;
}

void kv_loads_close(struct kv_loads *l)
{
	free(l->thread);
	free(l->with);
	*l = (struct kv_loads){.most = 0};
}

/* The thread that became so last is the first of its list, so its memory is still in the caches. */
static void loads_move(struct kv_loads *l, struct kv_load *t, uint32_t operations)
{
	list_remove(&l->with[t->operations], &t->link);
	t->operations = operations;
	list_prepend(&l->with[operations], &t->link);
}

uint32_t kv_loads_take(struct kv_loads *l)
{
	struct kv_load *t = list_member(l->with[l->least].first, struct kv_load, link);

	loads_move(l, t, t->operations + 1);
	while (l->least < l->most && list_empty(&l->with[l->least]))
		l->least++;
	return (uint32_t)(t - l->thread);
}

bool kv_loads_done(struct kv_loads *l, uint32_t thread)
{
	struct kv_load *t = &l->thread[thread];

	loads_move(l, t, t->operations - 1);
	l->least = t->operations < l->least ? t->operations : l->least;
	return t->operations == 0;
}

static const struct meter_map kv_maps[] = {
	{REQ_READ, METER_NONE, KV_HIST_CHUNK_READ, METER_NONE, METER_NONE},
	{REQ_WRITE, METER_NONE, KV_HIST_CHUNK_WRITE, METER_NONE, METER_NONE},
	{REQ_OPEN, KV_OPENS, KV_HIST_OPEN, METER_NONE, METER_NONE},
	{REQ_STAT, KV_STATS, KV_HIST_STAT, METER_NONE, METER_NONE},
	{REQ_DELETE, KV_DELETES, KV_HIST_DELETE, METER_NONE, METER_NONE},
};

const struct meter_layout kv_meter = {
	METER_MAPS(kvcache_schema, kv_maps), .sync = KV_HIST_SYNC, .publish = KV_HIST_PUBLISH,
	.counts_operations = true,           .live_op = REQ_READ,
};

static uint64_t worker_round(uint64_t bytes)
{
	return (bytes + PATTERN_BLOCK - 1) / PATTERN_BLOCK * PATTERN_BLOCK;
}

/* A request moves a chunk at most, and with it the header of a slot. */
static uint64_t worker_piece(const struct kv_setup *s)
{
	return s->options->chunk + (s->slots ? s->slots->header : 0);
}

uint64_t kv_worker_bytes(const struct kv_setup *s)
{
	uint64_t depth = s->options->depth;

	return sizeof(struct kv_worker) + crew_thread_bytes(&kv_meter) +
	       slots_memory(depth, sizeof(struct kv_window)) +
	       kv_worker_tasks(s) * sizeof(struct kv_transfer) +
	       depth * worker_round(worker_piece(s));
}

uint64_t kv_window_bytes(const struct kv_setup *s, const struct store *stores)
{
	uint64_t most = s->in_memory ? s->options->chunk : 0;

	for (uint32_t i = 0; i < s->store_count; i++) {
		uint64_t bytes = queue_buffer_bytes(&stores[i], worker_piece(s));

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
	uint32_t depth = (uint32_t)s->options->depth, tasks = kv_worker_tasks(s);
	uint64_t bytes = kv_window_bytes(s, w->work->stores);
	int rc;

	sem_init(&w->sem, 0, 0);
	residency_init(&w->residency, RESIDENCY_EVERY_BYTES);
	w->bell.sem = &w->sem;
	w->free = calloc(tasks, sizeof(*w->free));
	w->transfers = calloc(tasks, sizeof(*w->transfers));
	if (!w->free || !w->transfers || kv_ring_open(&w->given, tasks) < 0 ||
	    kv_ring_open(&w->answers, tasks) < 0)
		return err_set(err, -ENOMEM, "no memory for %u operations in flight", depth);
	for (uint32_t i = tasks; i-- > 0;)
		kv_worker_free(w, i);
	w->windows = (struct slots){.owner = w,
				    .member = w->member,
				    .depth = depth,
				    .slot_bytes = sizeof(struct kv_window),
				    .buffers = w->member->buffer,
				    .buffer_bytes = bytes};
	rc = slots_open(&w->windows, err);
	return rc == 0 ? worker_open_queues(w, depth, depth * bytes, err) : rc;
}

int kv_workers_open(struct kv_work *work, struct crew *crew, struct err *err)
{
	int rc = 0;

	sem_init(&work->own_arrived, 0, 0);
	if (!work->arrived)
		work->arrived = &work->own_arrived;
	work->bell.sem = work->arrived;
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
		kv_ring_close(&w->given);
		kv_ring_close(&w->answers);
		free(w->free);
		free(w->transfers);
		slots_close(&w->windows);
		sem_destroy(&w->sem);
	}
	sem_destroy(&work->own_arrived);
	free(work->workers);
	work->workers = NULL;
}

void kv_worker_give(struct kv_worker *w, const struct kv_task *task)
{
	uint32_t number = w->free[--w->free_count];

	w->transfers[number].task = *task;
	kv_ring_post(&w->given, number);
	kv_bell_ring(&w->bell);
}

bool kv_worker_answered(struct kv_worker *w, uint32_t *number)
{
	return kv_ring_take(&w->answers, number);
}

void kv_worker_answer(struct kv_worker *w, uint32_t number)
{
	struct kv_work *work = w->work;
	uint64_t thread = (uint64_t)(w - work->workers);
	bool quiet = w->transfers[number].task.quiet && kv_ring_has(&w->given);

	kv_ring_post(&w->answers, number);
	atomic_fetch_or_explicit(&work->answered[thread / 64], UINT64_C(1) << thread % 64,
				 memory_order_seq_cst);
	if (!quiet)
		kv_bell_ring(&work->bell);
}

uint64_t kv_work_answered(struct kv_work *work, uint32_t word)
{
	if (!atomic_load_explicit(&work->answered[word], memory_order_relaxed))
		return 0;
	return atomic_exchange_explicit(&work->answered[word], 0, memory_order_acquire);
}

void kv_work_sleep(struct kv_work *work, uint32_t threads, uint64_t until_ns)
{
	uint64_t answers = 0;

	kv_bell_arm(&work->bell);
	for (uint32_t word = 0; word * 64 < threads; word++)
		answers |= atomic_load_explicit(&work->answered[word], memory_order_seq_cst);
	if (!answers)
		clock_sem_wait(work->arrived, until_ns);
	kv_bell_disarm(&work->bell);
	while (sem_trywait(work->arrived) == 0)
		;
}

void kv_work_end(struct kv_work *work, uint32_t threads)
{
	atomic_store_explicit(&work->ending, true, memory_order_release);
	for (uint32_t i = 0; i < threads; i++)
		sem_post(&work->workers[i].sem);
}
