/* png: chunks of length, type, data and CRC-32 of both, from IHDR to IEND. */
#include <string.h>

#include "workloads/formats/crc32.h"
#include "workloads/formats/walk.h"

enum { SIGNATURE, HEAD, DATA, SUM, END };
#define CHUNK_MAX 0x7fffffffu

static const char *head(struct walk *w)
{
	uint64_t length = walk_big(w->bytes, 4);
	const uint8_t *type = w->bytes + 4;
	bool first = w->count == 0;

	for (unsigned i = 0; i < 4; i++)
		if ((type[i] | 32) < 'a' || (type[i] | 32) > 'z')
			return "a chunk's type is no word";
	if (length > CHUNK_MAX)
		return "a chunk is longer than chunks can be";
	if (first != (memcmp(type, "IHDR", 4) == 0) || (first && length != 13))
		return "does not begin with one IHDR chunk";
	w->value = memcmp(type, "IEND", 4) == 0;
	w->sum = crc32_run(CRC32_START, type, 4);
	w->count++;
	walk_part(w, DATA, length);
	return NULL;
}

const char *walk_png(struct walk *w, struct walk_piece *p)
{
	const char *wrong = NULL;
	const uint8_t *span;
	uint64_t n;

	while (!wrong && (p->left || (w->part == DATA && !w->left))) {
		switch (w->part) {
		case SIGNATURE:
			if (!walk_gather(w, p, 8))
				break;
			if (memcmp(w->bytes, "\x89PNG\r\n\x1a\n", 8) != 0)
				wrong = "has no PNG signature";
			walk_part(w, HEAD, 0);
			break;
		case HEAD:
			if (walk_gather(w, p, 8))
				wrong = head(w);
			break;
		case DATA:
			n = walk_span(w, p, &span);
			w->sum = crc32_run(w->sum, span, n);
			if (!w->left)
				walk_part(w, SUM, 0);
			break;
		case SUM:
			if (!walk_gather(w, p, 4))
				break;
			if (walk_big(w->bytes, 4) != (uint32_t)~w->sum)
				wrong = "a chunk's CRC is not that of its bytes";
			walk_part(w, w->value ? END : HEAD, 0);
			break;
		default:
			return "goes on behind IEND";
		}
	}
	return wrong;
}

const char *walk_png_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == END ? NULL : "ends before IEND";
}
