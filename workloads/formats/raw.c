/* SPDX-License-Identifier: Apache-2.0 */
/* raw: the samples one after another, nothing else. */
#include "workloads/formats/payload.h"

static uint32_t raw_extents(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX])
{
	out[0] = (struct extent){.offset = sample * l->sample_bytes, .length = l->sample_bytes};
	return 1;
}

const struct format_ops format_raw = {
	.streams = true,
	.layout = payload_contiguous,
	.extents = raw_extents,
	.payload = payload_plain,
};
