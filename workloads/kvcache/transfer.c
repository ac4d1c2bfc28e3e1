/* How an I/O thread moves one entry: in pieces of a chunk, with several in flight.
 *
 *	read      store -> dropped      memory -> a buffer
 *	write     made -> store         made -> memory
 *	move      store -> store        memory -> store         made -> memory or store, where it comes from an accelerator
 *
 * Bytes are a function of the entry's id, so they can be compared wherever an entry has been. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/content/fill.h"
#include "core/content/random.h"
#include "workloads/common/read_text.h"
#include "workloads/kvcache/objects.h"
#include "workloads/kvcache/worker.h"

/* With requests under way in two queues, a thread waits at most this long for one of them. */
static const uint64_t transfer_wait_ns = 200000;
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

static int transfer_fail(struct kv_worker *w, const struct queue *q, const struct request *req,
			 int rc, const char *text)
{
	struct crew_thread *m = w->member;

	text = text ? text : request_text(req);
	if (m->meter.failure_count == 0)
		err_set(&m->err, rc, "%s/%s: %s", q->channel.store->uri, req->object->key, text);
	meter_fail(&m->meter, req, rc, req->answer.done_ns, text);
	if (w->task.rc == 0)
		w->task.rc = rc;
	if (w->rc == 0 && w->work->setup->options->on_error == ON_ERROR_STOP)
		w->rc = rc;
	return rc;
}

static int transfer_do(struct kv_worker *w, struct queue *q, struct request *req)
{
	int rc = queue_do(q, req);

	return request_failed(req) ? transfer_fail(w, q, req, rc, NULL) : rc;
}

static void transfer_key(const struct kv_worker *w, const struct kv_end *end, struct object *o)
{
	*o = (struct object){.size = 0};
	kv_object_key(w->work->prefix[end->tier], w->task.what.id, o->key);
}

static int transfer_open_from(struct kv_worker *w, struct queue *q)
{
	const struct kv_task *t = &w->task;
	struct request req = {.op = REQ_STAT, .object = &w->from};
	int rc = 0;

	if (t->what.kind == KV_OPERATION_READ && w->work->setup->options->lookup)
		rc = transfer_do(w, q, &req);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	w->from.size = t->what.bytes;
	req = (struct request){.op = REQ_OPEN, .object = &w->from};
	return transfer_do(w, q, &req);
}

static int transfer_begin_to(struct kv_worker *w, struct queue *q)
{
	const struct kv_task *t = &w->task;
	struct request req = {.op = REQ_BEGIN,
			      .object = &w->to,
			      .length = t->what.bytes,
			      .begin.part = w->work->setup->options->chunk};

	transfer_key(w, &t->to, &w->to);
	return transfer_do(w, q, &req);
}

static void window_free(struct kv_worker *w, struct kv_window *win)
{
	win->state = KV_WINDOW_FREE;
	w->busy--;
}

static void window_send(struct kv_worker *w, struct kv_window *win, enum request_op op)
{
	bool reads = op == REQ_READ;
	struct queue *q = transfer_queue(w, reads ? &w->task.from : &w->task.to);
	uint32_t lead = reads ? 0 : win->req.answer.lead;
	struct request *req = &win->req;

	*req = (struct request){.op = op,
				.object = reads ? &w->from : &w->to,
				.offset = win->at,
				.length = win->length,
				.data = win->data ? (char *)win->data + lead : NULL,
				.user = win};
	win->state = reads ? KV_WINDOW_READS : KV_WINDOW_WRITES;
	queue_submit(q, &req, 1);
}

static void window_fill(struct kv_worker *w, struct kv_window *win)
{
	uint64_t begin_ns;

	if (!win->data || !end_keeps(w, &w->task.to))
		return;
	begin_ns = transfer_now(w);
	pattern_fill(&w->pattern, 0, win->at, win->data, win->length);
	w->member->counts[KV_WORKER_FILL_NS] += transfer_now(w) - begin_ns;
}

/* Compares the bytes of a piece with those that were written, or 4 KiB of them. */
static int window_check(struct kv_worker *w, struct kv_window *win)
{
	uint32_t verify = w->work->setup->options->verify;
	uint64_t at = 0, length = win->length, begin_ns, good;
	const char *data = win->data;

	if (!data || verify == VERIFY_NONE)
		return 0;
	begin_ns = transfer_now(w);
	if (verify == VERIFY_SAMPLED && length > VERIFY_SAMPLE_BYTES) {
		at = random_at(w->work->seed ^ verify_stream, w->draws++, win->at);
		at = at % (length - VERIFY_SAMPLE_BYTES + 1) & ~(uint64_t)7;
		length = VERIFY_SAMPLE_BYTES;
	}
	good = pattern_verify(&w->pattern, 0, win->at + at, data + win->req.answer.lead + at,
			      length);
	w->member->counts[KV_WORKER_VERIFY_NS] += transfer_now(w) - begin_ns;
	if (good == length)
		return 0;
	w->member->counts[KV_WORKER_PAYLOAD_ERRORS]++;
	meter_error(&w->member->meter);
	win->req.offset = win->at + at + good;
	return -EILSEQ;
}

/* The bytes of a piece that nobody has made are made now; those that are there are compared. Then it goes on. */
static void window_have(struct kv_worker *w, struct kv_window *win)
{
	const struct kv_task *t = &w->task;
	struct queue *from = transfer_queue(w, &t->from);
	char text[FAILURE_TEXT_BYTES];

	if (!end_keeps(w, &t->from)) {
		window_fill(w, win);
	} else if (window_check(w, win) < 0) {
		read_text_differs(text, win->req.offset);
		win->req.object = &w->from;
		win->req.op = REQ_READ;
		transfer_fail(w, from ? from : w->queues[0], &win->req, -EILSEQ, text);
	}
	if (t->to.kind == KV_TIER_STORE && w->task.rc == 0) {
		window_send(w, win, REQ_WRITE);
		return;
	}
	if (t->from.kind == KV_TIER_CPU && t->what.kind == KV_OPERATION_READ && win->buffer) {
		uint64_t begin_ns = transfer_now(w);

		memcpy(win->buffer, win->data, win->length);
		w->member->counts[KV_WORKER_COPY_NS] += transfer_now(w) - begin_ns;
	}
	window_free(w, win);
}

static void window_begin(struct kv_worker *w, struct kv_window *win)
{
	const struct kv_task *t = &w->task;
	uint64_t chunk = w->work->setup->options->chunk, left = t->what.bytes - w->next;

	win->req.answer.lead = 0;
	win->at = w->next;
	win->length = left < chunk ? left : chunk;
	win->data = win->buffer;
	w->next += win->length;
	w->busy++;
	if (w->block != KV_NONE) {
		win->data = kv_memory_block(w->work->memory, w->block);
		w->block = kv_memory_next(w->work->memory, w->block);
	}
	if (t->from.kind == KV_TIER_STORE)
		window_send(w, win, REQ_READ);
	else
		window_have(w, win);
}

static void window_answered(struct kv_worker *w, struct queue *q, struct kv_window *win)
{
	const struct request *req = &win->req;
	char text[FAILURE_TEXT_BYTES];

	if (req->answer.status < 0) {
		snprintf(text, sizeof(text), "%s", request_text(req));
		if (req->op == REQ_READ && req->answer.status == -ENODATA)
			read_text_ends(text, req, w->task.what.bytes);
		transfer_fail(w, q, req, req->answer.status, text);
		window_free(w, win);
	} else if (win->state == KV_WINDOW_READS) {
		window_have(w, win);
	} else {
		window_free(w, win);
	}
}

static void transfer_take(struct kv_worker *w, struct queue *q, uint32_t least, uint64_t until_ns)
{
	uint32_t depth = (uint32_t)w->work->setup->options->depth;
	uint32_t n = queue_reap(q, w->reaped, least, depth, until_ns);

	for (uint32_t i = 0; i < n; i++)
		window_answered(w, q, w->reaped[i]->user);
}

static void transfer_reap(struct kv_worker *w, struct queue *from, struct queue *to)
{
	bool reads = from && from->in_flight, writes = to && to != from && to->in_flight;

	if (reads && writes) {
		transfer_take(w, from, 1, transfer_now(w) + transfer_wait_ns);
		transfer_take(w, to, 0, 0);
	} else {
		transfer_take(w, reads ? from : to, 1, UINT64_MAX);
	}
	meter_live(&w->member->meter, w->queues[0]->now_ns);
	crew_look(w->member);
}

/* After an error, nothing more is begun. */
static void transfer_pieces(struct kv_worker *w, struct queue *from, struct queue *to)
{
	uint32_t depth = (uint32_t)w->work->setup->options->depth;
	const struct kv_task *t = &w->task;

	w->next = 0;
	w->block = t->from.kind == KV_TIER_CPU ? t->from.block
		   : t->to.kind == KV_TIER_CPU ? t->to.block
					       : KV_NONE;
	while (w->busy || (t->rc == 0 && w->next < t->what.bytes)) {
		for (uint32_t i = 0; i < depth && t->rc == 0 && w->next < t->what.bytes; i++)
			if (w->windows[i].state == KV_WINDOW_FREE)
				window_begin(w, &w->windows[i]);
		if (w->busy)
			transfer_reap(w, from, to);
	}
}

/* What could not be written whole does not stay. */
static void transfer_commit(struct kv_worker *w, struct queue *q)
{
	const struct kv_task *t = &w->task;
	struct request req = {.op = REQ_COMMIT, .object = &w->to, .length = t->what.bytes};
	char text[FAILURE_TEXT_BYTES];

	if (t->rc == 0 && transfer_do(w, q, &req) == 0) {
		w->sync_ns = req.answer.sync_ns;
		if (!store_can(q->channel.store, BACKEND_CONTENT) ||
		    req.answer.done_bytes == t->what.bytes)
			return;
		snprintf(text, sizeof(text), "the store has %" PRIu64 " bytes of it, not %" PRIu64,
			 req.answer.done_bytes, t->what.bytes);
		meter_error(&w->member->meter);
		transfer_fail(w, q, &req, -EIO, text);
		return;
	}
	queue_do(q, &(struct request){.op = REQ_ABORT, .object = &w->to});
}

static void transfer_delete(struct kv_worker *w, struct queue *q)
{
	struct request req = {.op = REQ_DELETE, .object = &w->from};

	transfer_key(w, &w->task.from, &w->from);
	transfer_do(w, q, &req);
}

static void transfer_entry(struct kv_worker *w)
{
	const struct kv_task *t = &w->task;
	struct queue *from = transfer_queue(w, &t->from), *to = transfer_queue(w, &t->to);
	int opened = 0, begun = -ECANCELED;

	if (t->from.kind != KV_TIER_GPU)
		transfer_key(w, &t->from, &w->from);
	if (from)
		opened = transfer_open_from(w, from);
	if (to && opened == 0)
		begun = transfer_begin_to(w, to);
	if (t->rc == 0)
		transfer_pieces(w, from, to);
	if (from && opened == 0)
		transfer_do(w, from, &(struct request){.op = REQ_CLOSE, .object = &w->from});
	if (to && begun == 0)
		transfer_commit(w, to);
	if (from && t->what.kind == KV_OPERATION_MOVE && t->rc == 0)
		transfer_delete(w, from);
}

/* The time in which this thread has worked on bytes itself. */
static uint64_t transfer_host_ns(const struct kv_worker *w)
{
	const uint64_t *counts = w->member->counts;

	return counts[KV_WORKER_FILL_NS] + counts[KV_WORKER_VERIFY_NS] + counts[KV_WORKER_COPY_NS];
}

/* As MLPerf's benchmark divides the time of an entry on a store. */
static uint64_t transfer_device_ns(const struct kv_worker *w, uint64_t host_ns)
{
	const struct kv_task *t = &w->task;
	uint64_t ns = t->times.end_ns - t->times.begin_ns;

	if (t->what.kind == KV_OPERATION_WRITE)
		return w->sync_ns;
	return ns > host_ns ? ns - host_ns : 0;
}

void kv_transfer(struct kv_worker *w)
{
	uint64_t host_ns = transfer_host_ns(w);
	struct kv_task *t = &w->task;

	t->rc = 0;
	w->sync_ns = 0;
	t->times.begin_ns = transfer_now(w);
	w->pattern = w->work->pattern;
	w->pattern.key = fill_key(w->work->seed, kv_id_hash(t->what.id));
	if (t->what.kind == KV_OPERATION_DELETE)
		transfer_delete(w, transfer_queue(w, &t->from));
	else
		transfer_entry(w);
	t->times.end_ns = transfer_now(w);
	t->times.device_ns = transfer_device_ns(w, transfer_host_ns(w) - host_ns);
}
