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
 * that answers at once, a stage needs no window, and an entry is done before the next one begins.
 *
 * Bytes are a function of the entry's id, so they can be compared wherever an entry has been. */
#include <errno.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "core/clock.h"
#include "core/clock_wait.h"
#include "core/content/fill.h"
#include "core/content/random.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/common/crew.h"
#include "workloads/kvcache/objects.h"
#include "workloads/kvcache/worker.h"

/* With requests under way in several queues, a thread waits at most this long for one of them. */
static const uint64_t transfer_wait_ns = 200000;
/* A thread that waits looks that often whether the crew has been halted. */
static const uint64_t worker_look_ns = NS_PER_S;

/* A thread that waits for a store and could take more tasks looks that often whether there are any:
 * after an answer, which often makes the main thread give one more, and in the end where neither
 * comes. */
static const uint64_t worker_patience_ns = 200000, worker_patience_most_ns = 3200000;
static const uint64_t verify_stream = 0x76657269; /* "veri" */

static struct queue *transfer_queue(const struct kv_worker *w, const struct kv_end *end)
{
	if (end->kind != KV_TIER_STORE)
		return NULL;
	return w->queues[w->work->setup->tiers[end->tier].store];
}

/* Whether what is written there can be read again. */
static bool end_keeps(const struct kv_worker *w, const struct kv_end *end)
{
	const struct queue *q = transfer_queue(w, end);

	return q ? store_can(q->channel.store, BACKEND_CONTENT) : end->kind == KV_TIER_CPU;
}

static uint64_t transfer_now(const struct kv_worker *w)
{
	return clock_now(w->work->stores[0].clock);
}

/* The time since begin_ns, in which the thread has worked on bytes of an entry itself. */
static void transfer_worked(struct kv_worker *w, struct kv_transfer *t, enum kv_worker_count what,
			    uint64_t begin_ns)
{
	uint64_t ns = transfer_now(w) - begin_ns;

	w->member->counts[what] += ns;
	t->host_ns += ns;
}

static void transfer_fail(struct kv_worker *w, struct kv_transfer *t, const struct queue *q,
			  const struct request *req, int rc, const char *text)
{
	struct crew_thread *m = w->member;

	text = text ? text : request_text(req);
	if (m->meter.failure_count == 0)
		failure_set(&m->err, rc, q->channel.store, req, text);
	meter_fail(&m->meter, req, rc, req->answer.done_ns, text);
	if (t->task.rc == 0)
		t->task.rc = rc;
	if (w->rc == 0 && w->work->setup->options->on_error == ON_ERROR_STOP)
		w->rc = rc;
}

static void transfer_key(const struct kv_worker *w, const struct kv_transfer *t,
			 const struct kv_end *end, struct object *o)
{
	*o = (struct object){.size = 0};
	w->work->object_key(w->work, end->tier, t->task.what.id, o->key);
}

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

static struct kv_window *window_take(struct kv_worker *w, struct kv_transfer *t)
{
	struct kv_window *win = list_member(slots_take(&w->windows), struct kv_window, slot);

	w->in_flight++;
	win->of = t;
	win->slot.req.answer.lead = 0;
	return win;
}

static void window_free(struct kv_worker *w, struct kv_window *win)
{
	slots_free(&w->windows, &win->slot);
	w->in_flight--;
}

/* A piece has been moved, or has failed. */
static void window_end(struct kv_worker *w, struct kv_window *win)
{
	win->of->busy--;
	window_free(w, win);
}

static void window_send(struct kv_worker *w, struct kv_window *win, enum request_op op)
{
	struct kv_transfer *t = win->of;
	bool reads = op == REQ_READ;
	uint32_t lead = reads ? 0 : win->slot.req.answer.lead;
	struct request *req = &win->slot.req;

	*req = (struct request){.op = op,
				.object = reads ? &t->from : &t->to,
				.offset = win->at,
				.length = win->length,
				.data = win->data ? (char *)win->data + lead : NULL};
	win->queue = transfer_queue(w, reads ? &t->task.from : &t->task.to);
	win->state = reads ? KV_WINDOW_READS : KV_WINDOW_WRITES;
	queue_submit(win->queue, &req, 1);
}

static void window_fill(struct kv_worker *w, struct kv_window *win)
{
	struct kv_transfer *t = win->of;
	uint64_t begin_ns;

	if (!win->data || !end_keeps(w, &t->task.to))
		return;
	begin_ns = transfer_now(w);
	pattern_fill(&t->pattern, 0, win->at, win->data, win->length);
	transfer_worked(w, t, KV_WORKER_FILL_NS, begin_ns);
}

/* Compares the bytes of a piece with those that were written, or 4 KiB of them. */
static int window_check(struct kv_worker *w, struct kv_window *win)
{
	uint32_t verify = w->work->setup->options->verify;
	uint64_t at = 0, length = win->length, begin_ns, good;
	struct kv_transfer *t = win->of;
	const char *data = win->data;

	if (!data || verify == VERIFY_NONE)
		return 0;
	begin_ns = transfer_now(w);
	if (verify == VERIFY_SAMPLED && length > VERIFY_SAMPLE_BYTES) {
		at = random_at(w->work->seed ^ verify_stream, w->draws++, win->at);
		at = at % (length - VERIFY_SAMPLE_BYTES + 1) & ~(uint64_t)7;
		length = VERIFY_SAMPLE_BYTES;
	}
	good = pattern_verify(&t->pattern, 0, win->at + at, data + win->slot.req.answer.lead + at,
			      length);
	transfer_worked(w, t, KV_WORKER_VERIFY_NS, begin_ns);
	if (good == length)
		return 0;
	w->member->counts[KV_WORKER_PAYLOAD_ERRORS]++;
	meter_error(&w->member->meter);
	win->slot.req.offset = win->at + at + good;
	return -EILSEQ;
}

/* The bytes of a piece that nobody has made are made now; those that are there are compared. Then
 * it goes on. */
static void window_have(struct kv_worker *w, struct kv_window *win)
{
	struct kv_transfer *t = win->of;
	const struct kv_task *task = &t->task;
	struct queue *from = transfer_queue(w, &task->from);
	char text[FAILURE_TEXT_BYTES];

	if (!end_keeps(w, &task->from)) {
		window_fill(w, win);
	} else if (window_check(w, win) < 0) {
		answer_text_differs(text, win->slot.req.offset);
		win->slot.req.object = &t->from;
		win->slot.req.op = REQ_READ;
		transfer_fail(w, t, from ? from : w->queues[0], &win->slot.req, -EILSEQ, text);
	}
	if (task->to.kind == KV_TIER_STORE && task->rc == 0) {
		window_send(w, win, REQ_WRITE);
		return;
	}
	if (task->from.kind == KV_TIER_CPU && task->what.kind == KV_OPERATION_READ &&
	    win->slot.buffer) {
		uint64_t begin_ns = transfer_now(w);

		memcpy(win->slot.buffer, win->data, win->length);
		transfer_worked(w, t, KV_WORKER_COPY_NS, begin_ns);
	}
	window_end(w, win);
}

/* What the page cache has of an entry, before anything of it is read: read-ahead would be taken for
 * an old copy. */
static void window_look(struct kv_worker *w, struct kv_transfer *t)
{
	struct residency *r = &w->residency;
	uint64_t sampled = r->sampled_bytes, resident = r->resident_bytes;

	residency_look(r, transfer_queue(w, &t->task.from)->channel.store, &t->from, 0,
		       t->task.what.bytes);
	w->member->counts[KV_WORKER_SAMPLED_BYTES] += r->sampled_bytes - sampled;
	w->member->counts[KV_WORKER_RESIDENT_BYTES] += r->resident_bytes - resident;
}

/* Bytes of the next piece: a chunk, or what is left of the entry, or of its layer. */
static uint64_t window_bytes(const struct kv_worker *w, const struct kv_transfer *t)
{
	uint64_t bytes = min_u64(w->work->setup->options->chunk, t->task.what.bytes - t->next);
	const struct kv_layers *l = t->task.layers;

	return l ? min_u64(bytes, l->bytes - t->next % l->bytes) : bytes;
}

static void window_begin(struct kv_worker *w, struct kv_transfer *t)
{
	struct kv_window *win = window_take(w, t);

	win->at = t->next;
	win->length = window_bytes(w, t);
	win->data = win->slot.buffer;
	t->next += win->length;
	t->busy++;
	if (t->block != KV_NONE) {
		win->data = kv_memory_block(w->work->memory, t->block);
		t->block = kv_memory_next(w->work->memory, t->block);
	}
	if (t->task.from.kind == KV_TIER_STORE && !win->at)
		window_look(w, t);
	if (t->task.from.kind == KV_TIER_STORE)
		window_send(w, win, REQ_READ);
	else
		window_have(w, win);
}

/* Whether a stage applies to what has become of the entry so far. */
static bool stage_applies(const struct kv_worker *w, const struct kv_transfer *t,
			  enum kv_entry_stage stage)
{
	const struct kv_task *task = &t->task;
	bool whole = task->rc == 0 && !task->present;
	bool moves_bytes =
		task->what.kind != KV_OPERATION_DELETE && task->what.kind != KV_OPERATION_LOOKUP;
	bool from = task->from.kind == KV_TIER_STORE, to = task->to.kind == KV_TIER_STORE;

	switch (stage) {
	case KV_ENTRY_STAT:
		if (task->what.kind == KV_OPERATION_WRITE)
			return to && w->work->setup->looks_before_writes;
		return (task->what.kind == KV_OPERATION_LOOKUP && whole) ||
		       (from && task->what.kind == KV_OPERATION_READ &&
			w->work->setup->options->lookup);
	case KV_ENTRY_OPEN:
		return whole && from && moves_bytes;
	case KV_ENTRY_BEGIN:
		return whole && to && moves_bytes;
	case KV_ENTRY_PIECES:
		return whole && moves_bytes && task->what.bytes;
	case KV_ENTRY_CLOSE:
		return t->opened;
	case KV_ENTRY_COMMIT:
		return whole && t->begun;
	case KV_ENTRY_ABORT:
		/* What could not be written whole does not stay. */
		return t->begun;
	case KV_ENTRY_DELETE:
		return whole && from &&
		       (task->what.kind == KV_OPERATION_MOVE ||
			task->what.kind == KV_OPERATION_DELETE);
	case KV_ENTRY_DONE:
		break;
	}
	return true;
}

static void transfer_advance(const struct kv_worker *w, struct kv_transfer *t)
{
	do
		t->stage++;
	while (!stage_applies(w, t, t->stage));
}

/* The request of a stage, and the queue that it goes to. */
static struct queue *stage_request(const struct kv_worker *w, struct kv_transfer *t,
				   struct request *req)
{
	static const struct {
		enum request_op op;
		bool to;
	} stages[] = {
		[KV_ENTRY_STAT] = {REQ_STAT, false},     [KV_ENTRY_OPEN] = {REQ_OPEN, false},
		[KV_ENTRY_BEGIN] = {REQ_BEGIN, true},    [KV_ENTRY_CLOSE] = {REQ_CLOSE, false},
		[KV_ENTRY_COMMIT] = {REQ_COMMIT, true},  [KV_ENTRY_ABORT] = {REQ_ABORT, true},
		[KV_ENTRY_DELETE] = {REQ_DELETE, false},
	};
	const struct kv_task *task = &t->task;
	bool to = stages[t->stage].to ||
		  (t->stage == KV_ENTRY_STAT && task->what.kind == KV_OPERATION_WRITE);

	*req = (struct request){.op = stages[t->stage].op, .object = to ? &t->to : &t->from};
	if (t->stage == KV_ENTRY_OPEN)
		t->from.size = task->what.bytes;
	if (t->stage == KV_ENTRY_BEGIN)
		req->begin.part = w->work->setup->options->chunk;
	kv_transfer_layout(w, t, req);
	if (t->stage == KV_ENTRY_BEGIN || t->stage == KV_ENTRY_COMMIT)
		req->length = task->what.bytes;
	/* What is deleted is named anew: it is not open any more. */
	if (t->stage == KV_ENTRY_DELETE)
		transfer_key(w, t, &task->from, &t->from);
	return transfer_queue(w, to ? &task->to : &task->from);
}

static void stage_committed(struct kv_worker *w, struct kv_transfer *t, const struct queue *q,
			    const struct request *req)
{
	char text[FAILURE_TEXT_BYTES];

	t->begun = false;
	t->sync_ns = req->answer.sync_ns;
	if (!store_can(q->channel.store, BACKEND_CONTENT) ||
	    answer_text_committed(text, req, t->task.what.bytes))
		return;
	meter_error(&w->member->meter);
	transfer_fail(w, t, q, req, -EIO, text);
}

/* The request of a stage has been answered. */
static void stage_answered(struct kv_worker *w, struct kv_transfer *t, const struct queue *q,
			   const struct request *req)
{
	bool done = req->answer.status == 0;

	t->asked = false;
	if (!kv_transfer_absent(w, t, req->answer.status) && request_failed(req) &&
	    t->stage != KV_ENTRY_ABORT)
		transfer_fail(w, t, q, req, req->answer.status, NULL);
	if (t->stage == KV_ENTRY_STAT && t->task.what.kind == KV_OPERATION_WRITE)
		t->task.present = done && w->work->keeps;
	else if (t->stage == KV_ENTRY_OPEN)
		t->opened = done;
	else if (t->stage == KV_ENTRY_BEGIN)
		t->begun = done;
	else if (t->stage == KV_ENTRY_CLOSE)
		t->opened = false;
	else if (t->stage == KV_ENTRY_COMMIT && done)
		stage_committed(w, t, q, req);
	else if (t->stage == KV_ENTRY_ABORT)
		t->begun = false;
	transfer_advance(w, t);
}

/* Asks for what its stage is about. A store that answers at once needs no window. */
static void stage_ask(struct kv_worker *w, struct kv_transfer *t)
{
	struct kv_window *win;
	struct request req, *ask;
	struct queue *q = stage_request(w, t, &req);

	if (q->channel.synchronous && !q->in_flight) {
		queue_do(q, &req);
		stage_answered(w, t, q, &req);
		return;
	}
	win = window_take(w, t);
	win->state = KV_WINDOW_ASKS;
	win->slot.req = req;
	win->queue = q;
	t->asked = true;
	ask = &win->slot.req;
	queue_submit(q, &ask, 1);
}

/* From the answer on, the task and the counts may be the main thread's. */
static void transfer_end(struct kv_worker *w, struct kv_transfer *t)
{
	struct kv_times *times = &t->task.times;

	times->end_ns = transfer_now(w);
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
	return t->task.rc == 0 && t->next < t->task.what.bytes;
}

/* Sends what the transfer can send, as long as there are windows. After an error, no more pieces
 * are begun. */
static void transfer_go_on(struct kv_worker *w, struct kv_transfer *t)
{
	for (bool sent = false;; sent = true) {
		bool pieces = t->stage == KV_ENTRY_PIECES;

		if (pieces && !t->busy && !transfer_has_pieces(t)) {
			transfer_advance(w, t);
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
			window_begin(w, t);
		else
			stage_ask(w, t);
	}
}

static void transfer_begin(struct kv_worker *w, uint32_t number)
{
	struct kv_transfer *t = &w->transfers[number];
	struct kv_task *task = &t->task;

	task->absent = kv_task_missed(task);
	task->rc = task->absent ? -ECANCELED : 0;
	task->times = (struct kv_times){.begin_ns = transfer_now(w)};
	t->asked = t->opened = t->begun = t->wants = task->present = false;
	t->next = t->host_ns = t->sync_ns = 0;
	t->busy = 0;
	t->block = task->from.kind == KV_TIER_CPU ? task->from.block
		   : task->to.kind == KV_TIER_CPU ? task->to.block
						  : KV_NONE;
	t->pattern = w->work->pattern;
	t->pattern.key = fill_key(w->work->seed, kv_id_hash(task->what.id));
	/* Errors of pieces in memory name the entry, too. */
	if (task->from.kind != KV_TIER_GPU)
		transfer_key(w, t, &task->from, &t->from);
	if (task->to.kind == KV_TIER_STORE)
		transfer_key(w, t, &task->to, &t->to);
	t->stage = KV_ENTRY_STAT;
	if (!stage_applies(w, t, t->stage))
		transfer_advance(w, t);
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
		stage_answered(w, t, q, req);
		window_free(w, win);
	} else if (req->answer.status < 0) {
		answer_text_failed(text, req, t->task.what.bytes);
		transfer_fail(w, t, q, req, req->answer.status, text);
		window_end(w, win);
	} else if (win->state == KV_WINDOW_READS) {
		if (t->task.layers)
			kv_layers_raise(t->task.layers, win->at, req->answer.done_ns);
		window_have(w, win);
	} else {
		window_end(w, win);
	}
	transfer_want(w, t, false);
}

static const struct slot_hooks transfer_hooks = {.step = window_answered};

/* Of several queues, one after the other is waited for, for a short time; all others are only
 * looked at. */
static uint32_t transfers_take_several(struct kv_worker *w, uint32_t queues, uint64_t until_ns)
{
	uint64_t soon_ns = until_ns ? transfer_now(w) + transfer_wait_ns : 0;
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
