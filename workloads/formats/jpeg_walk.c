/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg: SOI, segments of marker and length, scans in which 0xff occurs only before 0 or a restart
 * marker, EOI. */
#include <string.h>

#include "workloads/formats/walk.h"

enum { JPEG_BEGIN, JPEG_MARKER, JPEG_LENGTH, JPEG_SEGMENT, JPEG_SCAN, JPEG_STUFFED, JPEG_END };
enum { SOI = 0xd8, EOI = 0xd9, SOS = 0xda, RST0 = 0xd0, RST7 = 0xd7 };

struct jpeg_walk {
	uint8_t marker; /* of the segment */
	uint8_t bytes[2];
};

/* The second byte of a marker. */
static const char *jpeg_walk_marker(struct walk *w, struct jpeg_walk *s, uint8_t code)
{
	s->marker = code;
	walk_part(w, code == EOI ? JPEG_END : JPEG_LENGTH, 0);
	if (code < 0xc0 || (code >= RST0 && code <= SOI))
		return "has a marker where none may stand";
	return NULL;
}

static const char *jpeg_walk_length(struct walk *w, const struct jpeg_walk *s)
{
	uint64_t n = walk_big(s->bytes, 2);

	if (n < 2)
		return "a segment is shorter than its length";
	walk_part(w, n > 2 ? JPEG_SEGMENT : s->marker == SOS ? JPEG_SCAN : JPEG_MARKER, n - 2);
	return NULL;
}

/* Coded data, as far as the piece goes. */
static void jpeg_walk_scan(struct walk *w, struct walk_piece *p)
{
	const uint8_t *found = memchr(p->at, 0xff, p->left);
	uint64_t n = found ? (uint64_t)(found - p->at) + 1 : p->left;

	p->at += n;
	p->left -= n;
	if (found)
		w->part = JPEG_STUFFED;
}

static const char *jpeg_walk_stuffed(struct walk *w, struct jpeg_walk *s, struct walk_piece *p)
{
	uint8_t code = *p->at++;

	p->left--;
	if (code == 0xff)
		return NULL;
	w->part = JPEG_SCAN;
	if (code == 0 || (code >= RST0 && code <= RST7))
		return NULL;
	return jpeg_walk_marker(w, s, code);
}

/* Two bytes that have come. */
static const char *jpeg_walk_gathered(struct walk *w, struct jpeg_walk *s)
{
	if (w->part == JPEG_LENGTH)
		return jpeg_walk_length(w, s);
	if (w->part == JPEG_MARKER)
		return s->bytes[0] == 0xff ? jpeg_walk_marker(w, s, s->bytes[1])
					   : "has no marker behind a segment";
	walk_part(w, JPEG_MARKER, 0);
	return s->bytes[0] == 0xff && s->bytes[1] == SOI ? NULL : "does not begin with SOI";
}

static const char *jpeg_walk_take(struct walk *w, struct walk_piece *p)
{
	struct jpeg_walk *s = WALK_STATE(struct jpeg_walk, w);
	const char *wrong = NULL;
	const uint8_t *span;

	while (!wrong && p->left) {
		switch (w->part) {
		case JPEG_BEGIN:
		case JPEG_MARKER:
		case JPEG_LENGTH:
			if (walk_gather(w, p, s->bytes, sizeof(s->bytes), 2))
				wrong = jpeg_walk_gathered(w, s);
			break;
		case JPEG_SEGMENT:
			walk_span(w, p, &span);
			if (!w->left)
				walk_part(w, s->marker == SOS ? JPEG_SCAN : JPEG_MARKER, 0);
			break;
		case JPEG_SCAN:
			jpeg_walk_scan(w, p);
			break;
		case JPEG_STUFFED:
			wrong = jpeg_walk_stuffed(w, s, p);
			break;
		default:
			return "goes on behind EOI";
		}
	}
	return wrong;
}

static const char *jpeg_walk_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == JPEG_END ? NULL : "ends before EOI";
}

const struct walk_ops jpeg_walk = {jpeg_walk_take, jpeg_walk_end, true};
