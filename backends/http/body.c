/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/body.h"

#include <errno.h>
#include <string.h>

#include "core/numbers.h"

/* An answer that is not wanted is read on for so long, since a new connection would cost more. */
enum { BODY_DRAIN_BYTES = 64 << 10 };
/* Of a page of XML: 1,000 entries whose keys have 1,024 bytes, each of them escaped, and more. */
enum { BODY_XML_BYTES = 8 << 20 };

/* From the window, which the caller of the queue fills piece by piece. */
static int body_supply_chunk(struct request *req, uint64_t at, const void **from, uint64_t *n)
{
	uint64_t in = at % req->buffer_bytes, left = req->length - at + in;
	uint64_t filled = min_u64(left, req->buffer_bytes);

	*from = (const char *)req->data + in;
	*n = filled - in;
	return in ? 0 : req->chunk(req, req->offset + at, req->data, filled);
}

static int body_supply_object(struct exchange *x, uint64_t at, const void **from, uint64_t *n)
{
	const struct http_slot *s = x->user;

	if (s->req->chunk)
		return body_supply_chunk(s->req, at, from, n);
	*from = (const char *)s->req->data + at;
	*n = s->request.body_bytes - at;
	return 0;
}

void body_of_object(struct http_slot *s, uint64_t bytes)
{
	s->request.body_bytes = bytes;
	s->exchange.supply = body_supply_object;
}

static int body_supply_pieces(struct exchange *x, uint64_t at, const void **from, uint64_t *n)
{
	struct http_slot *s = x->user;
	const char *piece;
	uint64_t bytes;

	if (at == 0) {
		s->piece = 0;
		s->piece_at = 0;
	}
	while ((piece = s->pieces(s, s->piece, s->piece_text)) != NULL) {
		bytes = strlen(piece);
		if (at - s->piece_at < bytes) {
			*from = piece + (at - s->piece_at);
			*n = bytes - (at - s->piece_at);
			return 0;
		}
		s->piece_at += bytes;
		s->piece++;
	}
	return -EPROTO;
}

void body_of_pieces(struct http_slot *s,
		    const char *(*pieces)(const struct http_slot *s, uint64_t piece,
					  char buffer[PIECE_BYTES]))
{
	const char *piece;

	s->pieces = pieces;
	s->request.body_bytes = 0;
	for (uint64_t i = 0; (piece = pieces(s, i, s->piece_text)) != NULL; i++)
		s->request.body_bytes += strlen(piece);
	s->exchange.supply = body_supply_pieces;
}

int body_each(struct http_slot *s, uint64_t bytes,
	      void (*observe)(void *argument, const void *data, uint64_t n), void *argument)
{
	struct exchange *x = &s->exchange;
	const void *from;
	uint64_t n;
	int rc = 0;

	for (uint64_t at = 0; at < bytes && rc == 0; at += n) {
		n = 0;
		rc = x->supply(x, at, &from, &n);
		n = min_u64(n, bytes - at);
		if (rc == 0)
			observe(argument, from, n);
	}
	return rc;
}

/* Puts bytes that came where they belong, unless they were received there. */
static void body_put(void *to, const void *data, uint64_t n)
{
	if (to != data)
		memcpy(to, data, n);
}

static int body_consume_chunks(struct request *req, const char *data, uint64_t n)
{
	while (n) {
		uint64_t in = req->answer.done_bytes % req->buffer_bytes,
			 room = req->buffer_bytes - in;
		int rc = 0;

		room = min_u64(room, n);
		body_put((char *)req->data + in, data, room);
		req->answer.done_bytes += room;
		data += room;
		n -= room;
		if (in + room == req->buffer_bytes || req->answer.done_bytes == req->length)
			rc = req->chunk(req, req->offset + req->answer.done_bytes - in - room,
					req->data, in + room);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The answer's framing does not fit what was asked for, or itself: nothing of it is taken, and
 * another attempt may do better. */
static int body_broken(struct http_slot *s, const char *why)
{
	exchange_fail(&s->exchange, -EPROTO, REQ_FAULT_BROKEN, why);
	s->req->answer.why = why;
	return -EPROTO;
}

/* Before the first byte of the body is taken: whether this is the range that was asked for, and as
 * long as it says. */
static int body_check_range(struct http_slot *s)
{
	const struct http_answer *a = &s->exchange.answer;
	uint64_t wanted = s->req->offset + s->started_bytes;
	uint64_t left = s->req->length - s->started_bytes;

	if (a->status == 206 && a->range_first == ANSWER_UNKNOWN)
		return body_broken(s, "the server does not say which range it sends");
	if (a->status == 206 ? a->range_first != wanted : wanted != 0)
		return body_broken(s, "the server answered with another range than was asked for");
	if (a->status == 206 && a->length != ANSWER_UNKNOWN &&
	    a->length != a->range_last - a->range_first + 1)
		return body_broken(s, "the server sends a range that is not as long as it says");
	if ((a->status == 206 && a->range_last - a->range_first >= left) ||
	    (a->length != ANSWER_UNKNOWN && a->length > left))
		return body_broken(s, "the server sent more than was asked for");
	return 0;
}

/* Keeps the beginning of an answer. The rest is dropped: what is short is read on, so that the
 * connection stays; what is long, or does not end, is cut. */
static int body_consume_text(struct http_slot *s, const char *data, uint64_t n)
{
	const struct exchange *x = &s->exchange;
	uint64_t room = sizeof(s->text) - 1 - s->text_used, kept;

	/* What says only that the server still works on the request. */
	while (x->may_trickle && !s->text_used && n && strchr(" \t\r\n", *data)) {
		data++;
		n--;
	}
	kept = min_u64(n, room);
	memcpy(s->text + s->text_used, data, kept);
	s->text_used += (uint32_t)kept;
	if (kept < n &&
	    (x->received_bytes + n > BODY_DRAIN_BYTES ||
	     (x->answer.length != ANSWER_UNKNOWN && x->answer.length > BODY_DRAIN_BYTES)))
		return EXCHANGE_ENOUGH;
	return 0;
}

/* Fewer bytes than were asked for, not as a range, and an XML document of an error. */
static bool body_is_error(const struct http_slot *s, const char *data, uint64_t n)
{
	const struct http_answer *a = &s->exchange.answer;

	return a->status == 200 && a->length < sizeof(s->text) && a->length < s->req->length &&
	       memmem(data, n, "<Error>", 7);
}

static int body_consume_object(struct http_slot *s, const char *data, uint64_t n)
{
	struct request *req = s->req;
	uint64_t left = req->length - req->answer.done_bytes;
	int rc;

	if (!s->exchange.received_bytes && body_is_error(s, data, n))
		s->error_in_content = true;
	if (s->error_in_content)
		return body_consume_text(s, data, n);
	if (!req->answer.first_byte_ns)
		req->answer.first_byte_ns = s->exchange.first_byte_ns;
	rc = s->exchange.received_bytes ? 0 : body_check_range(s);
	if (rc < 0)
		return rc;
	if (n > left)
		return body_broken(s, "the server sent more than was asked for");
	sum_add(&s->sum, data, n);
	if (req->chunk && !req->discard)
		return body_consume_chunks(req, data, n);
	if (!req->discard)
		body_put((char *)req->data + req->answer.done_bytes, data, n);
	req->answer.done_bytes += n;
	return 0;
}

/* The document is not what it should be, unless somebody has said more of it. */
static int body_xml_refuse(struct http_slot *s, int rc)
{
	if (rc == -EPROTO && !s->req->answer.why)
		s->req->answer.why = sentence_keep(
			&s->channel->store->sentences,
			"the server's answer is not the XML that was asked for",
			"the server's answer is not the XML that was asked for: it has %s (line %lu)",
			xml_problem(s->xml), xml_line(s->xml));
	return rc;
}

static int body_too_long(struct http_slot *s)
{
	exchange_fail(&s->exchange, -EMSGSIZE, REQ_FAULT_OTHER,
		      "a page of the server's answer has more than 8 MiB");
	return -EMSGSIZE;
}

void *body_place(struct exchange *x, uint64_t *n)
{
	const struct http_slot *s = x->user;
	const struct request *req = s->req;
	uint64_t done = req->answer.done_bytes, in;
	bool good = !x->answer.status || x->answer.status / 100 == 2;

	*n = req->length - done;
	if (s->step != STEP_GET || !good || s->error_in_content || req->discard || !*n)
		return NULL;
	if (!req->chunk)
		return (char *)req->data + done;
	in = done % req->buffer_bytes;
	*n = *n < req->buffer_bytes - in ? *n : req->buffer_bytes - in;
	return (char *)req->data + in;
}

int body_consume(struct exchange *x, const void *data, uint64_t n)
{
	struct http_slot *s = x->user;
	bool good = x->answer.status >= 200 && x->answer.status < 300;

	if (good && s->step == STEP_GET)
		return body_consume_object(s, data, n);
	if (good && slot_reads_xml(s) && x->received_bytes + n > BODY_XML_BYTES)
		return body_too_long(s);
	if (good && slot_reads_xml(s))
		return body_xml_refuse(s, xml_feed(s->xml, data, n));
	return body_consume_text(s, data, n);
}

int body_xml_end(struct http_slot *s)
{
	return body_xml_refuse(s, xml_end(s->xml));
}
