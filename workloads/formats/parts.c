/* Files that haul did not make, of whatever format: their inner layout is not known. A file of one
 * sample is read whole; one of several in equal parts, in their order, so that an epoch reads each
 * byte once. Nothing of this kind is ever made or verified. */
#include "workloads/formats/payload.h"

static void parts_layout(struct layout *l)
{
	l->size = payload_bytes(l);
	l->id_bytes = 0;
}

static uint64_t part_begin(const struct layout *l, uint64_t sample)
{
	return (uint64_t)((unsigned __int128)l->size * sample / l->samples);
}

static uint32_t parts_extents(const struct layout *l, uint64_t sample,
			      struct extent out[FORMAT_EXTENTS_MAX])
{
	uint64_t begin = part_begin(l, sample);

	out[0] = (struct extent){.offset = begin, .length = part_begin(l, sample + 1) - begin};
	return 1;
}

const struct format_ops format_parts = {
	.name = "parts",
	.help = "files of unknown inner layout",
	.layout = parts_layout,
	.extents = parts_extents,
};
