/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: the tensors behind a header of JSON.
 *
 *	| n u64 | {"__metadata__":…, a row per tensor } spaces | tensor 0 | tensor 1 | …
 *	0       8                                              8 + n, a multiple of 8
 *
 *	row: ,"lm_head.weight":{"dtype":"F16","shape":[128256,512],"data_offsets":[0,131334144]}
 *
 * As the format's own writer does it, but for the order of the tensors, which is the caller's. Readers refuse a header of
 * more than 100 MB. Source: README of huggingface/safetensors, "Format". */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "workloads/archive/archive.h"
#include "workloads/archive/kind.h"
#include "workloads/formats/payload.h"

enum {
	COUNT_BYTES = 8,
	SAFETENSORS_ALIGNMENT = 8,
	SAFETENSORS_ROW_MAX = TENSOR_NAME_BYTES + 192,
	JSON_MAX = 100000000
};

/* What stands before the rows; of parts with what torch's distributed checkpoints tell of them, JSON in a text of JSON. */
static const char safetensors_begin[] = "{\"__metadata__\":{",
		  safetensors_pt[] = "\"format\":\"pt\"}";
static const char parts_begin[] = "\"DCP_SHARDING_INFO\":\"{",
		  parts_end[] = "}\",\"DCP_VERSION\":\"1.0\",";

static const char *const dtypes[MODEL_TYPE_COUNT] = {
	[MODEL_FP64] = "F64",    [MODEL_FP32] = "F32", [MODEL_FP16] = "F16", [MODEL_BF16] = "BF16",
	[MODEL_FP8] = "F8_E4M3", [MODEL_INT8] = "I8",  [MODEL_UINT8] = "U8",
};

static uint8_t *put_chars(uint8_t *out, const char *text, uint64_t *bytes)
{
	uint64_t n = strlen(text);

	*bytes += n;
	if (!out)
		return NULL;
	memcpy(out, text, n);
	return out + n;
}

/* Writes what stands before the rows at out (NULL: nowhere), adds its bytes and returns its end. */
static uint8_t *safetensors_put_begin(const struct archive *a, uint8_t *out, uint64_t *bytes)
{
	const struct archive_tensors *all = &a->tensors;
	char row[SAFETENSORS_ROW_MAX];

	out = put_chars(out, safetensors_begin, bytes);
	if (!all->part)
		return put_chars(out, safetensors_pt, bytes);
	out = put_chars(out, parts_begin, bytes);
	for (uint64_t i = 0; i < all->count; i++) {
		struct archive_part p;
		struct tensor t;
		int n;

		all->tensor(all->argument, i, &t);
		all->part(all->argument, i, &p);
		n = snprintf(row, sizeof(row), "%s\\\"%s\\\": {\\\"saved_offsets\\\": [",
			     i ? ", " : "", t.name);
		for (uint32_t d = 0; d < t.dimensions; d++)
			n += snprintf(row + n, sizeof(row) - (size_t)n, "%s%" PRIu64, d ? ", " : "",
				      p.offset[d]);
		snprintf(row + n, sizeof(row) - (size_t)n, "]}");
		out = put_chars(out, row, bytes);
	}
	return put_chars(put_chars(out, parts_end, bytes), safetensors_pt, bytes);
}

/* Tensor i's row, whose bytes begin at `at` behind the header; returns its length and moves at
 * on. */
static uint32_t safetensors_row(const struct archive *a, uint64_t i, uint64_t *at,
				char row[SAFETENSORS_ROW_MAX])
{
	struct tensor t;
	int n;

	archive_stored(a, i, &t);
	n = snprintf(row, SAFETENSORS_ROW_MAX, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", t.name,
		     dtypes[t.type]);
	for (uint32_t d = 0; d < t.dimensions; d++)
		n += snprintf(row + n, (size_t)(SAFETENSORS_ROW_MAX - n), "%s%" PRIu64,
			      d ? "," : "", t.shape[d]);
	n += snprintf(row + n, (size_t)(SAFETENSORS_ROW_MAX - n),
		      "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", *at, *at + t.bytes);
	*at += t.bytes;
	return (uint32_t)n;
}

static int safetensors_lay_out(struct archive *a, struct err *err)
{
	uint64_t json = 1, at = 0; /* the closing bracket */
	char row[SAFETENSORS_ROW_MAX];

	safetensors_put_begin(a, NULL, &json);
	for (uint64_t i = 0; i < a->tensors.count; i++)
		json += safetensors_row(a, i, &at, row);
	json = (json + SAFETENSORS_ALIGNMENT - 1) / SAFETENSORS_ALIGNMENT * SAFETENSORS_ALIGNMENT;
	if (json > JSON_MAX)
		return err_set(err, -EINVAL,
			       "the header of a safetensors file has at most 100 MB; with %" PRIu64
			       " tensors it would have %" PRIu64 " bytes",
			       a->tensors.count, json);
	archive_contiguous(a, COUNT_BYTES + json);
	return 0;
}

static void safetensors_header(const struct archive *a, uint8_t *out)
{
	uint8_t *end = out + a->header_bytes;
	char row[SAFETENSORS_ROW_MAX];
	uint64_t at = 0, begin = 0;

	out = put_little(out, a->header_bytes - COUNT_BYTES, COUNT_BYTES);
	out = safetensors_put_begin(a, out, &begin);
	for (uint64_t i = 0; i < a->tensors.count; i++) {
		uint32_t n = safetensors_row(a, i, &at, row);

		memcpy(out, row, n);
		out += n;
	}
	*out++ = '}';
	memset(out, ' ', (size_t)(end - out));
}

const struct archive_ops archive_safetensors = {
	.lay_out = safetensors_lay_out,
	.header = safetensors_header,
};
