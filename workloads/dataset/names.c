/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/dataset/names.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file_read.h"
#include "core/key.h"

enum { NAMES_STEPS = 4, NAMES_WIDTH_MAX = 20, NAMES_DIVISORS = 8 };
#define NAMES_NUMBER_MAX 1000000000000000u

/* What is between two braces. */
struct place_holder {
	char variable; /* 'i' or 'n' */
	unsigned steps, width;
	char operation[NAMES_STEPS];
	uint64_t operand[NAMES_STEPS];
};

static int names_refuse(struct err *err, const char *at, const char *what)
{
	int shown = (int)strcspn(at, "}") + 1;

	return err_set(err, -EINVAL, "\"%.*s\": %s", shown < 40 ? shown : 40, at, what);
}

static int names_parse_step(const char **at, const char *begin, struct place_holder *p,
			    struct err *err)
{
	char *end;
	uint64_t k;

	if (p->steps == NAMES_STEPS)
		return names_refuse(err, begin, "has too many steps; 4 are the most");
	p->operation[p->steps] = *(*at)++;
	if (!isdigit((unsigned char)**at))
		return names_refuse(err, begin, "a whole number must follow +, / and %");
	errno = 0;
	k = strtoull(*at, &end, 10);
	if (errno || k > NAMES_NUMBER_MAX)
		return names_refuse(err, begin, "the number is too large");
	if (k == 0 && p->operation[p->steps] != '+')
		return names_refuse(err, begin, "nothing can be divided by 0");
	p->operand[p->steps++] = k;
	*at = end;
	return 0;
}

static int names_parse_width(const char **at, const char *begin, struct place_holder *p,
			     struct err *err)
{
	const char *digits = *at + 1;
	char *end;
	unsigned long width;

	if (*digits != '0' || !isdigit((unsigned char)digits[1]))
		return names_refuse(err, begin,
				    "\":\" is followed by 0 and the number of digits, as in "
				    "{i:07}");
	width = strtoul(digits, &end, 10);
	if (width > NAMES_WIDTH_MAX)
		return names_refuse(err, begin, "a number has 20 digits at most");
	p->width = (unsigned)width;
	*at = *end == 'd' ? end + 1 : end;
	return 0;
}

/* at points to the opening brace, afterwards behind the closing one. */
static int names_parse(const char **at, struct place_holder *p, struct err *err)
{
	const char *begin = *at;
	int rc = 0;

	memset(p, 0, sizeof(*p));
	p->variable = begin[1];
	if (p->variable != 'i' && p->variable != 'n')
		return names_refuse(err, begin,
				    "known are {i}, the file's number, and {n}, how many there "
				    "are; a brace itself is {{ or }}");
	*at += 2;
	while (rc == 0 && **at && strchr("+/%", **at))
		rc = names_parse_step(at, begin, p, err);
	if (rc == 0 && **at == ':')
		rc = names_parse_width(at, begin, p, err);
	if (rc == 0 && **at != '}')
		rc = names_refuse(err, begin, "wants \"}\" behind what is known: {i/1000%10+1:07}");
	++*at;
	return rc;
}

static uint64_t names_value(const struct place_holder *p, uint64_t value)
{
	for (unsigned s = 0; s < p->steps; s++) {
		if (p->operation[s] == '+')
			value += p->operand[s];
		else if (p->operation[s] == '/')
			value /= p->operand[s];
		else
			value %= p->operand[s];
	}
	return value;
}

static size_t names_put(char *out, size_t room, size_t used, const struct place_holder *p,
			uint64_t value)
{
	int n = snprintf(out + used, room - used, "%0*" PRIu64, (int)p->width, value);

	return used + (size_t)n < room ? used + (size_t)n : room;
}

/* A brace that belongs to the text is written twice. */
static bool names_brace_doubled(const char *at)
{
	return (at[0] == '{' || at[0] == '}') && at[1] == at[0];
}

void names_expand(const char *template, uint64_t i, uint64_t n, char *out, size_t room)
{
	struct place_holder p;
	size_t used = 0;

	for (const char *at = template; *at && used + 1 < room;) {
		if (*at == '{' && !names_brace_doubled(at)) {
			if (names_parse(&at, &p, NULL) < 0)
				break;
			used = names_put(out, room, used, &p,
					 names_value(&p, p.variable == 'i' ? i : n));
		} else {
			at += names_brace_doubled(at);
			out[used++] = *at++;
		}
	}
	out[used < room ? used : room - 1] = '\0';
}

/* Which parts of a file's number the template has used so far: the number, or quotient and
 * remainder by one divisor. Either makes names unique. */
struct distinct {
	bool whole;
	unsigned quotients, remainders;
	uint64_t quotient[NAMES_DIVISORS], remainder[NAMES_DIVISORS];
};

static void names_distinct_add(struct distinct *d, const struct place_holder *p)
{
	unsigned first = 0, end = p->steps;

	if (p->variable != 'i')
		return;
	/* What is added at last moves all alike. */
	while (end && p->operation[end - 1] == '+')
		end--;
	while (first < end && p->operation[first] == '+')
		first++;
	if (first == end)
		d->whole = true;
	/* An addend before shifts quotient and remainder alike only where both have it. */
	else if (end != 1)
		return;
	else if (p->operation[0] == '/' && d->quotients < NAMES_DIVISORS)
		d->quotient[d->quotients++] = p->operand[0];
	else if (p->operation[0] == '%' && d->remainders < NAMES_DIVISORS)
		d->remainder[d->remainders++] = p->operand[0];
}

static bool names_distinct_surely(const struct distinct *d)
{
	for (unsigned q = 0; q < d->quotients; q++)
		for (unsigned r = 0; r < d->remainders; r++)
			if (d->quotient[q] == d->remainder[r])
				return true;
	return d->whole;
}

static int names_check_expanded(const char *template, uint64_t i, uint64_t n, size_t room,
				struct err *err)
{
	char name[1024] = "";

	if (room > sizeof(name))
		room = sizeof(name);
	names_expand(template, i, n, name, room);
	if (strlen(name) + 1 == room)
		return err_set(err, -EINVAL, "gives names of more than %zu bytes", room - 2);
	return key_check(name, err);
}

int names_check(const char *template, uint64_t n, size_t room, struct err *err)
{
	struct distinct seen = {0};
	struct place_holder p;
	bool apart = true; /* something but digits since the last number */
	int rc;

	for (const char *at = template; *at;) {
		if (*at == '{' && !names_brace_doubled(at)) {
			const char *begin = at;

			rc = names_parse(&at, &p, err);
			if (rc < 0)
				return rc;
			if (!apart)
				return names_refuse(
					err, begin,
					"something other than digits must stand between "
					"two numbers");
			apart = false;
			names_distinct_add(&seen, &p);
		} else if (*at == '}' && !names_brace_doubled(at)) {
			return names_refuse(err, at,
					    "a closing brace without an opening one; a brace "
					    "itself is }}");
		} else {
			at += names_brace_doubled(at);
			apart = apart || !isdigit((unsigned char)*at);
			at++;
		}
	}
	if (n > 1 && !names_distinct_surely(&seen))
		return err_set(err, -EINVAL,
			       "\"%s\" gives several files one name: it needs {i}, or {i/k} and "
			       "{i%%k} of the same k",
			       template);
	rc = names_check_expanded(template, 0, n, room, err);
	return rc < 0 ? rc : names_check_expanded(template, n - 1, n, room, err);
}

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
	l->fd = file_open(path);
	if (l->fd < 0)
		return err_set(err, l->fd, "%s: %s", path, strerror(-l->fd));
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
