/* raw: the samples one after another, nothing else. */
#include "workloads/formats/payload.h"

static void raw_layout(struct layout *l)
{
	l->header_bytes = 0;
	l->data_offset = 0;
	l->trailer_bytes = 0;
	payload_contiguous(l);
	l->gap_at = 0;
	l->gap_bytes = 0;
	l->size = payload_bytes(l);
}

static uint32_t raw_extents(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX])
{
	out[0] = (struct extent){.offset = sample * l->sample_bytes, .length = l->sample_bytes};
	return 1;
}

const struct format_ops format_raw = {
	.name = "raw",
	.help = "samples one after another, without a header",
	.streams = true,
	.unit = 1,
	.layout = raw_layout,
	.extents = raw_extents,
	.payload = payload_plain,
};
