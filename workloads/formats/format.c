/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/format.h"

#include <endian.h>
#include <string.h>

uint32_t format_objects(const struct format_ops *format)
{
	uint32_t n = 1;

	while (n < FORMAT_OBJECTS_MAX && format->beside[n - 1][0])
		n++;
	return n;
}

void layout_make(struct layout *l)
{
	l->id_bytes = 0;
	l->data_offset = 0;
	l->data_bytes = 0;
	l->gap_at = 0;
	l->gap_bytes = 0;
	l->stride = 0;
	l->id_at = 0;
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

/* noinline: the header takes room on the stack only here. */
static __attribute__((noinline)) void layout_header(const struct layout *l, uint64_t at,
						    uint8_t *out, uint64_t length)
{
	uint8_t header[FORMAT_HEADER_BYTES];

	if (length == l->data_offset) {
		l->format->header(l, out);
		return;
	}
	l->format->header(l, header);
	memcpy(out, header + at, length);
}

/* Bytes of the trailer from position at, counted with the gap; returns how many were made. */
static __attribute__((noinline)) uint64_t layout_trailer(const struct layout *l, uint64_t at,
							 uint8_t *out, uint64_t length)
{
	uint64_t bytes = l->size - l->data_offset - l->data_bytes - l->gap_bytes;
	uint8_t trailer[FORMAT_HEADER_BYTES];
	uint64_t n;

	if (at >= l->gap_at && at - l->gap_at < l->gap_bytes) {
		n = smaller(length, l->gap_at + l->gap_bytes - at);
		memset(out, 0, n);
		return n;
	}
	l->format->trailer(l, trailer);
	if (at < l->gap_at) {
		n = smaller(length, l->gap_at - at);
	} else {
		at -= l->gap_bytes;
		n = smaller(length, bytes - at);
	}
	memcpy(out, trailer + at, n);
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
			layout_header(l, offset, out, n);
		} else if (offset < payload_end) {
			n = smaller(length, payload_end - offset);
			l->format->payload(l, offset, out, n);
		} else {
			n = layout_trailer(l, offset - payload_end, out, length);
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
		/* Pieces end where the blocks of payload hooks do, so that no block is made
		 * twice. */
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

	if (l->id_bytes == sizeof(id)) {
		memcpy(&id, bytes, sizeof(id));
		return le64toh(id);
	}
	for (uint32_t i = 0; i < l->id_bytes; i++)
		id = id * 10 + (uint64_t)(digits[i] - '0');
	return id;
}
