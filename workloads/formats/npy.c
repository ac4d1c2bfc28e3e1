/* npy: one numpy array of bytes (NEP 1, version 1.0).
 *
 *   "\x93NUMPY" 1 0 | length of the text, u16 LE | text, spaces, newline | payload
 *   0               8                            10                      a multiple of 64
 *
 * A reader takes the header first (it holds the shape), then a sample's row. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

enum { NPY_TEXT_AT = 10, NPY_ALIGNMENT = 64 };

uint32_t npy_header(uint8_t *out, const char *descr, uint64_t samples, uint64_t sample_bytes)
{
	char *text = (char *)out + NPY_TEXT_AT;
	size_t room = NPY_HEADER_MAX - NPY_TEXT_AT;
	char shape[48];
	uint32_t used, total;

	if (sample_bytes && samples > 1)
		snprintf(shape, sizeof(shape), "%" PRIu64 ", %" PRIu64, samples, sample_bytes);
	else
		snprintf(shape, sizeof(shape), "%" PRIu64 ",",
			 sample_bytes ? sample_bytes : samples);
	used = (uint32_t)snprintf(text, room,
				  "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr,
				  shape);
	total = (NPY_TEXT_AT + used + 1 + NPY_ALIGNMENT - 1) / NPY_ALIGNMENT * NPY_ALIGNMENT;
	memset(text + used, ' ', total - NPY_TEXT_AT - used);
	out[total - 1] = '\n';
	memcpy(out, "\x93NUMPY\x01", 8); /* and the string's own zero */
	out[8] = (uint8_t)(total - NPY_TEXT_AT);
	out[9] = (uint8_t)((total - NPY_TEXT_AT) >> 8);
	return total;
}

static void npy_layout(struct layout *l)
{
	l->header_bytes = npy_header(l->header, "|u1", l->samples, l->sample_bytes);
	l->data_offset = l->header_bytes;
	l->trailer_bytes = 0;
	payload_contiguous(l);
	l->gap_at = 0;
	l->gap_bytes = 0;
	l->size = l->data_offset + payload_bytes(l);
}

static uint32_t npy_extents(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX])
{
	out[0] = (struct extent){.offset = 0, .length = l->header_bytes};
	out[1] = (struct extent){.offset = l->data_offset + sample * l->sample_bytes,
				 .length = l->sample_bytes};
	return 2;
}

const struct format_ops format_npy = {
	.name = "npy",
	.help = "one numpy array of bytes, a row a sample",
	.begins = "\x93NUMPY",
	.begins_bytes = 6,
	.unit = 1,
	.layout = npy_layout,
	.extents = npy_extents,
	.payload = payload_plain,
	.walk = walk_npy,
	.walk_end = walk_npy_end,
};
