/* SPDX-License-Identifier: Apache-2.0 */
/* raw: the samples one after another, nothing else. */
#include "workloads/formats/payload.h"

/* Files of unknown inner layout, which haul did not make. A reader takes a file of one sample
 * whole. Of a file of several samples it takes equal parts, in their order, so that an epoch reads
 * each byte once. */

static void parts_layout(struct layout *l)
{
	l->size = payload_bytes(l);
}

static uint64_t parts_begin(const struct layout *l, uint64_t sample)
{
	return (uint64_t)((unsigned __int128)l->size * sample / l->samples);
}

static uint32_t parts_extents(const struct layout *l, uint64_t sample,
			      struct extent out[FORMAT_EXTENTS_MAX])
{
	uint64_t begin = parts_begin(l, sample);

	out[0] = (struct extent){.offset = begin, .length = parts_begin(l, sample + 1) - begin};
	return 1;
}

const struct format_ops format_parts = {
	.layout = parts_layout,
	.extents = parts_extents,
};

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
