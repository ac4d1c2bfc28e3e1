/* Bodies: the bytes of objects straight from and into the caller's memory, small answers into the slot,
 * listings into the XML reader. */
#include <errno.h>
#include <string.h>

#include "backends/http/http.h"

/* Through the window, which the caller fills piece by piece. */
static int produce_chunks(struct request *req, uint64_t at, char *to, uint64_t n)
{
	while (n) {
		uint64_t in = at % req->buffer_bytes, room = req->buffer_bytes - in,
			 left = req->length - at + in;
		int rc = 0;

		if (in == 0)
			rc = req->chunk(req, req->offset + at, req->data,
					left < req->buffer_bytes ? left : req->buffer_bytes);
		if (rc < 0)
			return rc;
		room = room < n ? room : n;
		memcpy(to, (char *)req->data + in, room);
		to += room;
		at += room;
		n -= room;
	}
	return 0;
}

static int body_produce_object(struct exchange *x, uint64_t at, void *to, uint64_t n)
{
	const struct slot *s = x->user;

	if (s->req->chunk)
		return produce_chunks(s->req, at, to, n);
	memcpy(to, (const char *)s->req->data + at, n);
	return 0;
}

void body_of_object(struct slot *s, uint64_t bytes)
{
	s->request.body_bytes = bytes;
	s->exchange.produce = body_produce_object;
}

static int produce_pieces(struct exchange *x, uint64_t at, void *to, uint64_t n)
{
	struct slot *s = x->user;
	char buffer[PIECE_BYTES], *out = to;
	const char *piece;

	if (at == 0) {
		s->piece = 0;
		s->piece_at = 0;
	}
	while (n && (piece = s->pieces(s, s->piece, buffer)) != NULL) {
		uint64_t left = strlen(piece) - s->piece_at, k = left < n ? left : n;

		memcpy(out, piece + s->piece_at, k);
		out += k;
		n -= k;
		s->piece_at += k;
		if (k == left) {
			s->piece++;
			s->piece_at = 0;
		}
	}
	return n ? -EPROTO : 0;
}

void body_of_pieces(struct slot *s, const char *(*pieces)(const struct slot *s, uint64_t piece,
							  char buffer[PIECE_BYTES]))
{
	char buffer[PIECE_BYTES];
	const char *piece;

	s->pieces = pieces;
	s->request.body_bytes = 0;
	for (uint64_t i = 0; (piece = pieces(s, i, buffer)) != NULL; i++)
		s->request.body_bytes += strlen(piece);
	s->exchange.produce = produce_pieces;
}

int body_each(struct slot *s, uint64_t bytes,
	      void (*observe)(void *argument, const void *data, uint64_t n), void *argument)
{
	struct exchange *x = &s->exchange;
	uint8_t piece[16 << 10];
	int rc = 0;

	for (uint64_t at = 0; at < bytes && rc == 0; at += sizeof(piece)) {
		uint64_t n = bytes - at < sizeof(piece) ? bytes - at : sizeof(piece);

		rc = x->produce(x, at, piece, n);
		if (rc == 0)
			observe(argument, piece, n);
	}
	return rc;
}

static int consume_chunks(struct request *req, const char *data, uint64_t n)
{
	while (n) {
		uint64_t in = req->answer.done_bytes % req->buffer_bytes,
			 room = req->buffer_bytes - in;
		int rc = 0;

		room = room < n ? room : n;
		memcpy((char *)req->data + in, data, room);
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

/* The first bytes tell whether this is the range that was asked for. */
static int check_range(const struct slot *s)
{
	const struct http_answer *a = &s->exchange.answer;
	uint64_t wanted = s->req->offset + s->started_bytes;

	if (a->status == 206)
		return a->range_first == ANSWER_UNKNOWN || a->range_first == wanted ? 0 : -EPROTO;
	return wanted == 0 ? 0 : -EPROTO;
}

static int consume_small(struct slot *s, const char *data, uint64_t n)
{
	uint64_t room = sizeof(s->small) - 1 - s->small_used;

	n = n < room ? n : room;
	memcpy(s->small + s->small_used, data, n);
	s->small_used += (uint32_t)n;
	return 0;
}

/* Less than was asked for, not as a range, and an XML document of an error. */
static bool is_error(const struct slot *s, const char *data, uint64_t n)
{
	const struct http_answer *a = &s->exchange.answer;

	return a->status == 200 && a->length < sizeof(s->small) && a->length < s->req->length &&
	       memmem(data, n, "<Error>", 7);
}

static int consume_object(struct slot *s, const char *data, uint64_t n)
{
	struct request *req = s->req;
	uint64_t left = req->length - req->answer.done_bytes;
	int rc;

	if (!s->exchange.received_bytes && is_error(s, data, n))
		s->embedded = true;
	if (s->embedded)
		return consume_small(s, data, n);
	if (!req->answer.first_byte_ns)
		req->answer.first_byte_ns = s->exchange.first_byte_ns;
	rc = s->exchange.received_bytes ? 0 : check_range(s);

	if (rc < 0) {
		req->answer.why = "the server answered with another range than was asked for";
		return rc;
	}
	/* A server without ranges sends the whole of an object of which the beginning was wanted. */
	if (n > left) {
		req->answer.why = "the server sent more than was asked for";
		return -EPROTO;
	}
	sum_add(&s->sum, data, n);
	if (req->chunk && !req->discard)
		return consume_chunks(req, data, n);
	if (!req->discard)
		memcpy((char *)req->data + req->answer.done_bytes, data, n);
	req->answer.done_bytes += n;
	return 0;
}

int body_consume(struct exchange *x, const void *data, uint64_t n)
{
	struct slot *s = x->user;
	bool good = x->answer.status >= 200 && x->answer.status < 300;

	if (good && s->step == STEP_GET)
		return consume_object(s, data, n);
	if (good && slot_lists(s))
		return xml_feed(s->xml, data, n);
	/* Of an error, the beginning says what it is. */
	return consume_small(s, data, n);
}

int slot_list_entry(struct slot *s, uint64_t size)
{
	size_t before = strlen(s->channel->store->prefix) + strlen(s->req->object->key);
	const char *name = s->small;

	/* The folder's own mark, and what an attempt before has given. */
	if (strlen(name) <= before || s->listed++ < s->skip)
		return 0;
	s->req->answer.done_bytes++;
	return s->req->listing->entry(s->req, name + before, size);
}
