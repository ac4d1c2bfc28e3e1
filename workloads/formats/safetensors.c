/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: a tensor of bytes per sample, "sample.0", …, in the format in which models are
 * stored.
 *
 *   | n u64 | {"__metadata__":…, | a row per tensor } spaces | tensor 0 | tensor 1 | …
 *   0       8                    data_offset                 8 + n, a multiple of 8
 *   `---------- header ----------´
 *
 *   row: "sample.07":{"dtype":"U8","shape":[1000],"data_offsets":[  7000,  8000]},
 *
 * Numbers are padded, so all rows have one length and any row can be made on its own; JSON allows
 * the spaces. A reader takes n and the JSON once, then one tensor after another from the open file.
 * Source: the format's README, "Format"; its own reader refuses a header above 100 MB. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/payload.h"

enum { COUNT_BYTES = 8, ROW_MAX = 192, JSON_MAX = 100000000 };

static const char safetensors_begin[] = "{\"__metadata__\":{\"format\":\"haul\"},";

static int safetensors_check(const void *options, uint64_t samples, uint64_t smallest,
			     uint64_t largest, struct err *err);
static void safetensors_layout(struct layout *l);
static uint32_t safetensors_extents(const struct layout *l, uint64_t sample,
				    struct extent out[FORMAT_EXTENTS_MAX]);
static void safetensors_header(const struct layout *l, uint8_t *out);
static void safetensors_payload(const struct layout *l, uint64_t offset, void *data,
				uint64_t length);

extern const struct walk_ops safetensors_walk;

const struct format_ops format_safetensors = {
	.stays_open = true,
	.check = safetensors_check,
	.layout = safetensors_layout,
	.extents = safetensors_extents,
	.header = safetensors_header,
	.payload = safetensors_payload,
	.walk = &safetensors_walk,
};

static int safetensors_digits(uint64_t value)
{
	int n = 1;

	while (value >= 10) {
		value /= 10;
		n++;
	}
	return n;
}

/* Tensor i's row; returns its length, the same for all i. */
static uint32_t safetensors_make_row(char *row, uint64_t i, uint64_t samples, uint64_t sample_bytes)
{
	int width = safetensors_digits(samples * sample_bytes);

	return (uint32_t)snprintf(row, ROW_MAX,
				  "\"sample.%0*" PRIu64 "\":{\"dtype\":\"U8\",\"shape\":[%" PRIu64
				  "],\"data_offsets\":[%*" PRIu64 ",%*" PRIu64 "]}%c",
				  safetensors_digits(samples - 1), i, sample_bytes, width,
				  i * sample_bytes, width, (i + 1) * sample_bytes,
				  i + 1 == samples ? '}' : ',');
}

/* Bytes of all rows. */
static uint64_t safetensors_rows_bytes(uint64_t samples, uint64_t sample_bytes)
{
	char row[ROW_MAX];

	return samples * safetensors_make_row(row, 0, samples, sample_bytes);
}

static int safetensors_check(const void *options, uint64_t samples, uint64_t smallest,
			     uint64_t largest, struct err *err)
{
	uint64_t bytes =
		safetensors_rows_bytes(samples, largest) + sizeof(safetensors_begin) + COUNT_BYTES;

	(void)options;
	(void)smallest;
	if (bytes <= JSON_MAX)
		return 0;
	return err_set(err, -EINVAL,
		       "the header of a safetensors file has at most 100 MB, with %" PRIu64
		       " tensors it would have %" PRIu64 " bytes",
		       samples, bytes);
}

/* The data part begins with the rows; the tensors begin with sample 0's id, or where it would
 * be. */
static void safetensors_layout(struct layout *l)
{
	uint64_t rows = safetensors_rows_bytes(l->samples, l->sample_bytes);
	uint64_t json = (sizeof(safetensors_begin) - 1 + rows + 7) / 8 * 8;

	l->data_offset = COUNT_BYTES + sizeof(safetensors_begin) - 1;
	l->id_at = COUNT_BYTES + json;
	l->id_bytes = l->sample_bytes < ID_BYTES ? 0 : ID_BYTES;
	l->stride = l->sample_bytes;
	l->size = l->id_at + payload_bytes(l);
	l->data_bytes = l->size - l->data_offset;
}

static void safetensors_header(const struct layout *l, uint8_t *out)
{
	put_little(out, l->id_at - COUNT_BYTES, COUNT_BYTES);
	memcpy(out + COUNT_BYTES, safetensors_begin, sizeof(safetensors_begin) - 1);
}

static uint32_t safetensors_extents(const struct layout *l, uint64_t sample,
				    struct extent out[FORMAT_EXTENTS_MAX])
{
	out[0] = (struct extent){.offset = 0, .length = COUNT_BYTES, .cache = CACHE_FOR_FILE};
	out[1] = (struct extent){
		.offset = COUNT_BYTES, .length = l->id_at - COUNT_BYTES, .cache = CACHE_FOR_FILE};
	out[2] = (struct extent){.offset = l->id_at + sample * l->stride, .length = l->stride};
	return 3;
}

/* The bytes of the rows from position at on, up to length; returns how many were made. */
static uint64_t safetensors_make_rows(const struct layout *l, uint64_t at, uint8_t *data,
				      uint64_t length)
{
	uint64_t total = safetensors_rows_bytes(l->samples, l->sample_bytes), done = 0;
	char row[ROW_MAX];

	while (done < length && at + done < total) {
		uint64_t row_bytes = total / l->samples;
		uint64_t from = (at + done) % row_bytes;
		uint64_t n = row_bytes - from;

		if (n > length - done)
			n = length - done;
		safetensors_make_row(row, (at + done) / row_bytes, l->samples, l->sample_bytes);
		memcpy(data + done, row + from, n);
		done += n;
	}
	return done;
}

static void safetensors_payload(const struct layout *l, uint64_t offset, void *data,
				uint64_t length)
{
	uint8_t *out = data;

	if (offset < l->id_at) {
		uint64_t n = l->id_at - offset < length ? l->id_at - offset : length;
		uint64_t made = safetensors_make_rows(l, offset - l->data_offset, out, n);

		memset(out + made, ' ', n - made);
		out += n;
		offset += n;
		length -= n;
	}
	if (!length)
		return;
	fill(l->key, offset - l->id_at, out, length);
	payload_stamp_ids(l, l->stride, offset - l->id_at, out, length);
}
