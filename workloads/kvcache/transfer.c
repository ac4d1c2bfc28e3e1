/* SPDX-License-Identifier: Apache-2.0 */
/* How an I/O thread moves entries: each in pieces of a chunk, several entries and several pieces at a time.
 *
 *	read      store -> dropped      memory -> a buffer
 *	write     made -> store         made -> memory
 *	move      store -> store        memory -> store         made -> memory or store, where it comes from an accelerator
 *
 * An entry passes through stages (stat, open, begin, its pieces, close, commit, delete). Each stage but that of the pieces is one
 * request. Each request under way has a window, of which there are as many as the queues are deep. Transfers that may have
 * something to send wait in a line for windows. One that has sent something joins the line again behind the others: at once where
 * it has more to send, else when one of its requests is answered. So a large entry lets others pass between its pieces. On a store
 * that answers at once, a stage needs no window, and an entry is done before the next one begins. */
#include "workloads/kvcache/worker.h"

#include "backends/queue/failure.h"
#include "core/clock_wait.h"
#include "core/content/fill.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/common/crew.h"
#include "workloads/kvcache/stages.h"

/* With requests under way in several queues, a thread waits at most this long for one of them. */
static const uint64_t transfer_wait_ns = 200000;
/* A thread that waits looks that often whether the crew has been halted. */
static const uint64_t worker_look_ns = NS_PER_S;

/* A thread that waits for a store and could take more tasks looks that often whether there are any:
 * after an answer, which often makes the main thread give one more, and in the end where neither
 * comes. */
static const uint64_t worker_patience_ns = 200000, worker_patience_most_ns = 3200000;

/* Joins the line of those that may have something to send, at its end; or, where it has not had its
 * turn yet, at its head. */
static void transfer_want(struct kv_worker *w, struct kv_transfer *t, bool first)
{
	if (t->wants)
		return;
	t->wants = true;
	if (first)
		list_prepend(&w->wanting, &t->link);
	else
		list_append(&w->wanting, &t->link);
}

/* From the answer on, the task and the counts may be the main thread's. */
static void transfer_end(struct kv_worker *w, struct kv_transfer *t)
{
	struct kv_times *times = &t->task.times;

	times->end_ns = kv_transfer_now(w);
	/* As MLPerf's benchmark divides the time of an entry on a store. */
	times->device_ns = t->task.what.kind == KV_OPERATION_WRITE
				   ? t->sync_ns
				   : excess_u64(times->end_ns - times->begin_ns, t->host_ns);
	w->under_way--;
	meter_live(&w->member->meter, times->end_ns);
	crew_look(w->member);
	kv_worker_answer(w, (uint32_t)(t - w->transfers));
}

static bool transfer_has_pieces(const struct kv_transfer *t)
{
	bool block = !t->task.header && t->next < t->task.what.bytes;

	return t->task.rc == 0 && (block || t->head);
}

/* Sends what the transfer can send, as long as there are windows. After an error, no more pieces
 * are begun. */
static void transfer_go_on(struct kv_worker *w, struct kv_transfer *t)
{
	for (bool sent = false;; sent = true) {
		bool pieces = t->stage == KV_ENTRY_PIECES;

		if (pieces && !t->busy && !transfer_has_pieces(t)) {
			kv_transfer_advance(w, t);
			continue;
		}
		if (t->stage == KV_ENTRY_DONE) {
			transfer_end(w, t);
			return;
		}
		/* Where layers count, piece by piece, so that all entries of a prompt come in step. */
		if (pieces ? !transfer_has_pieces(t) || (t->task.layers && t->busy) : t->asked)
			return;
		if (list_empty(&w->windows.free)) {
			transfer_want(w, t, !sent);
			return;
		}
		if (pieces)
			kv_window_begin(w, t);
		else
			kv_stage_ask(w, t);
	}
}

/* Bytes of the header that is moved beside a block. */
static uint64_t transfer_head(const struct kv_worker *w, const struct kv_task *task)
{
	const struct kv_slots *slots = w->work->setup->slots;

	bool moves = task->to.kind == KV_TIER_STORE || task->header;

	return slots && (moves || slots->checked) ? slots->header : 0;
}

static void transfer_begin(struct kv_worker *w, uint32_t number)
{
	struct kv_transfer *t = &w->transfers[number];
	struct kv_task *task = &t->task;

	task->absent = kv_task_missed(task);
	task->rc = task->absent ? -ECANCELED : 0;
	task->times = (struct kv_times){.begin_ns = kv_transfer_now(w)};
	t->asked = t->opened = t->begun = t->wants = task->present = false;
	t->next = t->host_ns = t->sync_ns = 0;
	t->busy = 0;
	t->block = task->from.kind == KV_TIER_CPU ? task->from.block
		   : task->to.kind == KV_TIER_CPU ? task->to.block
						  : KV_NONE;
	t->pattern = w->work->pattern;
	t->pattern.key = fill_key(w->work->seed, kv_id_hash(task->what.id));
	t->head = transfer_head(w, task);
	/* Errors of pieces in memory name the entry, too. */
	if (task->from.kind != KV_TIER_GPU)
		kv_transfer_key(w, t, &task->from, &t->from);
	if (task->to.kind == KV_TIER_STORE)
		kv_transfer_key(w, t, &task->to, &t->to);
	kv_stage_first(w, t);
	w->under_way++;
	transfer_want(w, t, false);
}

static void transfers_send(struct kv_worker *w)
{
	while (!list_empty(&w->windows.free) && !list_empty(&w->wanting)) {
		struct kv_transfer *t =
			list_member(list_take(&w->wanting), struct kv_transfer, link);

		t->wants = false;
		transfer_go_on(w, t);
	}
}

/* The hook step of slots. */
static void window_answered(void *worker, struct slot *slot)
{
	struct kv_worker *w = worker;
	struct kv_window *win = list_member(slot, struct kv_window, slot);
	const struct request *req = &slot->req;
	struct queue *q = win->queue;
	struct kv_transfer *t = win->of;
	char text[FAILURE_TEXT_BYTES];

	if (win->state == KV_WINDOW_ASKS) {
		kv_stage_answered(w, t, q, req);
		kv_window_free(w, win);
	} else if (req->answer.status < 0) {
		answer_text_failed(text, req, t->task.what.bytes);
		kv_transfer_fail(w, t, q, req, req->answer.status, text);
		kv_window_end(w, win);
	} else if (win->state == KV_WINDOW_READS) {
		if (t->task.layers)
			kv_layers_raise(t->task.layers, win->at, req->answer.done_ns);
		kv_window_have(w, win);
	} else {
		kv_window_end(w, win);
	}
	transfer_want(w, t, false);
}

static const struct slot_hooks transfer_hooks = {.step = window_answered};

/* Of several queues, one after the other is waited for, for a short time; all others are only
 * looked at. */
static uint32_t transfers_take_several(struct kv_worker *w, uint32_t queues, uint64_t until_ns)
{
	uint64_t soon_ns = until_ns ? kv_transfer_now(w) + transfer_wait_ns : 0;
	uint32_t n = 0, count = w->work->setup->store_count;

	if (soon_ns > until_ns)
		soon_ns = until_ns;
	do
		w->turn = (w->turn + 1) % count;
	while (!(queues >> w->turn & 1));
	for (uint32_t i = 0; i < count; i++)
		if (i != w->turn && queues >> i & 1)
			n += slots_reap(&w->windows, w->queues[i], 0, 0);
	return n + slots_reap(&w->windows, w->queues[w->turn], !n && until_ns, n ? 0 : soon_ns);
}

static uint32_t transfers_reap(struct kv_worker *w, uint64_t until_ns)
{
	uint32_t queues = 0, one = 0, n;

	for (uint32_t i = 0; i < w->work->setup->store_count; i++)
		if (w->queues[i]->in_flight) {
			queues |= 1u << i;
			one = i;
		}
	if (!queues)
		return 0;
	n = queues == 1u << one ? slots_reap(&w->windows, w->queues[one], until_ns > 0, until_ns)
				: transfers_take_several(w, queues, until_ns);
	meter_live(&w->member->meter, w->queues[one]->now_ns);
	return n;
}

/* Sleeps until there is a task. Returns false where there will be none. */
static bool worker_sleep(struct kv_worker *w)
{
	kv_bell_arm(&w->bell);
	if (!kv_ring_has(&w->given))
		clock_sem_wait(&w->sem, clock_kernel_ns() + worker_look_ns);
	kv_bell_disarm(&w->bell);
	return !atomic_load_explicit(&w->work->ending, memory_order_acquire) &&
	       !atomic_load_explicit(&w->member->crew->halt, memory_order_relaxed);
}

/* Waits for an answer of a store, but not for ever where a task that comes meanwhile could
 * begin. */
static void worker_wait(struct kv_worker *w)
{
	uint64_t until_ns = UINT64_MAX;

	if (!list_empty(&w->windows.free) && w->under_way < w->work->setup->options->depth)
		until_ns = clock_now(w->work->stores[0].clock) + w->patience_ns;
	if (transfers_reap(w, until_ns))
		w->patience_ns = worker_patience_ns;
	else if (w->patience_ns < worker_patience_most_ns)
		w->patience_ns *= 2;
}

/* What a store has answered already comes before new tasks, so that an operation of a store that
 * answers at once ends before the next one begins. */
int kv_worker_run(struct crew_thread *member, uint64_t number)
{
	struct kv_work *work = member->crew->argument;
	struct kv_worker *w = &work->workers[number];
	uint32_t next;

	w->windows.hooks = &transfer_hooks;
	w->patience_ns = worker_patience_ns;
	for (;;) {
		bool more;

		transfers_send(w);
		more = w->under_way < work->setup->options->depth && kv_ring_has(&w->given);
		if (w->in_flight && !more) {
			worker_wait(w);
		} else if (w->in_flight && transfers_reap(w, 0)) {
			continue;
		} else if (more && kv_ring_take(&w->given, &next)) {
			w->patience_ns = worker_patience_ns;
			transfer_begin(w, next);
		} else if (!worker_sleep(w)) {
			return w->rc;
		}
	}
}
