/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/picture.h"

#include <errno.h>
#include <inttypes.h>

#include "workloads/formats/payload.h"

int picture_check(const char *name, uint64_t samples, uint64_t smallest, uint64_t largest,
		  uint64_t size_min, struct err *err)
{
	if (samples > 1)
		return err_set(
			err, -EINVAL,
			"a %s file is one picture and holds one sample, samples_per_file is %" PRIu64,
			name, samples);
	if (smallest < size_min)
		return err_set(err, -EINVAL,
			       "a %s file has at least %" PRIu64
			       " bytes, the smallest sample would have %" PRIu64,
			       name, size_min, smallest);
	if (largest > PICTURE_BYTES_MAX)
		return err_set(err, -EINVAL,
			       "a %s file has at most %" PRIu64
			       " bytes here, the largest sample would have %" PRIu64,
			       name, PICTURE_BYTES_MAX, largest);
	return 0;
}

void picture_layout(struct layout *l, uint64_t header_bytes)
{
	l->size = l->sample_bytes;
	l->data_offset = header_bytes;
	l->data_bytes = l->size - l->data_offset;
	l->stride = l->size;
	l->id_at = l->data_offset - ID_BYTES;
	l->id_bytes = ID_BYTES;
}
