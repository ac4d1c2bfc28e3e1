/* SPDX-License-Identifier: Apache-2.0 */
/* Line reader: see line_reader.h.
 *
 *	file or memory ──► input ──► zstd, gzip ──► text: | lines handed out | rest | room |
 *	                       └───────(plain)──────►
 */
#include "core/line_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file_read.h"
#include "core/gzip.h"
#include "core/numbers.h"
#include "core/zstd.h"

enum { LINE_INPUT_BYTES = 64 << 10, LINE_TEXT_BYTES = 2 * LINE_MAX_BYTES };

/* U+FEFF in UTF-8. */
enum { BYTE_ORDER_MARK = 3 };
static const char byte_order_mark[] = "\xef\xbb\xbf";

struct line_reader {
	int fd; /* -1: memory */
	const uint8_t *memory;
	size_t memory_bytes;
	struct zstd_reader *zstd; /* both NULL: plain */
	struct gzip_reader *gzip;
	bool begun, ended; /* the first bytes have been looked at; there is no more input */
	uint64_t number;
	bool again; /* the last line comes again */
	char *last;
	size_t last_bytes;
	size_t begin, end;             /* of the text that is not handed out yet */
	size_t input_begin, input_end; /* of the input that is not decompressed yet */
	uint8_t input[LINE_INPUT_BYTES];
	char text[LINE_TEXT_BYTES + 1];
};

static int line_reader_make(struct line_reader **out, struct err *err)
{
	struct line_reader *r = malloc(sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "no memory");
	memset(r, 0, offsetof(struct line_reader, input));
	r->fd = -1;
	*out = r;
	return 0;
}

int line_reader_open(struct line_reader **out, const char *path, struct err *err)
{
	int rc = line_reader_make(out, err);

	if (rc < 0)
		return rc;
	(*out)->fd = file_open(path);
	if ((*out)->fd < 0) {
		rc = err_set(err, (*out)->fd, "%s", strerror(-(*out)->fd));
		line_reader_close(*out);
		*out = NULL;
	}
	return rc;
}

int line_reader_open_memory(struct line_reader **out, const void *data, size_t bytes,
			    struct err *err)
{
	int rc = line_reader_make(out, err);

	if (rc == 0) {
		(*out)->memory = data;
		(*out)->memory_bytes = bytes;
	}
	return rc;
}

void line_reader_close(struct line_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	zstd_reader_close(r->zstd);
	gzip_reader_close(r->gzip);
	free(r);
}

uint64_t line_reader_number(const struct line_reader *r)
{
	return r->number;
}

/* Bytes of the file or of the memory. Returns how many, 0 at the end. */
static ssize_t input_read(struct line_reader *r, void *into, size_t room)
{
	size_t bytes = min_u64(r->memory_bytes, room);
	ssize_t n;

	if (r->fd < 0) {
		memcpy(into, r->memory, bytes);
		r->memory += bytes;
		r->memory_bytes -= bytes;
		return (ssize_t)bytes;
	}
	do {
		n = read(r->fd, into, room);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Adds to the input. */
static int input_more(struct line_reader *r, struct err *err)
{
	ssize_t n;

	if (r->input_begin == r->input_end)
		r->input_begin = r->input_end = 0;
	n = input_read(r, r->input + r->input_end, sizeof(r->input) - r->input_end);
	if (n < 0)
		return err_set(err, (int)n, "%s", strerror((int)-n));
	r->input_end += (size_t)n;
	r->ended = n == 0;
	return 0;
}

/* Files that are no text, by their first bytes. */
static const struct {
	const char *begin, *what;
	size_t bytes;
} input_kinds[] = {
	{"\xfd"
	 "7zXZ",
	 "is compressed by xz; decompress it by unxz, or compress it by zstd or gzip", 5},
	{"BZh", "is compressed by bzip2; decompress it by bunzip2, or compress it by zstd or gzip",
	 3},
	{"PK\3\4", "is a zip archive; unpack it", 4},
	{"PAR1", "is a Parquet file, not a text", 4},
	{"\x89HDF", "is an HDF5 file, not a text", 4},
	{"\xff\xfe", "is text of UTF-16; convert it to UTF-8", 2},
	{"\xfe\xff", "is text of UTF-16; convert it to UTF-8", 2},
};

static int input_refuse(const struct line_reader *r, struct err *err)
{
	for (size_t i = 0; i < COUNT(input_kinds); i++)
		if (r->input_end >= input_kinds[i].bytes &&
		    memcmp(r->input, input_kinds[i].begin, input_kinds[i].bytes) == 0)
			return err_set(err, -EINVAL, "%s", input_kinds[i].what);
	return 0;
}

/* Reads enough to see what the text is. */
static int input_open(struct line_reader *r, struct err *err)
{
	int rc = 0;

	while (rc == 0 && r->input_end < ZSTD_BEGIN_BYTES && !r->ended)
		rc = input_more(r, err);
	r->begun = true;
	if (rc == 0 && zstd_begins(r->input, r->input_end))
		rc = zstd_reader_open(&r->zstd, err);
	else if (rc == 0 && gzip_begins(r->input, r->input_end))
		rc = gzip_reader_open(&r->gzip, err);
	return rc < 0 ? rc : input_refuse(r, err);
}

static void text_copy(struct line_reader *r)
{
	size_t bytes = r->input_end - r->input_begin, room = LINE_TEXT_BYTES - r->end;

	bytes = min_u64(bytes, room);
	memcpy(r->text + r->end, r->input + r->input_begin, bytes);
	r->input_begin += bytes;
	r->end += bytes;
}

static int text_decompress(struct line_reader *r, struct err *err)
{
	struct zstd_step step = {.in = r->input,
				 .in_bytes = r->input_end,
				 .used = r->input_begin,
				 .out = r->text,
				 .room = LINE_TEXT_BYTES,
				 .made = r->end};
	int rc = r->zstd ? zstd_reader_step(r->zstd, &step, err)
			 : gzip_reader_step(r->gzip, &step, err);

	r->input_begin = step.used;
	r->end = step.made;
	return rc;
}

/* Adds to the text, which has room. Returns 1, or 0 at its end. */
static int text_more(struct line_reader *r, struct err *err)
{
	size_t before = r->end;
	int rc = 0;

	while (rc == 0 && r->end == before) {
		if (r->input_begin == r->input_end && !r->ended)
			rc = input_more(r, err);
		if (rc == 0 && (r->zstd || r->gzip))
			rc = text_decompress(r, err); /* it may hold more without more input */
		else if (rc == 0)
			text_copy(r);
		if (rc == 0 && r->end == before && r->ended && r->input_begin == r->input_end)
			break;
	}
	if (rc == 0 && r->end == before && r->zstd && !zstd_reader_whole(r->zstd))
		rc = err_set(err, -EBADMSG, "ends in the middle of a frame of zstd");
	if (rc == 0 && r->end == before && r->gzip && !gzip_reader_whole(r->gzip))
		rc = err_set(err, -EBADMSG, "ends in the middle of a member of gzip");
	return rc < 0 ? rc : r->end > before;
}

/* Hands out a line, of which the text also has the end (1 byte, or 0 at the end of the text). */
static int line_take(struct line_reader *r, size_t bytes, size_t end, char **line, size_t *length)
{
	*line = r->text + r->begin;
	r->begin += bytes + end;
	if (bytes && end && (*line)[bytes - 1] == '\r')
		bytes--;
	(*line)[bytes] = '\0';
	if (r->number == 1 && strncmp(*line, byte_order_mark, BYTE_ORDER_MARK) == 0) {
		*line += BYTE_ORDER_MARK;
		bytes -= BYTE_ORDER_MARK;
	}
	*length = bytes;
	r->last = *line;
	r->last_bytes = bytes;
	return 1;
}

static int line_refuse(struct err *err)
{
	return err_set(err, -EMSGSIZE, "is longer than %d bytes", LINE_MAX_BYTES);
}

/* Skips a line that is too long for the text. */
static int line_skip(struct line_reader *r, struct err *err)
{
	char *newline;
	int rc;

	do {
		r->begin = r->end = 0;
		rc = text_more(r, err);
		newline = memchr(r->text, '\n', r->end);
	} while (rc > 0 && !newline);
	if (rc < 0)
		return rc;
	if (newline)
		r->begin = (size_t)(newline - r->text) + 1;
	return line_refuse(err);
}

void line_reader_again(struct line_reader *r)
{
	r->again = true;
}

int line_reader_next(struct line_reader *r, char **line, size_t *length, struct err *err)
{
	int rc = r->begun ? 0 : input_open(r, err);
	size_t seen = 0;

	if (r->again) {
		r->again = false;
		*line = r->last;
		*length = r->last_bytes;
		return 1;
	}
	r->number++;
	if (rc < 0)
		return rc;
	for (;;) {
		char *begin = r->text + r->begin;
		size_t bytes = r->end - r->begin;
		char *newline = memchr(begin + seen, '\n', bytes - seen);

		if (newline && newline - begin > LINE_MAX_BYTES) {
			r->begin += (size_t)(newline - begin) + 1;
			return line_refuse(err);
		}
		if (newline)
			return line_take(r, (size_t)(newline - begin), 1, line, length);
		if (bytes > LINE_MAX_BYTES)
			return line_skip(r, err);
		memmove(r->text, begin, bytes);
		r->begin = 0;
		r->end = seen = bytes;
		rc = text_more(r, err);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return bytes ? line_take(r, bytes, 0, line, length) : 0;
	}
}

int line_reader_piece(struct line_reader *r, const char **piece, size_t *bytes, struct err *err)
{
	int rc = r->begun ? 0 : input_open(r, err);

	if (rc == 0 && r->begin == r->end) {
		r->begin = r->end = 0;
		rc = text_more(r, err);
	}
	if (rc < 0)
		return rc;
	*piece = r->text + r->begin;
	*bytes = r->end - r->begin;
	r->begin = r->end;
	return *bytes > 0;
}
