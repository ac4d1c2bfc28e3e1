/* SPDX-License-Identifier: Apache-2.0 */
/* png: chunks of length, type, data and CRC-32 of both, from IHDR to IEND. */
#include <string.h>

#include "workloads/formats/crc32.h"
#include "workloads/formats/walk.h"

enum { PNG_SIGNATURE, PNG_HEAD, PNG_DATA, PNG_SUM, PNG_END };
#define CHUNK_MAX 0x7fffffffu

struct png_walk {
	uint32_t chunks;
	uint32_t sum; /* of the chunk, so far */
	bool last;    /* the chunk is IEND */
	uint8_t bytes[8];
};

static const char *png_walk_head(struct walk *w, struct png_walk *s)
{
	uint64_t length = walk_big(s->bytes, 4);
	const uint8_t *type = s->bytes + 4;
	bool first = s->chunks == 0;

	for (unsigned i = 0; i < 4; i++)
		if ((type[i] | 32) < 'a' || (type[i] | 32) > 'z')
			return "a chunk's type is not a word";
	if (length > CHUNK_MAX)
		return "a chunk is longer than chunks can be";
	if (first != (memcmp(type, "IHDR", 4) == 0) || (first && length != 13))
		return "does not begin with one IHDR chunk";
	s->last = memcmp(type, "IEND", 4) == 0;
	s->sum = crc32_run(CRC32_START, type, 4);
	s->chunks = 1;
	walk_part(w, PNG_DATA, length);
	return NULL;
}

static const char *png_walk_sum(struct walk *w, const struct png_walk *s)
{
	walk_part(w, s->last ? PNG_END : PNG_HEAD, 0);
	return walk_big(s->bytes, 4) == (uint32_t)~s->sum
		       ? NULL
		       : "a chunk's CRC is not that of its bytes";
}

static const char *png_walk_take(struct walk *w, struct walk_piece *p)
{
	struct png_walk *s = WALK_STATE(struct png_walk, w);
	const char *wrong = NULL;
	const uint8_t *span;
	uint64_t n;

	while (!wrong && (p->left || (w->part == PNG_DATA && !w->left))) {
		switch (w->part) {
		case PNG_SIGNATURE:
			if (!walk_gather(w, p, s->bytes, sizeof(s->bytes), 8))
				break;
			if (memcmp(s->bytes, "\x89PNG\r\n\x1a\n", 8) != 0)
				wrong = "has no PNG signature";
			walk_part(w, PNG_HEAD, 0);
			break;
		case PNG_HEAD:
			if (walk_gather(w, p, s->bytes, sizeof(s->bytes), 8))
				wrong = png_walk_head(w, s);
			break;
		case PNG_DATA:
			n = walk_span(w, p, &span);
			s->sum = crc32_run(s->sum, span, n);
			if (!w->left)
				walk_part(w, PNG_SUM, 0);
			break;
		case PNG_SUM:
			if (walk_gather(w, p, s->bytes, sizeof(s->bytes), 4))
				wrong = png_walk_sum(w, s);
			break;
		default:
			return "goes on behind IEND";
		}
	}
	return wrong;
}

static const char *png_walk_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == PNG_END ? NULL : "ends before IEND";
}

const struct walk_ops png_walk = {png_walk_take, png_walk_end, true};
