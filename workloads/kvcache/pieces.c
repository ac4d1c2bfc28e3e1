/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of entries: see pieces.h.
 *
 * Bytes are a function of the entry's id, so they can be compared wherever an entry has been. */
#include "workloads/kvcache/pieces.h"

#include <errno.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "core/content/fill.h"
#include "core/content/random.h"
#include "core/numbers.h"

static const uint64_t verify_stream = 0x76657269; /* "veri" */

/* Whether what is written there can be read again. */
static bool end_keeps(const struct kv_worker *w, const struct kv_end *end)
{
	const struct queue *q = kv_transfer_queue(w, end);

	return q ? store_can(q->channel.store, BACKEND_CONTENT) : end->kind == KV_TIER_CPU;
}

/* The time since begin_ns, in which the thread has worked on bytes of an entry itself. */
static void transfer_worked(struct kv_worker *w, struct kv_transfer *t, enum kv_worker_count what,
			    uint64_t begin_ns)
{
	uint64_t ns = kv_transfer_now(w) - begin_ns;

	w->member->counts[what] += ns;
	t->host_ns += ns;
}

void kv_transfer_fail(struct kv_worker *w, struct kv_transfer *t, const struct queue *q,
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

static void window_send(struct kv_worker *w, struct kv_window *win, enum request_op op)
{
	struct kv_transfer *t = win->of;
	bool reads = op == REQ_READ;
	uint32_t lead = reads ? 0 : win->slot.req.answer.lead;
	struct request *req = &win->slot.req;

	*req = (struct request){.op = op,
				.object = kv_transfer_object(w, t, reads),
				.offset = t->task.at + win->at - win->head,
				.length = win->head + win->length + win->pad,
				.data = win->data ? (char *)win->data + lead - win->head : NULL};
	win->queue = kv_transfer_queue(w, reads ? &t->task.from : &t->task.to);
	win->state = reads ? KV_WINDOW_READS : KV_WINDOW_WRITES;
	queue_submit(win->queue, &req, 1);
}

static void window_make_head(const struct kv_worker *w, const struct kv_window *win, char *head)
{
	const struct kv_operation *what = &win->of->task.what;

	memset(head, 0, win->head);
	w->work->setup->slots->make(what->id, what->bytes, head);
}

static void window_fill(struct kv_worker *w, struct kv_window *win)
{
	struct kv_transfer *t = win->of;
	uint64_t begin_ns;

	if (!win->data || !end_keeps(w, &t->task.to))
		return;
	begin_ns = kv_transfer_now(w);
	if (win->head)
		window_make_head(w, win, (char *)win->data - win->head);
	if (t->task.bucket)
		kv_bucket_fill(t->task.bucket, kv_id_second(t->task.file), t->pattern,
			       w->work->seed, win->at, win->data, win->length);
	else
		pattern_fill(&t->pattern, 0, win->at, win->data, win->length);
	memset((char *)win->data + win->length, 0, win->pad);
	transfer_worked(w, t, KV_WORKER_FILL_NS, begin_ns);
}

/* Of a header that was read alone: how many bytes are right, all or none. */
static uint64_t window_check_head(const struct kv_worker *w, const struct kv_window *win)
{
	char head[KV_SLOT_PAGE];

	/* Nobody knows what is there. */
	if (kv_id_kind(win->of->task.what.id) != KV_KEY_BLOCK)
		return win->head;
	window_make_head(w, win, head);
	return memcmp(head, (char *)win->data - win->head, win->head) == 0 ? win->head : 0;
}

/* Compares the bytes of a piece with those that were written, or 4 KiB of them. */
static int window_check(struct kv_worker *w, struct kv_window *win)
{
	uint32_t verify = w->work->setup->options->verify;
	uint64_t at = 0, length = win->length, begin_ns, good;
	struct kv_transfer *t = win->of;
	const struct kv_bucket *bucket = t->task.bucket;
	const char *data = win->data;

	/* What a server starts from is always compared. */
	if (!data || (verify == VERIFY_NONE && !t->task.header && !bucket))
		return 0;
	begin_ns = kv_transfer_now(w);
	if (verify == VERIFY_SAMPLED && length > VERIFY_SAMPLE_BYTES && !bucket) {
		at = random_at(w->work->seed ^ verify_stream, w->draws++, win->at);
		at = at % (length - VERIFY_SAMPLE_BYTES + 1) & ~(uint64_t)7;
		length = VERIFY_SAMPLE_BYTES;
	}
	if (win->head)
		good = window_check_head(w, win);
	else if (bucket)
		good = memcmp(bucket->meta + win->at, data + win->slot.req.answer.lead, length)
			       ? 0
			       : length;
	else
		good = pattern_verify(&t->pattern, 0, win->at + at,
				      data + win->slot.req.answer.lead + at, length);
	transfer_worked(w, t, KV_WORKER_VERIFY_NS, begin_ns);
	if (good == win->head + length)
		return 0;
	w->member->counts[KV_WORKER_PAYLOAD_ERRORS]++;
	meter_error(&w->member->meter);
	win->slot.req.offset = t->task.at + win->at - win->head + at + good;
	return -EILSEQ;
}

/* The bytes of a piece that nobody has made are made now; those that are there are compared. Then
 * it goes on. */
void kv_window_have(struct kv_worker *w, struct kv_window *win)
{
	struct kv_transfer *t = win->of;
	const struct kv_task *task = &t->task;
	struct queue *from = kv_transfer_queue(w, &task->from);
	char text[FAILURE_TEXT_BYTES];

	if (!end_keeps(w, &task->from)) {
		window_fill(w, win);
	} else if (window_check(w, win) < 0) {
		answer_text_differs(text, win->slot.req.offset);
		win->slot.req.object = kv_transfer_object(w, t, true);
		win->slot.req.op = REQ_READ;
		kv_transfer_fail(w, t, from ? from : w->queues[0], &win->slot.req, -EILSEQ, text);
	}
	if (task->to.kind == KV_TIER_STORE && task->rc == 0) {
		window_send(w, win, REQ_WRITE);
		return;
	}
	if (task->from.kind == KV_TIER_CPU && task->what.kind == KV_OPERATION_READ &&
	    win->slot.buffer) {
		uint64_t begin_ns = kv_transfer_now(w);

		memcpy(win->slot.buffer, win->data, win->length);
		transfer_worked(w, t, KV_WORKER_COPY_NS, begin_ns);
	}
	kv_window_end(w, win);
}

/* What the page cache has of an entry, before anything of it is read: read-ahead would be taken for
 * an old copy. */
static void window_look(struct kv_worker *w, struct kv_transfer *t)
{
	struct residency *r = &w->residency;
	uint64_t sampled = r->sampled_bytes, resident = r->resident_bytes;

	residency_look(r, kv_transfer_queue(w, &t->task.from)->channel.store,
		       kv_transfer_object(w, t, true), t->task.at, t->task.what.bytes);
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

/* With direct I/O, the last piece of a block in a slot fills its page, also where the store goes by
 * smaller blocks. A window has room for that. */
static uint64_t window_pad(const struct kv_worker *w, const struct kv_window *win)
{
	uint64_t end = win->at + win->length;

	if (!w->work->setup->slots || w->work->stores[0].alignment <= 1 ||
	    end < win->of->task.what.bytes)
		return 0;
	return (KV_SLOT_PAGE - end % KV_SLOT_PAGE) % KV_SLOT_PAGE;
}

/* Whether the header of a slot has a request of its own. */
static bool window_head_apart(const struct kv_worker *w, const struct kv_transfer *t)
{
	return t->task.from.kind == KV_TIER_STORE || w->work->setup->slots->apart;
}

void kv_window_begin(struct kv_worker *w, struct kv_transfer *t)
{
	struct kv_window *win = kv_window_take(w, t);

	win->at = t->next;
	win->head = t->head;
	win->length = win->head && window_head_apart(w, t) ? 0 : window_bytes(w, t);
	win->data = win->slot.buffer ? (char *)win->slot.buffer + win->head : NULL;
	t->head = 0;
	win->pad = window_pad(w, win);
	t->next += win->length;
	t->busy++;
	if (t->block != KV_NONE) {
		win->data = kv_memory_block(w->work->memory, t->block);
		t->block = kv_memory_next(w->work->memory, t->block);
	}
	if (t->task.from.kind == KV_TIER_STORE && !win->at && !win->head)
		window_look(w, t);
	if (t->task.from.kind == KV_TIER_STORE)
		window_send(w, win, REQ_READ);
	else
		kv_window_have(w, win);
}
