#include "workloads/formats/format.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/payload.h"

static const struct format_ops *const formats[] = {
	[FORMAT_RAW] = &format_raw,
	[FORMAT_NPY] = &format_npy,
	[FORMAT_NPZ] = &format_npz,
	[FORMAT_TFRECORD] = &format_tfrecord,
	[FORMAT_PNG] = &format_png,
	[FORMAT_JPEG] = &format_jpeg,
	[FORMAT_CSV] = &format_csv,
	[FORMAT_HDF5] = &format_hdf5,
	[FORMAT_SAFETENSORS] = &format_safetensors,
	[FORMAT_PARQUET] = &format_parquet,
	[FORMAT_INDEXED_BINARY] = &format_indexed_binary,
	[FORMAT_MMAP_INDEXED_BINARY] = &format_mmap_indexed_binary,
	NULL,
};

const char *const format_names[] = {
	[FORMAT_RAW] = "raw",
	[FORMAT_NPY] = "npy",
	[FORMAT_NPZ] = "npz",
	[FORMAT_TFRECORD] = "tfrecord",
	[FORMAT_PNG] = "png",
	[FORMAT_JPEG] = "jpeg",
	[FORMAT_CSV] = "csv",
	[FORMAT_HDF5] = "hdf5",
	[FORMAT_SAFETENSORS] = "safetensors",
	[FORMAT_PARQUET] = "parquet",
	[FORMAT_INDEXED_BINARY] = "indexed_binary",
	[FORMAT_MMAP_INDEXED_BINARY] = "mmap_indexed_binary",
	NULL,
};

const struct format_ops *const *format_table(void)
{
	return formats;
}

uint32_t format_objects(const struct format_ops *format)
{
	uint32_t n = 1;

	while (n < FORMAT_OBJECTS_MAX && format->beside[n - 1][0])
		n++;
	return n;
}

void layout_make(struct layout *l)
{
	l->logical_bytes = l->sample_bytes;
	l->group_samples = 0;
	l->format->layout(l);
}

void layout_beside(const struct layout *l, uint32_t object, struct layout *out)
{
	*out = *l;
	out->object = object;
	layout_make(out);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The trailer's bytes from position at, counted with the gap; returns how many were made. */
static uint64_t trailer_part(const struct layout *l, uint64_t at, void *data, uint64_t length)
{
	uint64_t n;

	if (at < l->gap_at) {
		n = smaller(length, l->gap_at - at);
		memcpy(data, l->trailer + at, n);
	} else if (at - l->gap_at < l->gap_bytes) {
		n = smaller(length, l->gap_at + l->gap_bytes - at);
		memset(data, 0, n);
	} else {
		at -= l->gap_bytes;
		n = smaller(length, l->trailer_bytes - at);
		memcpy(data, l->trailer + at, n);
	}
	return n;
}

void layout_image(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	uint64_t payload_end = l->data_offset + l->data_bytes;
	uint8_t *out = data;

	if (offset >= l->size)
		return;
	length = smaller(length, l->size - offset);
	while (length) {
		uint64_t n;

		if (offset < l->data_offset) {
			n = smaller(length, l->data_offset - offset);
			memcpy(out, l->header + offset, n);
		} else if (offset < payload_end) {
			n = smaller(length, payload_end - offset);
			l->format->payload(l, offset, out, n);
		} else {
			n = trailer_part(l, offset - payload_end, out, length);
		}
		out += n;
		offset += n;
		length -= n;
	}
}

uint64_t layout_verify(const struct layout *l, uint64_t offset, const void *data, uint64_t length,
		       void *scratch)
{
	const uint8_t *have = data, *want = scratch;
	uint64_t done = 0;

	while (done < length) {
		/* Pieces end where units do, so that no unit is made twice. */
		uint64_t at = offset + done;
		uint64_t into =
			at < l->data_offset ? 0 : (at - l->data_offset) % LAYOUT_SCRATCH_BYTES;
		uint64_t n = smaller(length - done, LAYOUT_SCRATCH_BYTES - into);

		if (at >= l->size)
			return done;
		if (at < l->data_offset)
			n = smaller(n, l->data_offset - at);
		n = smaller(n, l->size - at);
		layout_image(l, at, scratch, n);
		if (memcmp(have + done, want, n) != 0) {
			for (uint64_t i = 0; i < n; i++)
				if (have[done + i] != want[i])
					return done + i;
		}
		done += n;
	}
	return length;
}

bool layout_id_at(const struct layout *l, uint64_t sample, uint64_t offset, uint64_t length,
		  uint64_t *position)
{
	uint64_t at;

	if (!l->id_bytes)
		return false;
	at = l->format->id_place ? l->format->id_place(l, sample) : l->id_at + sample * l->stride;
	if (at < offset || length < l->id_bytes || at - offset > length - l->id_bytes)
		return false;
	*position = at - offset;
	return true;
}

uint64_t layout_id(const struct layout *l, const void *bytes)
{
	const uint8_t *digits = bytes;
	uint64_t id = 0;

	if (l->id_bytes == ID_BYTES) {
		memcpy(&id, bytes, sizeof(id));
		return le64toh(id);
	}
	for (uint32_t i = 0; i < l->id_bytes; i++)
		id = id * 10 + (uint64_t)(digits[i] - '0');
	return id;
}

uint64_t payload_bytes(const struct layout *l)
{
	return l->samples * l->sample_bytes;
}

void payload_contiguous(struct layout *l)
{
	l->data_bytes = payload_bytes(l);
	l->stride = l->sample_bytes;
	l->id_at = l->data_offset;
	l->id_bytes = l->sample_bytes < ID_BYTES ? 0 : ID_BYTES;
}

uint32_t payload_whole_file(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX])
{
	(void)sample;
	out[0] = (struct extent){.offset = 0, .length = l->size};
	return 1;
}

int payload_check_picture(const char *name, uint64_t samples, uint64_t least, uint64_t largest,
			  uint64_t size_min, struct err *err)
{
	if (samples > 1)
		return err_set(
			err, -EINVAL,
			"a %s file is one picture and holds one sample, samples_per_file is %" PRIu64,
			name, samples);
	if (least < size_min)
		return err_set(err, -EINVAL,
			       "a %s file has at least %" PRIu64
			       " bytes, the smallest sample would have %" PRIu64,
			       name, size_min, least);
	if (largest > PICTURE_BYTES_MAX)
		return err_set(err, -EINVAL,
			       "a %s file has at most %" PRIu64
			       " bytes here, the largest sample would have %" PRIu64,
			       name, PICTURE_BYTES_MAX, largest);
	return 0;
}

uint8_t *put_little(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*at++ = (uint8_t)(value >> 8 * i);
	return at;
}

uint8_t *put_big(uint8_t *at, uint64_t value, unsigned bytes)
{
	while (bytes--)
		*at++ = (uint8_t)(value >> 8 * bytes);
	return at;
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
		uint64_t to = smaller(ID_BYTES, end - start);

		if (to - from == ID_BYTES)
			memcpy(out + (start - at), &id, ID_BYTES);
		else
			memcpy(out + (start + from - at), (const uint8_t *)&id + from, to - from);
	}
}

void payload_plain(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	uint64_t at = offset - l->data_offset;

	fill(l->key, at, data, length);
	payload_stamp_ids(l, l->stride, at, data, length);
}
