#include "workloads/common/writer.h"

#include <errno.h>

static uint64_t fill(const struct object_write *o, uint64_t at, void *to, uint64_t n)
{
	struct clock *clock = o->w->crew->store->clock;
	uint64_t before_ns = clock_now(clock), ns;

	layout_image(o->layout, at, to, n);
	ns = clock_now(clock) - before_ns;
	*o->fill_ns += ns;
	return ns;
}

/* While the store waits for it. */
static int fill_window(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	const struct object_write *o = req->user;

	*o->wait_ns -= fill(o, offset, data, length);
	return 0;
}

static int send(struct object_write *o)
{
	uint64_t left = o->layout->size - o->at, n = left < o->piece ? left : o->piece;
	struct request *req = o->free[--o->free_count];

	*req = (struct request){
		.op = REQ_WRITE, .object = o->object, .offset = o->at, .length = n, .user = o};
	o->at += n;
	if (o->content) {
		req->data = (char *)o->w->buffer + (uint64_t)(req - o->reqs) * o->window;
		if (n <= o->window) {
			fill(o, req->offset, req->data, n);
		} else {
			req->buffer_bytes = o->window;
			req->chunk = fill_window;
		}
	}
	return queue_submit(&o->w->queue, &req, 1);
}

/* Waits for one at least. Time in which several were in flight counts once. */
static int receive(struct object_write *o)
{
	uint32_t n = queue_reap(&o->w->queue, o->done, 1, o->depth, UINT64_MAX);
	int rc = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct request *req = o->done[i];
		uint64_t from_ns =
			req->answer.submit_ns > o->done_ns ? req->answer.submit_ns : o->done_ns;

		if (req->answer.done_ns > from_ns) {
			*o->wait_ns += req->answer.done_ns - from_ns;
			o->done_ns = req->answer.done_ns;
		}
		if (req->answer.status && rc == 0)
			rc = crew_fail(o->w, req, req->answer.status, request_text(req));
		o->free[o->free_count++] = o->done[i];
	}
	return rc;
}

int object_write(struct object_write *o)
{
	int rc = 0, received;

	for (uint32_t i = o->depth; i-- > 0;)
		o->free[o->free_count++] = &o->reqs[i];
	while ((rc == 0 && o->at < o->layout->size) || o->free_count < o->depth) {
		if (rc == 0 && o->at < o->layout->size && o->free_count) {
			if (atomic_load_explicit(&o->w->crew->halt, memory_order_relaxed))
				rc = -ECANCELED;
			else
				rc = send(o);
			continue;
		}
		received = receive(o);
		rc = rc ? rc : received;
	}
	return rc;
}
