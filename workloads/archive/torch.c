/* SPDX-License-Identifier: Apache-2.0 */
/* torch: the zip file of torch.save, with stored members.
 *
 *	| data.pkl | byteorder | data/0 | data/1 | … | version | directory |
 *	`----- header ------´                         `---- trailer ------´
 *
 *	member: | local header, padded | data | data descriptor |
 *	        `------ framing ------´ *      `--- framing ---´       *: a multiple of 64
 *
 * As PyTorch's writer (caffe2/serialize/inline_container.cc with miniz) makes it: all members lie in the folder "archive",
 * as in files that are saved through an open file. An extra field with the id "FB" pads local headers. Checksum and sizes
 * are in the data descriptor behind the data, which a member without data does not have. Extra fields of zip64 hold only
 * numbers that need them; the directory always ends with the records of zip64.
 *
 * The CRC-32 of a tensor is chosen by its number, and its blocks are patched so that it is right (workloads/formats/crc32.h). Tensors
 * of 1 to 3 bytes have no room for a patch; their checksum is computed where it is needed. */
#include <stdbool.h>
#include <string.h>

#include "core/content/fill.h"
#include "core/content/random.h"
#include "workloads/archive/archive.h"
#include "workloads/archive/kind.h"
#include "workloads/formats/crc32.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/zip.h"

enum {
	TORCH_ALIGNMENT = 64,
	PADDING_ID = 'F' | 'B' << 8,
	NAME_BYTES = 40, /* "archive/data/1048575" */
	MADE_BY = 0x31e, /* Unix, version 3.0: what miniz writes */
	FRAMING_MAX = 24 + ZIP_LOCAL_BYTES + NAME_BYTES + ZIP_EXTRA_BYTES + 24 + ZIP_EXTRA_BYTES +
		      TORCH_ALIGNMENT,
	TORCH_ROW_MAX = ZIP_ROW_BYTES + NAME_BYTES + ZIP_EXTRA_BYTES + 24,
	/* Members of the file: these two, the tensors, the version. */
	PICKLE = 0,
	BYTEORDER = 1,
	TENSOR_0 = 2
};

static const char byteorder[] = "little";
static const char version[] = "3\n";

/* Where a member is. */
struct torch_place {
	uint64_t local; /* its local header in the file */
	uint64_t row;   /* its row in the directory */
	uint64_t start; /* a tensor's bytes in the payload */
};

struct torch_state {
	uint64_t pickle_bytes;
	uint32_t pickle_crc;
	struct torch_place places[]; /* of each member; then where the directory and the rows end */
};

static uint64_t torch_members(const struct archive *a)
{
	return a->tensors.count + TENSOR_0 + 1;
}

static size_t torch_state_bytes(const struct archive *a)
{
	return sizeof(struct torch_state) + (torch_members(a) + 1) * sizeof(struct torch_place);
}

/* The member's name; returns its length. */
static uint32_t torch_name(const struct archive *a, uint64_t member, char name[NAME_BYTES])
{
	const char *fixed = member == PICKLE                 ? "data.pkl"
			    : member == BYTEORDER            ? "byteorder"
			    : member == torch_members(a) - 1 ? "version"
							     : "data/";
	uint8_t *end = (uint8_t *)stpcpy(stpcpy(name, "archive/"), fixed);

	if (member >= TENSOR_0 && member < torch_members(a) - 1)
		end = put_decimal(end, member - TENSOR_0);
	return (uint32_t)(end - (uint8_t *)name);
}

/* The member, but for its checksum. */
static struct zip_member torch_frame(const struct archive *a, uint64_t member, uint64_t local,
				     uint64_t size, char name[NAME_BYTES])
{
	struct zip_member m = {.name = name,
			       .size = size,
			       .offset = local,
			       .flags = ZIP_UTF8 | (size ? ZIP_DESCRIBED : 0),
			       .sizes64 = size >= UINT32_MAX,
			       .offset64 = local >= UINT32_MAX,
			       .offset64_local = local >= UINT32_MAX,
			       .padding_id = PADDING_ID,
			       .padding = ZIP_EXTRA_BYTES,
			       .padding_fill = 'Z'};

	m.name_bytes = torch_name(a, member, name);
	m.padding +=
		(uint16_t)((TORCH_ALIGNMENT - (local + zip_local_bytes(&m)) % TORCH_ALIGNMENT) %
			   TORCH_ALIGNMENT);
	return m;
}

/* Lays one member out behind those before it; returns where its data begin. */
static uint64_t torch_lay_member(const struct archive *a, struct torch_place *at, uint64_t member,
				 uint64_t size)
{
	struct torch_state *state = a->state;
	char name[NAME_BYTES];
	struct zip_member m = torch_frame(a, member, at->local, size, name);
	uint64_t data = at->local + zip_local_bytes(&m);

	if (state)
		state->places[member] = *at;
	at->local = data + size + zip_descriptor_bytes(&m);
	at->row += zip_row_bytes(&m);
	return data;
}

static int torch_lay_out(struct archive *a, struct err *err)
{
	uint64_t count = a->tensors.count, pickle_bytes = torch_pickle(a, NULL), trailer;
	struct torch_state *state = a->state;
	struct torch_place at = {0};

	(void)err;
	torch_lay_member(a, &at, PICKLE, pickle_bytes);
	torch_lay_member(a, &at, BYTEORDER, sizeof(byteorder) - 1);
	a->header_bytes = trailer = at.local;
	for (uint64_t i = 0; i < count; i++) {
		struct tensor t;
		uint64_t data;

		a->tensors.tensor(a->tensors.argument, i, &t);
		data = torch_lay_member(a, &at, TENSOR_0 + i, t.bytes);
		trailer = data + t.bytes;
		at.start += t.bytes;
		if (i == 0)
			a->header_bytes = data;
		if (a->offsets) {
			a->offsets[i] = data;
			a->ends[i] = trailer;
		}
	}
	torch_lay_member(a, &at, TENSOR_0 + count, sizeof(version) - 1);
	a->size = at.local + at.row + ZIP_END64_BYTES + ZIP_END_BYTES;
	a->trailer_bytes = a->size - trailer;
	if (a->offsets)
		a->offsets[count] = trailer;
	if (state) {
		state->pickle_bytes = pickle_bytes;
		state->places[torch_members(a)] = at;
	}
	return 0;
}

static uint64_t torch_size(const struct archive *a, uint64_t member)
{
	const struct torch_state *state = a->state;

	if (member == PICKLE)
		return state->pickle_bytes;
	if (member == BYTEORDER)
		return sizeof(byteorder) - 1;
	if (member == torch_members(a) - 1)
		return sizeof(version) - 1;
	return a->ends[member - TENSOR_0] - a->offsets[member - TENSOR_0];
}

static uint32_t torch_crc(const void *data, size_t bytes)
{
	return ~crc32_run(CRC32_START, data, bytes);
}

/* The CRC's register after each block of the tensor. */
static uint32_t torch_register(uint64_t tensor)
{
	return (uint32_t)mix64(tensor + 1);
}

static uint32_t torch_tensor_crc(const struct archive *a, uint64_t key, uint64_t tensor)
{
	const struct torch_state *state = a->state;
	uint64_t size = a->ends[tensor] - a->offsets[tensor];
	uint8_t few[CRC32_PATCH_BYTES];

	if (size >= CRC32_PATCH_BYTES)
		return ~torch_register(tensor);
	fill(key, state->places[TENSOR_0 + tensor].start, few, size);
	return torch_crc(few, size);
}

/* The whole member. */
static struct zip_member torch_member(const struct archive *a, uint64_t key, uint64_t member,
				      char name[NAME_BYTES])
{
	const struct torch_state *state = a->state;
	struct zip_member m =
		torch_frame(a, member, state->places[member].local, torch_size(a, member), name);

	if (member == PICKLE)
		m.crc = state->pickle_crc;
	else if (member == BYTEORDER)
		m.crc = torch_crc(byteorder, sizeof(byteorder) - 1);
	else if (member == torch_members(a) - 1)
		m.crc = torch_crc(version, sizeof(version) - 1);
	else
		m.crc = torch_tensor_crc(a, key, member - TENSOR_0);
	return m;
}

static uint8_t *torch_put_local(const struct archive *a, uint64_t key, uint64_t member, uint8_t *at)
{
	char name[NAME_BYTES];
	struct zip_member m = torch_member(a, key, member, name);

	return zip_put_local(at, &m);
}

static uint8_t *torch_put_descriptor(const struct archive *a, uint64_t key, uint64_t member,
				     uint8_t *at)
{
	char name[NAME_BYTES];
	struct zip_member m = torch_member(a, key, member, name);

	return zip_put_descriptor(at, &m);
}

/* Nothing of it depends on the content: checksums of tensors are behind them. */
static void torch_header(const struct archive *a, uint8_t *out)
{
	struct torch_state *state = a->state;
	uint64_t bytes;

	out = torch_put_local(a, 0, PICKLE, out);
	bytes = torch_pickle(a, out);
	state->pickle_crc = torch_crc(out, bytes);
	out = torch_put_descriptor(a, 0, PICKLE, out + bytes);
	out = torch_put_local(a, 0, BYTEORDER, out);
	memcpy(out, byteorder, sizeof(byteorder) - 1);
	out = torch_put_descriptor(a, 0, BYTEORDER, out + sizeof(byteorder) - 1);
	if (a->tensors.count)
		torch_put_local(a, 0, TENSOR_0, out);
}

/* Bytes [at, end) of the file, which are made at to. */
struct torch_range {
	uint64_t at, end;
	uint8_t *to;
};

/* Copies what the range has of n bytes that begin at begin. */
static void torch_copy(const struct torch_range *r, uint64_t begin, const uint8_t *bytes,
		       uint64_t n)
{
	uint64_t from = begin > r->at ? begin : r->at;
	uint64_t end = begin + n < r->end ? begin + n : r->end;

	if (from < end)
		memcpy(r->to + (from - r->at), bytes + (from - begin), end - from);
}

/* What is between a tensor and the next one. */
static void torch_framing(const struct archive *a, uint64_t key, uint64_t tensor,
			  const struct torch_range *r)
{
	uint8_t framing[FRAMING_MAX], *end;

	end = torch_put_descriptor(a, key, TENSOR_0 + tensor, framing);
	end = torch_put_local(a, key, TENSOR_0 + tensor + 1, end);
	torch_copy(r, a->ends[tensor], framing, (uint64_t)(end - framing));
}

static void torch_make_block(uint64_t key, uint64_t start, uint64_t tensor, uint64_t begin,
			     uint64_t bytes, uint8_t *out)
{
	uint32_t to = torch_register(tensor);

	fill(key, start + begin, out, bytes);
	crc32_block_patch(out, bytes, bytes - CRC32_PATCH_BYTES, begin ? to : CRC32_START, to);
}

/* Bytes [from, from + length) of a block. Without the four patched ones it needs nothing of the
 * rest. */
static __attribute__((noinline)) void torch_make_part(uint64_t key, uint64_t start, uint64_t tensor,
						      uint64_t begin, uint64_t bytes, uint64_t from,
						      uint8_t *out, uint64_t length)
{
	uint8_t block[CRC32_BLOCK_BYTES];

	if (from + length <= bytes - CRC32_PATCH_BYTES) {
		fill(key, start + begin + from, out, length);
		return;
	}
	torch_make_block(key, start, tensor, begin, bytes, block);
	memcpy(out, block + from, length);
}

/* Bytes [at, at + length) of a tensor. */
static void torch_tensor(const struct archive *a, uint64_t key, uint64_t tensor, uint64_t at,
			 uint8_t *out, uint64_t length)
{
	const struct torch_state *state = a->state;
	uint64_t start = state->places[TENSOR_0 + tensor].start;
	uint64_t total = a->ends[tensor] - a->offsets[tensor];

	if (total < CRC32_PATCH_BYTES) {
		fill(key, start + at, out, length);
		return;
	}
	while (length) {
		uint64_t begin, bytes = crc32_block_at(total, at, &begin);
		uint64_t from = at - begin;
		uint64_t n = bytes - from < length ? bytes - from : length;

		if (n == bytes)
			torch_make_block(key, start, tensor, begin, bytes, out);
		else
			torch_make_part(key, start, tensor, begin, bytes, from, out, n);
		out += n;
		at += n;
		length -= n;
	}
}

static void torch_data(const struct archive *a, uint64_t key, uint64_t at, uint8_t *to,
		       uint64_t length)
{
	struct torch_range r = {at, at + length, to};

	for (uint64_t i = archive_last_begun(a, at); i < a->tensors.count && a->offsets[i] < r.end;
	     i++) {
		uint64_t from = a->offsets[i] > at ? a->offsets[i] : at;
		uint64_t end = a->ends[i] < r.end ? a->ends[i] : r.end;

		if (from < end)
			torch_tensor(a, key, i, from - a->offsets[i], to + (from - at), end - from);
		if (a->ends[i] < r.end)
			torch_framing(a, key, i, &r);
	}
}

/* Blocks of tensors are made whole, and so is the framing between tensors. */
static uint64_t torch_piece_end(const struct archive *a, uint64_t at)
{
	uint64_t i = archive_last_begun(a, at), begin, bytes;

	if (at >= a->ends[i])
		return a->offsets[i + 1];
	bytes = crc32_block_at(a->ends[i] - a->offsets[i], at - a->offsets[i], &begin);
	return a->offsets[i] + begin + bytes;
}

/* The first member whose row reaches behind byte at of the directory. */
static uint64_t torch_row_at(const struct archive *a, uint64_t at)
{
	const struct torch_state *state = a->state;
	uint64_t low = 0, high = torch_members(a);

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (state->places[middle].row <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void torch_directory(const struct archive *a, uint64_t key, const struct torch_range *r)
{
	const struct torch_state *state = a->state;
	const struct torch_place *end = &state->places[torch_members(a)];
	uint64_t directory = end->local, i;
	struct zip_end ends = {.members = torch_members(a),
			       .bytes = end->row,
			       .offset = directory,
			       .zip64 = true,
			       .made_by_64 = MADE_BY};
	uint8_t bytes[ZIP_END64_BYTES + ZIP_END_BYTES > TORCH_ROW_MAX
			      ? ZIP_END64_BYTES + ZIP_END_BYTES
			      : TORCH_ROW_MAX];
	char name[NAME_BYTES];

	i = r->at > directory ? torch_row_at(a, r->at - directory) : 0;
	for (; i < ends.members && directory + state->places[i].row < r->end; i++) {
		struct zip_member m = torch_member(a, key, i, name);

		torch_copy(r, directory + state->places[i].row, bytes,
			   (uint64_t)(zip_put_row(bytes, &m) - bytes));
	}
	if (r->end > directory + end->row)
		torch_copy(r, directory + end->row, bytes,
			   (uint64_t)(zip_put_end(bytes, &ends) - bytes));
}

static void torch_trailer(const struct archive *a, uint64_t key, uint64_t at, uint8_t *to,
			  uint64_t length)
{
	const struct torch_state *state = a->state;
	uint64_t begin = a->size - a->trailer_bytes, count = a->tensors.count;
	struct torch_range r = {begin + at, begin + at + length, to};
	uint8_t front[FRAMING_MAX + sizeof(version) + 24], *end = front;

	if (r.at < state->places[torch_members(a)].local) {
		if (count)
			end = torch_put_descriptor(a, key, TENSOR_0 + count - 1, end);
		end = torch_put_local(a, key, TENSOR_0 + count, end);
		memcpy(end, version, sizeof(version) - 1);
		end = torch_put_descriptor(a, key, TENSOR_0 + count, end + sizeof(version) - 1);
		torch_copy(&r, begin, front, (uint64_t)(end - front));
	}
	torch_directory(a, key, &r);
}

const struct archive_ops archive_torch = {
	.lay_out = torch_lay_out,
	.state_bytes = torch_state_bytes,
	.header = torch_header,
	.data = torch_data,
	.piece_end = torch_piece_end,
	.trailer = torch_trailer,
};
