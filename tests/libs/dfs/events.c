/* SPDX-License-Identifier: Apache-2.0 */
/* Event queues of the test library. A request waits in its queue until its time has come, and is
 * carried out by the thread that polls the queue. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/libs/dfs/test_dfs.h"

enum { CODE_INVALID = -1003, CODE_BUSY = -1012, CODE_NO_PERMISSION = -1001 };
enum event_status { EVENT_NONE, EVENT_READY, EVENT_RUNNING };

/* What an event's own words hold. */
struct request {
	struct queue *queue;
	uint64_t status; /* enum event_status */
	struct dfs_object *object;
	void *data;
	uint64_t length, offset;
	uint64_t *bytes; /* NULL: a write */
	uint64_t due_ns;
	int64_t code; /* the request fails with it */
};
_Static_assert(sizeof(struct request) <= sizeof(((struct dfs_event *)NULL)->internal),
	       "fits into the event");

struct queue {
	pthread_mutex_t lock;
	uint32_t count, most, capacity;
	uint64_t draw;
	struct dfs_event *flying[];
};

static struct request *request_of(struct dfs_event *event)
{
	return (struct request *)event->internal;
}

static struct queue *queue_of(struct dfs_handle handle)
{
	return (struct queue *)(uintptr_t)handle.cookie;
}

int daos_eq_create(struct dfs_handle *handle)
{
	uint32_t capacity = test_events();
	int code = test_fault(TEST_queue);
	struct queue *q;

	if (code)
		return code;
	q = calloc(1, sizeof(*q) + capacity * sizeof(struct dfs_event *));
	if (!q)
		return -1009;
	pthread_mutex_init(&q->lock, NULL);
	q->capacity = capacity;
	handle->cookie = (uintptr_t)q;
	test_opened(TEST_QUEUES, 1);
	test_log("queue");
	return 0;
}

int daos_eq_destroy(struct dfs_handle handle, int flags)
{
	struct queue *q = queue_of(handle);

	/* It waits for servers, even by force. */
	if (q->count)
		test_hang();
	if (q->count && !(flags & DFS_DESTROY_FORCE)) {
		test_log("wrong: a queue is destroyed with %u requests in flight", q->count);
		return CODE_BUSY;
	}
	test_log("window %u", q->most);
	for (uint32_t i = 0; i < q->count; i++)
		atomic_fetch_sub(&request_of(q->flying[i])->object->flying, 1);
	pthread_mutex_destroy(&q->lock);
	free(q);
	test_opened(TEST_QUEUES, -1);
	return 0;
}

int daos_event_init(struct dfs_event *event, struct dfs_handle handle, struct dfs_event *parent)
{
	if (parent || !handle.cookie)
		return CODE_INVALID;
	memset(event, 0, sizeof(*event));
	request_of(event)->queue = queue_of(handle);
	request_of(event)->status = EVENT_READY;
	return 0;
}

int daos_event_fini(struct dfs_event *event)
{
	if (request_of(event)->status == EVENT_RUNNING) {
		test_log("wrong: an event is finished while it runs");
		return CODE_BUSY;
	}
	request_of(event)->status = EVENT_NONE;
	return 0;
}

int test_events_move(const struct dfs_object *object, void *data, uint64_t length, uint64_t offset,
		     uint64_t *bytes)
{
	uint64_t chunk = test_chunk(), done = 0;

	if (bytes && chunk && length > chunk - offset % chunk)
		length = chunk - offset % chunk;
	while (done < length) {
		char *at = (char *)data + done;
		ssize_t n = bytes ? pread(object->fd, at, length - done, (off_t)(offset + done))
				  : pwrite(object->fd, at, length - done, (off_t)(offset + done));

		if (n < 0 && errno != EINTR)
			return errno;
		if (n == 0)
			break;
		done += n > 0 ? (uint64_t)n : 0;
	}
	if (bytes)
		*bytes = done;
	return 0;
}

int test_events_start(struct dfs_object *object, const struct dfs_scatter *buffers, uint64_t offset,
		      uint64_t *bytes, struct dfs_event *event)
{
	enum test_kind kind = bytes ? TEST_read : TEST_write;
	struct request *r = request_of(event);
	struct queue *q = r->queue;
	int code = test_fault(kind), rc = 0;

	if (code > 0)
		return code;
	if (test_stale())
		return EINVAL;
	if (r->status != EVENT_READY || buffers->count != 1) {
		test_log("wrong: an event that is not ready is used");
		return EPERM;
	}
	pthread_mutex_lock(&q->lock);
	if (q->count == q->capacity) {
		rc = EBUSY;
	} else {
		r->object = object;
		r->data = buffers->iovs[0].data;
		r->length = buffers->iovs[0].length;
		r->offset = offset;
		r->bytes = bytes;
		r->due_ns = test_now_ns() + test_delay_ns(kind);
		r->code = test_errno(test_lost() ? EHOSTUNREACH : code);
		r->status = EVENT_RUNNING;
		atomic_fetch_add(&object->flying, 1);
		q->flying[q->count++] = event;
		q->most = q->count > q->most ? q->count : q->most;
	}
	pthread_mutex_unlock(&q->lock);
	return rc;
}

static void request_carry_out(struct dfs_event *event)
{
	struct request *r = request_of(event);

	event->error =
		r->code ? (int)r->code
			: test_events_move(r->object, r->data, r->length, r->offset, r->bytes);
	atomic_fetch_sub(&r->object->flying, 1);
	r->status = EVENT_READY;
}

/* Takes those whose time has come: in their order, or in any. Returns how many, and when the next
 * one comes. */
static unsigned int queue_take(struct queue *q, struct dfs_event **done, unsigned int most,
			       uint64_t *next_ns)
{
	uint64_t now_ns = test_now_ns();
	unsigned int n = 0;
	uint32_t kept = 0;

	*next_ns = UINT64_MAX;
	if (test_hangs()) {
		*next_ns = q->count ? now_ns + 10000000 : UINT64_MAX;
		return 0;
	}
	if (test_disorder() && q->count > 1) {
		for (uint32_t i = q->count - 1; i > 0; i--) {
			uint32_t other = (uint32_t)((q->draw >> 33) % (i + 1));
			struct dfs_event *event = q->flying[i];

			q->draw = q->draw * 6364136223846793005u + 1442695040888963407u;
			q->flying[i] = q->flying[other];
			q->flying[other] = event;
		}
	}
	for (uint32_t i = 0; i < q->count; i++) {
		struct request *r = request_of(q->flying[i]);

		if (n < most && r->due_ns <= now_ns) {
			done[n++] = q->flying[i];
			continue;
		}
		*next_ns = r->due_ns < *next_ns ? r->due_ns : *next_ns;
		q->flying[kept++] = q->flying[i];
	}
	q->count = kept;
	return n;
}

int daos_eq_poll(struct dfs_handle handle, int running_only, int64_t timeout_us, unsigned int most,
		 struct dfs_event **done)
{
	struct queue *q = queue_of(handle);
	uint64_t until_ns =
		timeout_us < 0 ? UINT64_MAX : test_now_ns() + (uint64_t)timeout_us * 1000;
	uint64_t next_ns;
	unsigned int n;
	int code = test_fault(TEST_poll);

	if (code || most == 0)
		return code ? code : CODE_INVALID;
	for (;;) {
		pthread_mutex_lock(&q->lock);
		n = queue_take(q, done, most, &next_ns);
		pthread_mutex_unlock(&q->lock);
		if (n || test_now_ns() >= until_ns || (running_only && next_ns == UINT64_MAX))
			break;
		test_sleep_until(next_ns < until_ns ? next_ns : until_ns);
	}
	for (unsigned int i = 0; i < n; i++)
		request_carry_out(done[i]);
	return (int)n;
}
