/* SPDX-License-Identifier: Apache-2.0 */
/* parquet, as haul reads its own files: the tail, the footer in front of it, and the columns that
 * are read, page by page. The footer's column chunks must follow each other from the file's mark to
 * the footer, and the rows of its row groups must be the file's. The bytes of a page, as its header
 * says, must end where the columns end. */
#include <string.h>

#include "workloads/formats/parquet.h"
#include "workloads/formats/thrift.h"
#include "workloads/formats/walk.h"

enum { PARQUET_TAIL, PARQUET_FOOTER, PARQUET_PAGE, PARQUET_HEADER, PARQUET_VALUES };
/* Fields of FileMetaData, and of PageHeader, by their path (thrift.h). */
enum {
	ROWS = 0x3,
	GROUP_ROWS = 0x43,
	CHUNK_VALUES = 0x4135,
	CHUNK_BYTES = 0x4137,
	CHUNK_AT = 0x4139,
	HEADER_PAGE_BYTES = 0x2,
	PAGE_STORED = 0x3
};

struct parquet_walk {
	struct thrift thrift;
	uint64_t footer_at;
	uint64_t chunks_end; /* of the chunks that the footer has described so far */
	uint64_t file_rows, group_rows, chunk_values, chunk_bytes; /* as the footer says */
	uint64_t page_bytes;
	bool page_said; /* the page's header has said how many bytes follow */
	uint8_t tail[PARQUET_TAIL_BYTES];
};

static const char *parquet_walk_tail(struct walk *w, struct parquet_walk *s)
{
	uint64_t length = walk_little(s->tail, 4);

	if (memcmp(s->tail + 4, "PAR1", PARQUET_MARK_BYTES) != 0)
		return "has no mark at its end";
	if (w->size < PARQUET_TAIL_BYTES + PARQUET_MARK_BYTES ||
	    length > w->size - PARQUET_TAIL_BYTES - PARQUET_MARK_BYTES)
		return "has a footer longer than the file";
	s->footer_at = w->size - PARQUET_TAIL_BYTES - length;
	s->chunks_end = PARQUET_MARK_BYTES;
	walk_part(w, PARQUET_FOOTER, length);
	return NULL;
}

static const char *parquet_walk_footer_number(struct parquet_walk *s)
{
	uint64_t value = s->thrift.value >> 1; /* zigzag: negative numbers are too large */

	if (s->thrift.value & 1)
		value = UINT64_MAX >> 1;
	switch (thrift_path(&s->thrift)) {
	case ROWS:
		s->file_rows = value;
		return NULL;
	case GROUP_ROWS:
		s->group_rows += value;
		return value == s->chunk_values ? NULL : "a row group's rows are not its columns'";
	case CHUNK_VALUES:
		s->chunk_values = value;
		return NULL;
	case CHUNK_BYTES:
		s->chunk_bytes = value;
		return NULL;
	case CHUNK_AT:
		if (value != s->chunks_end || s->chunk_bytes > s->footer_at - s->chunks_end)
			return "a column's pages are not where the ones before end";
		s->chunks_end += s->chunk_bytes;
		return NULL;
	default:
		return NULL;
	}
}

static const char *parquet_walk_footer_over(struct walk *w, struct parquet_walk *s)
{
	if (w->left)
		return "the footer ends before its length";
	if (s->chunks_end != s->footer_at)
		return "the columns do not end where the footer begins";
	if (s->group_rows != s->file_rows)
		return "the row groups' rows are not the file's";
	walk_part(w, PARQUET_PAGE, 0);
	return NULL;
}

static const char *parquet_walk_page_number(struct parquet_walk *s)
{
	uint64_t value = s->thrift.value >> 1;

	if (thrift_path(&s->thrift) == HEADER_PAGE_BYTES)
		s->page_bytes = value;
	if (thrift_path(&s->thrift) != PAGE_STORED)
		return NULL;
	s->page_said = true;
	return value == s->page_bytes && !(s->thrift.value & 1)
		       ? NULL
		       : "a page is not stored in as many bytes as it has";
}

static const char *parquet_walk_page_over(struct walk *w, struct parquet_walk *s, uint64_t at)
{
	if (!s->page_said)
		return "a page does not say how many bytes it has";
	if (at > s->footer_at || s->page_bytes > s->footer_at - at)
		return "a page goes on in the footer";
	walk_part(w, s->page_bytes ? PARQUET_VALUES : PARQUET_PAGE, s->page_bytes);
	return NULL;
}

/* Of the footer, or of a page's header, to the next number. */
static const char *parquet_walk_metadata(struct walk *w, struct parquet_walk *s,
					 struct walk_piece *p)
{
	bool footer = w->part == PARQUET_FOOTER;
	uint64_t most = footer && w->left < p->left ? w->left : p->left, used;
	const uint8_t *at = p->at;
	enum thrift_event event = thrift_next(&s->thrift, &at, p->at + most);

	used = (uint64_t)(at - p->at);
	p->at = at;
	p->offset += used;
	p->left -= used;
	w->left -= footer ? used : 0;
	if (event == THRIFT_WRONG)
		return "its metadata are not Thrift";
	if (event == THRIFT_NUMBER)
		return footer ? parquet_walk_footer_number(s) : parquet_walk_page_number(s);
	if (event == THRIFT_OVER)
		return footer ? parquet_walk_footer_over(w, s)
			      : parquet_walk_page_over(w, s, p->offset);
	return footer && !w->left ? "the footer does not end with its length" : NULL;
}

/* What is read first ends the file, then comes the footer, then columns. */
static const char *parquet_walk_jump(const struct walk *w, const struct parquet_walk *s,
				     const struct walk_piece *p)
{
	switch (w->part) {
	case PARQUET_TAIL:
		return w->have || p->offset + PARQUET_TAIL_BYTES != w->size
			       ? "is not read from its end"
			       : NULL;
	case PARQUET_FOOTER:
		return p->offset == s->footer_at && !s->thrift.depth && !s->thrift.shift
			       ? NULL
			       : "the footer is not where the file's end says";
	case PARQUET_PAGE:
		return NULL;
	default:
		return "a page goes on behind its columns";
	}
}

static const char *parquet_walk_take(struct walk *w, struct walk_piece *p)
{
	struct parquet_walk *s = WALK_STATE(struct parquet_walk, w);
	const char *wrong = p->jumps ? parquet_walk_jump(w, s, p) : NULL;
	const uint8_t *span;

	while (!wrong && p->left) {
		switch (w->part) {
		case PARQUET_TAIL:
			if (walk_gather(w, p, s->tail, sizeof(s->tail), PARQUET_TAIL_BYTES))
				wrong = parquet_walk_tail(w, s);
			break;
		case PARQUET_PAGE:
			s->thrift = (struct thrift){0};
			s->page_bytes = 0;
			s->page_said = false;
			w->part = PARQUET_HEADER;
			break;
		case PARQUET_VALUES:
			walk_span(w, p, &span);
			if (!w->left)
				w->part = PARQUET_PAGE;
			break;
		default:
			wrong = parquet_walk_metadata(w, s, p);
			break;
		}
	}
	return wrong;
}

static const char *parquet_walk_end(const struct walk *w, uint64_t samples)
{
	const struct parquet_walk *s = WALK_STATE(const struct parquet_walk, w);

	if (w->part != PARQUET_PAGE)
		return "ends inside a page, or its footer";
	return s->file_rows == samples ? NULL : "has another number of rows than samples";
}

const struct walk_ops parquet_walk = {parquet_walk_take, parquet_walk_end, false};
