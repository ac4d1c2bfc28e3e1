/* parquet, as haul reads its own: the tail, the footer in front of it, and of the columns read page by page. The
 * footer's chunks follow each other from the file's mark to the footer, its groups' rows are the file's; a page's
 * bytes, those that its header says, end with the columns. */
#include <string.h>

#include "workloads/formats/walk.h"

enum { TAIL, FOOTER, PAGE, HEADER, VALUES };
enum { MARK_BYTES = 4, TAIL_BYTES = 8 };
/* Fields of FileMetaData, and of PageHeader, by their path (thrift.h). */
enum {
	ROWS = 0x3,
	GROUP_ROWS = 0x43,
	CHUNK_VALUES = 0x4135,
	CHUNK_BYTES = 0x4137,
	CHUNK_AT = 0x4139,
	PAGE_BYTES = 0x2,
	PAGE_STORED = 0x3
};
/* w->ends, of the footer */
enum { FILE_ROWS, GROUPS_ROWS, VALUES_COUNT, BYTES };

static const char *tail(struct walk *w)
{
	uint64_t length = walk_little(w->bytes, 4);

	if (memcmp(w->bytes + 4, "PAR1", MARK_BYTES) != 0)
		return "has no mark at its end";
	if (w->size < TAIL_BYTES + MARK_BYTES || length > w->size - TAIL_BYTES - MARK_BYTES)
		return "has a footer longer than the file";
	w->value = w->size - TAIL_BYTES - length;
	w->at = MARK_BYTES;
	walk_part(w, FOOTER, length);
	return NULL;
}

static const char *footer_number(struct walk *w)
{
	uint64_t value = w->thrift.value >> 1; /* zigzag: negative ones are too large */

	if (w->thrift.value & 1)
		value = UINT64_MAX >> 1;
	switch (thrift_path(&w->thrift)) {
	case ROWS:
		w->ends[FILE_ROWS] = value;
		return NULL;
	case GROUP_ROWS:
		w->ends[GROUPS_ROWS] += value;
		return value == w->ends[VALUES_COUNT] ? NULL
						      : "a row group's rows are not its columns'";
	case CHUNK_VALUES:
		w->ends[VALUES_COUNT] = value;
		return NULL;
	case CHUNK_BYTES:
		w->ends[BYTES] = value;
		return NULL;
	case CHUNK_AT:
		if (value != w->at || w->ends[BYTES] > w->value - w->at)
			return "a column's pages are not where the ones before end";
		w->at += w->ends[BYTES];
		return NULL;
	default:
		return NULL;
	}
}

static const char *footer_over(struct walk *w)
{
	if (w->left)
		return "the footer ends before its length";
	if (w->at != w->value)
		return "the columns do not end where the footer begins";
	if (w->ends[GROUPS_ROWS] != w->ends[FILE_ROWS])
		return "the row groups' rows are not the file's";
	walk_part(w, PAGE, 0);
	return NULL;
}

static const char *page_number(struct walk *w)
{
	uint64_t value = w->thrift.value >> 1;

	if (thrift_path(&w->thrift) == PAGE_BYTES)
		w->count = value;
	if (thrift_path(&w->thrift) != PAGE_STORED)
		return NULL;
	w->sum = 1;
	return value == w->count && !(w->thrift.value & 1)
		       ? NULL
		       : "a page is not stored in as many bytes as it has";
}

static const char *page_over(struct walk *w, uint64_t at)
{
	if (!w->sum)
		return "a page does not say how many bytes it has";
	if (at > w->value || w->count > w->value - at)
		return "a page goes on in the footer";
	walk_part(w, w->count ? VALUES : PAGE, w->count);
	return NULL;
}

/* Of the footer, or of a page's header, to the next number. */
static const char *metadata(struct walk *w, struct walk_piece *p)
{
	bool footer = w->part == FOOTER;
	uint64_t most = footer && w->left < p->left ? w->left : p->left, used;
	const uint8_t *at = p->at;
	enum thrift_event event = thrift_next(&w->thrift, &at, p->at + most);

	used = (uint64_t)(at - p->at);
	p->at = at;
	p->offset += used;
	p->left -= used;
	w->left -= footer ? used : 0;
	if (event == THRIFT_WRONG)
		return "its metadata are no Thrift";
	if (event == THRIFT_NUMBER)
		return footer ? footer_number(w) : page_number(w);
	if (event == THRIFT_OVER)
		return footer ? footer_over(w) : page_over(w, p->offset);
	return footer && !w->left ? "the footer does not end with its length" : NULL;
}

/* What is read first ends the file, then comes the footer, then columns. */
static const char *jumps(const struct walk *w, const struct walk_piece *p)
{
	switch (w->part) {
	case TAIL:
		return w->have || p->offset + TAIL_BYTES != w->size ? "is not read from its end"
								    : NULL;
	case FOOTER:
		return p->offset == w->value && !w->thrift.depth && !w->thrift.shift
			       ? NULL
			       : "the footer is not where the file's end says";
	case PAGE:
		return NULL;
	default:
		return "a page goes on behind its columns";
	}
}

const char *walk_parquet(struct walk *w, struct walk_piece *p)
{
	const char *wrong = walk_jumps(w, p) ? jumps(w, p) : NULL;
	const uint8_t *span;

	while (!wrong && p->left) {
		switch (w->part) {
		case TAIL:
			wrong = walk_gather(w, p, TAIL_BYTES) ? tail(w) : NULL;
			break;
		case PAGE:
			w->thrift = (struct thrift){0};
			w->count = 0;
			w->sum = 0; /* 1: the header has said how many bytes follow */
			w->part = HEADER;
			break;
		case VALUES:
			walk_span(w, p, &span);
			if (!w->left)
				w->part = PAGE;
			break;
		default:
			wrong = metadata(w, p);
			break;
		}
	}
	return wrong;
}

const char *walk_parquet_end(const struct walk *w, uint64_t samples)
{
	if (w->part != PAGE)
		return "ends inside a page, or its footer";
	return w->ends[FILE_ROWS] == samples ? NULL : "has another number of rows than samples";
}
