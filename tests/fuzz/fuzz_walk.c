/* Any bytes as a file, of the format that the first byte says: no fault, and the same said of them whole and
 * cut into pieces of the second byte's size. The first byte's highest bit: in two ranges, that behind the place in
 * the next two bytes first; the bit below: these are the tables beside the file. */
#include <stdlib.h>

#include "workloads/formats/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const char *(*walk)(struct walk *w, struct walk_piece *p);
	const char *(*end)(const struct walk *w, uint64_t samples);
} formats[] = {{walk_png, walk_png_end},
	       {walk_jpeg, walk_jpeg_end},
	       {walk_npz, walk_npz_end},
	       {walk_csv, walk_csv_end},
	       {walk_tfrecord, walk_tfrecord_end},
	       {walk_npy, walk_npy_end},
	       {walk_hdf5, walk_hdf5_end},
	       {walk_indexed, walk_indexed_end},
	       {walk_safetensors, walk_safetensors_end}};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]), RANGES = 128, BESIDE = 64 };

static const char *walk_range(struct walk *w, unsigned format, struct walk_piece range,
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
		wrong = formats[format].walk(w, &p);
		if (wrong)
			return wrong;
		if (p.left)
			abort();
	}
	return NULL;
}

static const char *walk(uint8_t how, const uint8_t *data, size_t size, size_t piece, size_t place)
{
	unsigned format = (how & (BESIDE - 1)) % FORMATS;
	struct walk w = {.size = size};
	struct walk_piece first = {data + place, size - place, how & BESIDE ? 0 : place,
				   how & BESIDE ? 1 : 0};
	struct walk_piece second = {data, place, 0, how & BESIDE ? 2 : 0};
	const char *wrong = walk_range(&w, format, first, piece);

	if (!wrong)
		wrong = walk_range(&w, format, second, piece);
	return wrong ? wrong : formats[format].end(&w, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t head = size && data[0] & RANGES ? 4 : 2, place = 0;

	if (size < head)
		return 0;
	size -= head;
	if (head == 4 && size)
		place = walk_little(data + 2, 2) % size;
	if (walk(data[0], data + head, size, size, place) !=
	    walk(data[0], data + head, size, 1 + data[1] % 64, place))
		abort();
	return 0;
}
