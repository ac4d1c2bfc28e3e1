/* null://: every request succeeds at once and moves nothing, so that what a run takes on it is
 * haul's own cost. An object's size is 0 until written, then what the writes reached. */
#include "backends/queue/queue.h"
#include "backends/store.h"
#include "backends/stores.h"

static int null_open(struct store *store, struct err *err)
{
	(void)store;
	(void)err;
	return 0;
}

static void null_do(struct io *io)
{
	struct object *o = io->object;

	switch (io->op) {
	case IO_WRITE:
		word_raise(&o->state[0], io->offset + io->length);
		/* fall through */
	case IO_READ:
		io->done_bytes = io->length;
		break;
	case IO_COMMIT:
		io->done_bytes = o->state[0];
		o->state[0] = 0;
		break;
	case IO_OPEN:
	case IO_STAT:
		o->size = 0;
		break;
	case IO_LIST:
		io->listing->more = false;
		break;
	case IO_UPDATE:
		o->size = 0;
		/* fall through */
	case IO_BEGIN:
	case IO_ABORT:
		o->state[0] = 0;
		break;
	default:
		break;
	}
}

static void null_submit(struct channel *c, struct io *const *ios, uint32_t n)
{
	(void)c;
	for (uint32_t i = 0; i < n; i++)
		null_do(ios[i]);
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
			BACKEND_SHARED,
	.depth_max = QUEUE_DEPTH_MAX,
	.open = null_open,
	.submit = null_submit,
};
