/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/payload.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/content/fill.h"

uint64_t payload_bytes(const struct layout *l)
{
	return l->samples * l->sample_bytes;
}

void payload_contiguous(struct layout *l)
{
	l->data_bytes = payload_bytes(l);
	l->size = l->data_offset + l->data_bytes;
	l->stride = l->sample_bytes;
	l->id_at = l->data_offset;
	l->id_bytes = l->sample_bytes < ID_BYTES ? 0 : ID_BYTES;
}

void payload_plain(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	uint64_t at = offset - l->data_offset;

	fill(l->key, at, data, length);
	payload_stamp_ids(l, l->stride, at, data, length);
}

uint32_t payload_whole_file(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX])
{
	(void)sample;
	out[0] = (struct extent){.offset = 0, .length = l->size};
	return 1;
}

void payload_stamp_ids(const struct layout *l, uint64_t stride, uint64_t at, void *data,
		       uint64_t length)
{
	uint64_t end = at + length;
	uint64_t sample;
	uint8_t *out = data;

	if (!l->id_bytes)
		return;
	sample = at / stride;
	if (at % stride >= ID_BYTES)
		sample++;
	for (uint64_t start = sample * stride; start < end && sample < l->samples;
	     start += stride, sample++) {
		uint64_t id = htole64(l->first_id + sample);
		uint64_t from = start < at ? at - start : 0;
		uint64_t to = end - start < ID_BYTES ? end - start : ID_BYTES;

		if (to - from == ID_BYTES)
			memcpy(out + (start - at), &id, ID_BYTES);
		else
			memcpy(out + (start + from - at), (const uint8_t *)&id + from, to - from);
	}
}

uint8_t *put_decimal(uint8_t *at, uint64_t value)
{
	uint8_t digits[ID_DIGITS];
	unsigned n = 0;

	do
		digits[n++] = (uint8_t)('0' + value % 10);
	while (value /= 10);
	while (n)
		*at++ = digits[--n];
	return at;
}

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
