/* SPDX-License-Identifier: Apache-2.0 */
/* npy: one numpy array of bytes (NEP 1, version 1.0).
 *
 *   "\x93NUMPY" 1 0 | length of the text, u16 LE | text, spaces, newline | payload
 *   0               8                            10                      a multiple of 64
 *
 * A reader takes the header first (it holds the shape), then a sample's row. */
#include "workloads/formats/npy.h"

#include <string.h>

#include "workloads/formats/payload.h"

enum { NPY_TEXT_AT = 10, NPY_ALIGNMENT = 64 };

extern const struct walk_ops npy_walk;

static uint8_t *npy_put_text(uint8_t *at, const char *text)
{
	size_t n = strlen(text);

	memcpy(at, text, n);
	return at + n;
}

/* Written by hand: this is made for each file, and printf takes ten times as long. */
uint32_t npy_header(uint8_t *out, const char *descr, uint64_t samples, uint64_t sample_bytes)
{
	uint8_t *at = npy_put_text(out + NPY_TEXT_AT, "{'descr': '");
	uint32_t used, total;

	at = npy_put_text(at, descr);
	at = npy_put_text(at, "', 'fortran_order': False, 'shape': (");
	at = put_decimal(at, sample_bytes && samples <= 1 ? sample_bytes : samples);
	*at++ = ',';
	if (sample_bytes && samples > 1) {
		*at++ = ' ';
		at = put_decimal(at, sample_bytes);
	}
	at = npy_put_text(at, "), }");
	used = (uint32_t)(at - out);
	total = (used + 1 + NPY_ALIGNMENT - 1) / NPY_ALIGNMENT * NPY_ALIGNMENT;
	memset(at, ' ', total - used);
	out[total - 1] = '\n';
	memcpy(out, "\x93NUMPY\x01", 8); /* and the string's own zero */
	put_little(out + 8, total - NPY_TEXT_AT, 2);
	return total;
}

static void npy_make_header(const struct layout *l, uint8_t *out)
{
	npy_header(out, "|u1", l->samples, l->sample_bytes);
}

static void npy_layout(struct layout *l)
{
	uint8_t header[NPY_HEADER_MAX];

	l->data_offset = npy_header(header, "|u1", l->samples, l->sample_bytes);
	payload_contiguous(l);
}

static uint32_t npy_extents(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX])
{
	out[0] = (struct extent){.offset = 0, .length = l->data_offset};
	out[1] = (struct extent){.offset = l->data_offset + sample * l->sample_bytes,
				 .length = l->sample_bytes};
	return 2;
}

const struct format_ops format_npy = {
	.magic = {.bytes = "\x93NUMPY", .count = 6},
	.layout = npy_layout,
	.extents = npy_extents,
	.header = npy_make_header,
	.payload = payload_plain,
	.walk = &npy_walk,
	.count = npy_count,
};
