/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/dataset/name_list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/key.h"

enum { SCAN_BYTES = 1 << 20, READ_BYTES = 4096 };

static const char byte_order_mark[] = "\xef\xbb\xbf";
enum { MARK_BYTES = sizeof(byte_order_mark) - 1 };

/* The scan at open. */
struct scan {
	struct name_list *list;
	uint64_t line, begin; /* where the line under way begins */
	uint64_t length;      /* of it, so far */
	char last;            /* of its bytes */
	struct key_scan name;
	size_t room;
};

static int name_list_add(struct name_list *l, uint64_t place)
{
	uint64_t *more;

	if (l->place_count == l->place_capacity) {
		uint64_t wanted = l->place_capacity ? 2 * l->place_capacity : 1024;

		more = realloc(l->places, wanted * sizeof(*more));
		if (!more)
			return -ENOMEM;
		l->places = more;
		l->place_capacity = wanted;
	}
	l->places[l->place_count++] = place;
	return 0;
}

/* The line under way has ended. */
static int name_list_end_line(struct scan *s, struct err *err)
{
	size_t cut = s->length && s->last == '\r';
	uint64_t length = s->length - cut;
	bool leaves = key_scan_leaves(&s->name, cut);

	s->line++;
	if (length >= s->room)
		return err_set(err, -EINVAL,
			       "line %" PRIu64 " has %" PRIu64
			       " bytes; a name has at most %zu here",
			       s->line, length, s->room - 1);
	if (leaves)
		return err_set(err, -EINVAL,
			       "line %" PRIu64
			       ": a name must not leave the folder; no part of it may be \".\" or "
			       "\"..\"",
			       s->line);
	if (length && s->list->names++ % NAME_LIST_EVERY == 0 &&
	    name_list_add(s->list, s->begin) < 0)
		return err_set(err, -ENOMEM, "no memory for the list of names");
	return 0;
}

static int name_list_scan_piece(struct scan *s, const char *text, size_t bytes, struct err *err)
{
	const char *end;
	size_t n;
	int rc;

	if (memchr(text, '\0', bytes))
		return err_set(err, -EINVAL,
			       "there is a zero byte in line %" PRIu64
			       " or after it: this is not a text file",
			       s->line + 1);
	while (bytes) {
		end = memchr(text, '\n', bytes);
		n = end ? (size_t)(end - text) : bytes;
		if (n) {
			s->length += n;
			s->last = text[n - 1];
			key_scan_add(&s->name, text, n);
		}
		if (!end)
			return 0;
		rc = name_list_end_line(s, err);
		if (rc < 0)
			return rc;
		s->begin += s->length + 1;
		s->length = 0;
		text += n + 1;
		bytes -= n + 1;
	}
	return 0;
}

static ssize_t name_list_read(int fd, void *data, size_t bytes, uint64_t at)
{
	ssize_t n;

	do {
		n = pread(fd, data, bytes, (off_t)at);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int name_list_scan(struct name_list *l, size_t room, struct err *err)
{
	struct scan s = {.list = l, .room = room};
	char *buffer = malloc(SCAN_BYTES);
	ssize_t n = buffer ? name_list_read(l->fd, buffer, MARK_BYTES, 0) : -ENOMEM;
	uint64_t at;
	int rc = 0;

	if (n == MARK_BYTES && memcmp(buffer, byte_order_mark, MARK_BYTES) == 0)
		s.begin = MARK_BYTES;
	for (at = s.begin; rc == 0 && n > 0; at += (uint64_t)n) {
		n = name_list_read(l->fd, buffer, SCAN_BYTES, at);
		if (n > 0)
			rc = name_list_scan_piece(&s, buffer, (size_t)n, err);
	}
	if (rc == 0 && n < 0)
		rc = err_set(err, (int)n, "%s", strerror((int)-n));
	if (rc == 0)
		rc = name_list_end_line(&s, err);
	if (rc == 0 && l->names == 0)
		rc = err_set(err, -EINVAL, "holds no name");
	free(buffer);
	return rc;
}

int name_list_open(struct name_list *l, const char *path, size_t room, struct err *err)
{
	int rc;

	memset(l, 0, sizeof(*l));
	l->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (l->fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	rc = name_list_scan(l, room, err);
	if (rc < 0) {
		name_list_close(l);
		return err_wrap(err, rc, "%s", path);
	}
	return 0;
}

void name_list_close(struct name_list *l)
{
	if (l->fd >= 0)
		close(l->fd);
	free(l->places);
	memset(l, 0, sizeof(*l));
	l->fd = -1;
}

/* A reader of the lines behind a place. */
struct lines {
	const struct name_list *list;
	uint64_t at;
	size_t have, used;
	char piece[READ_BYTES];
};

static int name_list_next_byte(struct lines *r)
{
	ssize_t n;

	if (r->used == r->have) {
		n = name_list_read(r->list->fd, r->piece, sizeof(r->piece), r->at);
		if (n <= 0)
			return -1;
		r->have = (size_t)n;
		r->at += r->have;
		r->used = 0;
	}
	return (unsigned char)r->piece[r->used++];
}

/* The next line, cut to room; its whole length, or -1 at the end. */
static int64_t name_list_next_line(struct lines *r, char *out, size_t room)
{
	size_t length = 0;
	int c = name_list_next_byte(r);

	if (c < 0)
		return -1;
	for (; c >= 0 && c != '\n'; c = name_list_next_byte(r))
		if (length + 1 < room)
			out[length++] = (char)c;
	if (length && out[length - 1] == '\r')
		length--;
	out[length] = '\0';
	return (int64_t)length;
}

static void name_list_drop_begin(char *name)
{
	const char *from = name;

	while (from[0] == '/' || (from[0] == '.' && from[1] == '/'))
		from += from[0] == '/' ? 1 : 2;
	memmove(name, from, strlen(from) + 1);
}

void name_list_at(const struct name_list *l, uint64_t i, char *out, size_t room)
{
	struct lines r = {.list = l, .at = l->places[i / NAME_LIST_EVERY]};
	uint64_t left = i % NAME_LIST_EVERY + 1;
	struct key_scan name = {0};
	int64_t length = 0;

	while (left && length >= 0) {
		length = name_list_next_line(&r, out, room);
		left -= length > 0;
	}
	name_list_drop_begin(out);
	key_scan_add(&name, out, strlen(out));
	if (left || key_scan_leaves(&name, 0))
		snprintf(out, room, "name %" PRIu64 " of the list, which has changed", i);
}
