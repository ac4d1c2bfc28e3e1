/* jpeg: SOI, segments of marker and length, scans in which 0xff stands only before 0 or a restart marker, EOI. */
#include <string.h>

#include "workloads/formats/walk.h"

enum { BEGIN, MARKER, LENGTH, SEGMENT, SCAN, STUFFED, END };
enum { SOI = 0xd8, EOI = 0xd9, SOS = 0xda, RST0 = 0xd0, RST7 = 0xd7 };

/* The second byte of a marker. */
static const char *marker(struct walk *w, uint8_t code)
{
	w->value = code;
	walk_part(w, code == EOI ? END : LENGTH, 0);
	if (code < 0xc0 || (code >= RST0 && code <= SOI))
		return "has a marker where none may stand";
	return NULL;
}

static const char *length(struct walk *w)
{
	uint64_t n = walk_big(w->bytes, 2);

	if (n < 2)
		return "a segment is shorter than its length";
	walk_part(w, n > 2 ? SEGMENT : w->value == SOS ? SCAN : MARKER, n - 2);
	return NULL;
}

/* Coded data, as far as the piece goes. */
static void scan(struct walk *w, struct walk_piece *p)
{
	const uint8_t *found = memchr(p->at, 0xff, p->left);
	uint64_t n = found ? (uint64_t)(found - p->at) + 1 : p->left;

	p->at += n;
	p->left -= n;
	if (found)
		w->part = STUFFED;
}

static const char *stuffed(struct walk *w, struct walk_piece *p)
{
	uint8_t code = *p->at++;

	p->left--;
	if (code == 0xff)
		return NULL;
	w->part = SCAN;
	if (code == 0 || (code >= RST0 && code <= RST7))
		return NULL;
	return marker(w, code);
}

const char *walk_jpeg(struct walk *w, struct walk_piece *p)
{
	const char *wrong = NULL;
	const uint8_t *span;

	while (!wrong && p->left) {
		switch (w->part) {
		case BEGIN:
			if (!walk_gather(w, p, 2))
				break;
			if (w->bytes[0] != 0xff || w->bytes[1] != SOI)
				wrong = "does not begin with SOI";
			walk_part(w, MARKER, 0);
			break;
		case MARKER:
			if (walk_gather(w, p, 2))
				wrong = w->bytes[0] == 0xff ? marker(w, w->bytes[1])
							    : "has no marker behind a segment";
			break;
		case LENGTH:
			if (walk_gather(w, p, 2))
				wrong = length(w);
			break;
		case SEGMENT:
			walk_span(w, p, &span);
			if (!w->left)
				walk_part(w, w->value == SOS ? SCAN : MARKER, 0);
			break;
		case SCAN:
			scan(w, p);
			break;
		case STUFFED:
			wrong = stuffed(w, p);
			break;
		default:
			return "goes on behind EOI";
		}
	}
	return wrong;
}

const char *walk_jpeg_end(const struct walk *w, uint64_t samples)
{
	(void)samples;
	return w->part == END ? NULL : "ends before EOI";
}
