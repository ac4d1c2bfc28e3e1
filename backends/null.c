/* SPDX-License-Identifier: Apache-2.0 */
/* Store null://: every request succeeds at once and moves nothing, so that the time of a run on it
 * is haul's own cost. The size of an object is 0 until it is written, then the end of the
 * writes. */
#include "backends/backend.h"
#include "backends/store.h"
#include "backends/stores.h"

static int null_open(struct store *store, struct err *err)
{
	(void)store;
	(void)err;
	return 0;
}

static void null_do(struct request *req)
{
	struct object *o = req->object;

	switch (req->op) {
	case REQ_WRITE:
		word_raise(&o->state[0], req->offset + req->length);
		/* fall through */
	case REQ_READ:
		req->answer.done_bytes = req->length;
		break;
	case REQ_COMMIT:
		req->answer.done_bytes = o->state[0];
		o->state[0] = 0;
		break;
	case REQ_OPEN:
	case REQ_STAT:
		o->size = 0;
		break;
	case REQ_LIST:
		req->listing->more = false;
		break;
	case REQ_UPDATE:
		o->size = 0;
		/* fall through */
	case REQ_BEGIN:
	case REQ_ABORT:
		o->state[0] = 0;
		break;
	default:
		break;
	}
}

static void null_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	(void)c;
	for (uint32_t i = 0; i < n; i++)
		null_do(reqs[i]);
}

const struct backend_ops null_backend = {
	.scheme = "null",
	.help = "no I/O at all: measures haul itself",
	.section =
		{
			.name = "null",
			.help = "no I/O at all: measures haul itself",
			.tables = {store_common_options},
			.size = sizeof(struct store_options),
			.owner = &null_backend,
		},
	.capabilities = BACKEND_RANGES | BACKEND_ATOMIC_COMMIT | BACKEND_MANY_NODES |
			BACKEND_DEPTH | BACKEND_RENAME | BACKEND_LIST | BACKEND_UPDATE |
			BACKEND_SHARED | BACKEND_LIST_PARTS | BACKEND_WRITES,
	.depth_max = QUEUE_DEPTH_MAX,
	.open = null_open,
	.submit = null_submit,
};
