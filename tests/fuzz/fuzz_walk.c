/* Any bytes as a file, of the format that the first byte says: no fault, and the same said of them whole and
 * cut into pieces of the second byte's size. */
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
	       {walk_tfrecord, walk_tfrecord_end}};

static const char *walk(unsigned format, const uint8_t *data, size_t size, size_t piece)
{
	struct walk w = {0};

	for (size_t at = 0; at < size; at += piece) {
		struct walk_piece p = {data + at, size - at < piece ? size - at : piece};
		const char *wrong = formats[format].walk(&w, &p);

		if (wrong)
			return wrong;
		if (p.left)
			abort();
	}
	return formats[format].end(&w, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned format;

	if (size < 2)
		return 0;
	format = data[0] % 5;
	if (walk(format, data + 2, size - 2, size) !=
	    walk(format, data + 2, size - 2, 1 + data[1] % 64))
		abort();
	return 0;
}
