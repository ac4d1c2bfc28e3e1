/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the walks of formats. The first byte selects the format; any bytes are its file. Nothing
 * may crash, and the result must be the same for the whole file and for pieces of the size in the
 * second byte. If the highest bit of the first byte is set, the file comes in three ranges: first
 * the bytes from the offset in the next two bytes on, then those from a second offset to the first
 * one, then the rest without the magic at the beginning. If the next bit is set, the first two
 * ranges are tables beside the file. */
#include <stdlib.h>

#include "workloads/formats/table.h"
#include "workloads/formats/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RANGES = 128, BESIDE = 64 };

static const char *walk_range(struct walk *w, const struct walk_ops *ops, struct walk_piece range,
			      size_t piece)
{
	while (range.left) {
		struct walk_piece p = range;
		const char *wrong;

		if (p.left > piece)
			p.left = piece;
		range.at += p.left;
		range.offset += p.left;
		range.left -= p.left;
		wrong = walk_take(ops, w, &p);
		if (wrong)
			return wrong;
		if (p.left)
			abort();
	}
	return NULL;
}

static const char *walk(const uint8_t *head, const uint8_t *data, size_t size, size_t piece)
{
	const struct walk_ops *ops = format_table()[(head[0] & (BESIDE - 1)) % FORMATS_COUNT]->walk;
	bool ranges = head[0] & RANGES, beside = head[0] & BESIDE;
	size_t place = ranges && size ? walk_little(head + 2, 2) % size : 0;
	size_t second = place ? walk_little(head + 4, 2) % place : 0, mark = second < 4 ? 0 : 4;
	struct walk w = {.size = size};
	struct walk_piece range[] = {
		{data + place, size - place, beside ? 0 : place, beside ? 1 : 0, false},
		{data + second, place - second, beside ? 0 : second, beside ? 2 : 0, false},
		{data + mark, second - mark, mark, 0, false}};
	const char *wrong = NULL;

	if (!ops)
		return NULL;
	for (unsigned i = 0; i < 3 && !wrong; i++)
		wrong = walk_range(&w, ops, range[i], piece);
	return wrong ? wrong : walk_end(ops, &w, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t head = size && data[0] & RANGES ? 6 : 2;

	if (size < head)
		return 0;
	if (walk(data, data + head, size - head, size) !=
	    walk(data, data + head, size - head, 1 + data[1] % 64))
		abort();
	return 0;
}
