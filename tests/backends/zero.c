/* SPDX-License-Identifier: Apache-2.0 */
/* Store zero://: every object exists, has the same size, and contains zeros. A reader's time on it
 * is the cost of haul and of moving bytes in memory. Nothing can be written.
 *
 * This is the example of docs/add-a-backend-example.md. */
#include <errno.h>
#include <string.h>

#include "backends/backend.h"
#include "core/option/option.h"

/* {"uri": "zero://any", "size": "1 MiB"} */
struct zero_options {
	struct store_options common; /* must be the first member */
	uint64_t size;
};

static const struct option zero_option_table[] = {
	OPT_BYTES("size", struct zero_options, size, .def = 1 << 20, .min = 1,
		  .help = "bytes of each object"),
	OPT_END,
};

static int zero_open(struct store *store, struct err *err)
{
	(void)store;
	(void)err;
	return 0;
}

/* A read ends at the end of the object. The queue turns a read of no bytes into -ENODATA. */
static void zero_read(struct request *req, uint64_t size)
{
	uint64_t at = req->offset + req->answer.done_bytes;
	uint64_t end = req->offset + req->length < size ? req->offset + req->length : size;

	if (at >= end)
		return;
	memset((char *)req->data + req->answer.done_bytes, 0, end - at);
	req->answer.done_bytes += end - at;
}

static void zero_do(const struct zero_options *o, struct request *req)
{
	switch (req->op) {
	case REQ_OPEN:
		req->object->size = o->size;
		req->object->state[0] = 1; /* the object is open */
		break;
	case REQ_READ:
		zero_read(req, o->size);
		break;
	case REQ_CLOSE:
		req->object->state[0] = 0;
		break;
	case REQ_STAT:
		req->object->size = o->size;
		req->answer.done_bytes = o->size;
		break;
	default:
		req->answer.status = -EROFS;
		req->answer.fault = REQ_FAULT_DENIED;
		break;
	}
}

static void zero_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		zero_do(c->store->options, reqs[i]);
}

static void zero_describe(const struct store *store, struct store_facts *facts)
{
	(void)store;
	facts->copies_read = 1;
}

const struct backend_ops zero_backend = {
	.scheme = "zero",
	.help = "objects of zeros: measures haul and the memory",
	.section =
		{
			.name = "zero",
			.help = "objects of zeros: measures haul and the memory",
			.tables = {store_common_options, zero_option_table},
			.size = sizeof(struct zero_options),
			.owner = &zero_backend,
		},
	.capabilities = BACKEND_CONTENT | BACKEND_RANGES | BACKEND_ATOMIC_COMMIT |
			BACKEND_MANY_NODES | BACKEND_DEPTH,
	.depth_max = QUEUE_DEPTH_MAX,
	.open = zero_open,
	.submit = zero_submit,
	.describe = zero_describe,
};
