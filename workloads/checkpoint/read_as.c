#include "workloads/checkpoint/read_as.h"

#include "workloads/checkpoint/checkpoint.h"

/* X(name, readers per rank, MiB of a read). Each reader has one read in flight. Sources: mlpstorage's streaming
 * checkpoints (num_parallel_readers, and four of its chunks per read); PyDAOS's (64 MiB chunks over 4 processes). */
/* clang-format off */
#define READ_AS(X) \
	X("haul",       0, 0) \
	X("mlpstorage", 8, 128) \
	X("pydaos",     4, 64)
/* clang-format on */

#define READ_AS_NAME(name, readers, mib) name,
const char *const checkpoint_read_as_names[] = {READ_AS(READ_AS_NAME) NULL};
#undef READ_AS_NAME

static const struct {
	uint64_t readers, mib;
} read_as[] = {
#define READ_AS_ROW(name, readers, mib) {readers, mib},
	READ_AS(READ_AS_ROW)
#undef READ_AS_ROW
};

void checkpoint_read_as_preset(void *into)
{
	struct checkpoint_options *o = into;

	if (!read_as[o->read_as].readers)
		return;
	o->readers = read_as[o->read_as].readers;
	o->chunk = read_as[o->read_as].mib << 20;
	o->buffers = o->readers * o->chunk;
}
