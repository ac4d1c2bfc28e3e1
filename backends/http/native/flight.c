/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "backends/http/native/internal.h"
#include "core/numbers.h"

enum {
	/* Received at once where a line comes next: a head, and small bodies with it. */
	FLIGHT_LINES_BYTES = 5 << 10,
	/* Moved before other exchanges get their turn. */
	FLIGHT_TURN_BYTES = 1 << 20,
	/* The low-water mark in the midst of a body, without TLS and with it. */
	FLIGHT_LOW_WATER_BYTES = 256 << 10,
	FLIGHT_LOW_WATER_TLS_BYTES = 128 << 10,
	/* Of a record of TLS, of which OpenSSL may hold a part that the socket will not tell of. */
	FLIGHT_RECORD_BYTES = 16 << 10,
	/* Of a body, received along with a head whose length was guessed. */
	FLIGHT_GUESSED_BYTES = NATIVE_SCRATCH_BYTES - FLIGHT_LINES_BYTES
};

/* What a step of receiving came to. */
enum flight_step {
	FLIGHT_GOES_ON,
	FLIGHT_WAITS, /* for more bytes */
	FLIGHT_OVER   /* the exchange has ended */
};

static bool flight_all_sent(const struct native_flight *f)
{
	return f->head_sent == f->head_bytes && f->sent_bytes == f->exchange->send_bytes;
}

static void flight_broken(struct native_flight *f)
{
	native_fail(f, -ECONNRESET, REQ_FAULT_BROKEN, "the connection broke");
}

/* Both return how many bytes moved, or a negative errno. */
static ssize_t flight_stream_receive(struct native_connection *c, void *to, size_t n)
{
	struct native_flight *f = c->flight;
	ssize_t got;

	if (f->unread_bytes) {
		n = min_u64(n, f->unread_bytes);
		memmove(to, f->unread, n); /* both may lie in scratch */
		f->unread += n;
		f->unread_bytes -= (uint32_t)n;
		return (ssize_t)n;
	}
	if (c->ssl)
		return native_tls_receive(c, to, n);
	got = recv(c->fd, to, n, 0);
	return got >= 0 ? got : errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t flight_stream_send(struct native_connection *c, struct iovec v[2])
{
	struct msghdr both = {.msg_iov = v, .msg_iovlen = 2};
	const struct iovec *one = !v[1].iov_len ? &v[0] : &v[1];
	ssize_t n;

	if (c->ssl)
		return native_tls_send(c, v);
	if (v[0].iov_len && v[1].iov_len)
		n = sendmsg(c->fd, &both, MSG_NOSIGNAL);
	else
		n = send(c->fd, one->iov_base, one->iov_len, MSG_NOSIGNAL);
	return n >= 0 ? n : errno == EINTR ? -EAGAIN : -errno;
}

/* That number of bytes of the request has gone. */
static void flight_sent(struct native_flight *f, uint64_t n)
{
	struct exchange *x = f->exchange;
	uint64_t head = f->head_bytes - f->head_sent;

	head = min_u64(head, n);
	x->wire_bytes += n;
	stall_move(&x->stall, n, f->owner->now_ns);
	f->head_sent += (uint32_t)head;
	n -= head;
	if (n == 0)
		return;
	f->from += n;
	f->from_bytes -= n;
	f->sent_bytes += n;
}

/* Asks the exchange for more of its body, unless some waits to be sent. */
static int flight_supply(struct native_flight *f)
{
	struct exchange *x = f->exchange;
	uint64_t left = x->send_bytes - f->sent_bytes;
	const void *from;
	int rc;

	if (f->from_bytes || !left)
		return 0;
	rc = x->supply(x, f->sent_bytes, &from, &f->from_bytes);
	if (rc < 0)
		return rc;
	f->from = from;
	f->from_bytes = min_u64(f->from_bytes, left);
	return 0;
}

/* Sends what the connection takes. Returns whether the exchange goes on. */
static bool flight_send(struct native_flight *f)
{
	uint64_t before = f->exchange->wire_bytes;
	struct iovec v[2];
	ssize_t n;
	int rc;

	while (!f->mute && !flight_all_sent(f) &&
	       f->exchange->wire_bytes - before < FLIGHT_TURN_BYTES) {
		uint64_t wanted;

		rc = flight_supply(f);
		if (rc < 0) {
			f->exchange->status = rc;
			native_end(f, false);
			return false;
		}
		v[0] = (struct iovec){f->head + f->head_sent, f->head_bytes - f->head_sent};
		v[1] = (struct iovec){(void *)f->from, f->from_bytes};
		wanted = v[0].iov_len + v[1].iov_len;
		n = flight_stream_send(f->connection, v);
		if (n == -EAGAIN)
			break;
		/* The server hears no more, but may have said why. */
		f->mute = n < 0;
		if (n > 0)
			flight_sent(f, (uint64_t)n);
		/* A TLS record is shorter than what the socket takes. */
		if ((uint64_t)n < wanted && !f->connection->ssl)
			break;
	}
	native_watch(f->owner, f->connection,
		     EPOLLIN | (f->mute || flight_all_sent(f) ? 0u : (uint32_t)EPOLLOUT));
	return true;
}

/* The answer is whole. RFC 9112, 9.2: bytes behind it are none of the next one. Where they come
 * from is not known, and so not whether what came before them is the answer. */
static void flight_answered(struct native_flight *f)
{
	bool sent = flight_all_sent(f), keeps = f->parser.keeps;
	ssize_t more = native_tls_pending(f->connection) ? native_tls_peek(f->connection) : -EAGAIN;

	if (keeps && (f->begin != f->end || f->unread_bytes || f->beyond || more > 0))
		native_fail(f, -EPROTO, REQ_FAULT_BROKEN,
			    "bytes came behind the end of the server's answer");
	else if (!sent && f->exchange->answer.status / 100 == 2)
		native_fail(f, -EPROTO, REQ_FAULT_BROKEN,
			    "the server answered before it had the whole request");
	else
		native_end(f, sent && keeps && more == -EAGAIN);
}

/* Hands over bytes of the body. */
static enum flight_step flight_consume(struct native_flight *f, const void *data, uint64_t n)
{
	struct exchange *x = f->exchange;
	int rc = x->consume ? x->consume(x, data, n) : 0;

	x->received_bytes += n;
	answer_parser_body(&f->parser, n);
	if (rc == 0)
		return FLIGHT_GOES_ON;
	if (rc < 0)
		x->status = rc;
	native_end(f, false);
	return FLIGHT_OVER;
}

static enum flight_step flight_refuse(struct native_flight *f, int64_t rc)
{
	native_fail(f, -EPROTO, rc == -EMSGSIZE ? REQ_FAULT_OTHER : REQ_FAULT_BROKEN,
		    f->parser.why);
	return FLIGHT_OVER;
}

/* Takes what has come and is not parsed yet. */
static enum flight_step flight_take(struct native_flight *f)
{
	struct answer_parser *p = &f->parser;
	uint64_t n = f->end - f->begin;
	int64_t took;

	if (p->part == ANSWER_WHOLE) {
		flight_answered(f);
		return FLIGHT_OVER;
	}
	if (n == 0)
		return FLIGHT_WAITS;
	if (p->part == ANSWER_BODY) {
		n = min_u64(n, p->body_left);
		f->begin += (uint32_t)n;
		return flight_consume(f, f->lines + f->begin - n, n);
	}
	took = answer_parser_take(p, f->lines + f->begin, n);
	if (took < 0)
		return flight_refuse(f, took);
	f->begin += (uint32_t)took;
	/* A server that answers what it does not have yet reads no more of it. */
	f->mute |= p->part != ANSWER_HEAD;
	return took || p->part == ANSWER_WHOLE ? FLIGHT_GOES_ON : FLIGHT_WAITS;
}

/* The head is over: the next one on this connection may be guessed to be as long, where two in a
 * row were. */
static void flight_learn_head(struct native_flight *f)
{
	struct native_connection *c = f->connection;
	uint32_t bytes = f->parser.interim ? 0 : f->parser.lines_bytes;

	c->head_guess = bytes == c->head_last && bytes <= FLIGHT_LINES_BYTES ? bytes : 0;
	c->head_last = bytes;
}

/* Takes all that has come among lines. */
static enum flight_step flight_take_all(struct native_flight *f)
{
	enum flight_step step;

	do {
		bool head = f->parser.part == ANSWER_HEAD;

		step = flight_take(f);
		if (head && step != FLIGHT_OVER && f->parser.part == ANSWER_BODY)
			flight_learn_head(f);
	} while (step == FLIGHT_GOES_ON);
	return step;
}

/* Takes bytes of the body that lie at data. */
static enum flight_step flight_take_body(struct native_flight *f, const void *data, uint64_t n)
{
	enum flight_step step = flight_consume(f, data, n);

	return step == FLIGHT_GOES_ON && f->parser.part == ANSWER_WHOLE ? flight_take(f) : step;
}

/* Whether more can have come than the n bytes that were asked for. TLS gives no more than a record
 * at a time. */
static enum flight_step flight_drained(const struct native_flight *f, ssize_t got, uint64_t n)
{
	return (uint64_t)got < n && !f->connection->ssl ? FLIGHT_WAITS : FLIGHT_GOES_ON;
}

/* n bytes have been asked for, and got came: none at the end of the connection, fewer than none
 * after an error. */
static enum flight_step flight_received(struct native_flight *f, ssize_t got, uint64_t n)
{
	struct exchange *x = f->exchange;
	if (got == -EAGAIN)
		return FLIGHT_WAITS;
	if (got == 0 && answer_parser_end(&f->parser)) {
		flight_answered(f);
		return FLIGHT_OVER;
	}
	if (got <= 0) {
		flight_broken(f);
		return FLIGHT_OVER;
	}
	x->wire_bytes += (uint64_t)got;
	stall_move(&x->stall, (uint64_t)got, f->owner->now_ns);
	if (!x->first_byte_ns)
		x->first_byte_ns = f->owner->now_ns;
	return flight_drained(f, got, n);
}

/* Receives bytes among which lines are. */
static enum flight_step flight_receive_lines(struct native_flight *f)
{
	uint64_t n = FLIGHT_LINES_BYTES;
	enum flight_step step;
	ssize_t got;

	if (f->begin == f->end)
		f->begin = f->end = 0;
	if (NATIVE_LINES_BYTES - f->end < n && f->begin) {
		memmove(f->lines, f->lines + f->begin, f->end - f->begin);
		f->end -= f->begin;
		f->begin = 0;
	}
	/* A line that fills it all is refused by the parser, so there is room. */
	n = min_u64(NATIVE_LINES_BYTES - f->end, n);
	got = flight_stream_receive(f->connection, f->lines + f->end, n);
	step = flight_received(f, got, n);
	if (step == FLIGHT_OVER || got < 0)
		return step;
	f->end += (uint32_t)got;
	return flight_take_all(f) == FLIGHT_OVER ? FLIGHT_OVER : flight_drained(f, got, n);
}

/* Where the next bytes of the body go, and in *room how many of them: to where the exchange wants
 * them, or else to scratch. */
static void *flight_place(const struct native_flight *f, uint64_t *room)
{
	struct exchange *x = f->exchange;
	void *to = x->place ? x->place(x, room) : NULL;

	if (to)
		return to;
	*room = NATIVE_SCRATCH_BYTES;
	return f->owner->scratch;
}

/* Of what came, n bytes lie in lines, where the head was guessed to end, and the others at to.
 * Returns whether that is where they belong; if so, the head has been taken. */
static bool flight_guessed_well(struct native_flight *f, uint64_t n, const void *to,
				uint64_t others)
{
	struct answer_parser *p = &f->parser;
	uint64_t room;

	if (answer_parser_take(p, f->lines, n) != (int64_t)n || p->part != ANSWER_BODY ||
	    p->interim || others > p->body_left || flight_place(f, &room) != to || others > room)
		return false;
	f->mute = true;
	return true;
}

/* The guess was wrong: what came is to be received again, as if it had not been. */
static void flight_unread(struct native_flight *f, uint64_t n, const void *to, uint64_t others)
{
	f->unread = f->owner->scratch;
	f->unread_bytes = (uint32_t)(n + others);
	memmove(f->owner->scratch + n, to, others); /* both may lie in scratch */
	memcpy(f->owner->scratch, f->lines, n);
	answer_clear(&f->exchange->answer);
	answer_parser_begin(&f->parser, &f->exchange->answer, f->exchange->method);
}

/* Receives the head and the beginning of the body in one go, each where it belongs if the head is
 * as long as the last ones on this connection. */
static enum flight_step flight_receive_guessed(struct native_flight *f)
{
	uint64_t head = f->connection->head_guess, room, all;
	void *to = flight_place(f, &room);
	struct iovec v[2] = {{f->lines, head}, {to, room}};
	struct msghdr both = {.msg_iov = v, .msg_iovlen = 2};
	enum flight_step step, taken;
	ssize_t got;

	v[1].iov_len = min_u64(room, FLIGHT_GUESSED_BYTES);
	all = head + v[1].iov_len;
	got = recvmsg(f->connection->fd, &both, 0);
	got = got >= 0 ? got : errno == EINTR ? -EAGAIN : -errno;
	if (got > (ssize_t)head && !flight_guessed_well(f, head, to, (uint64_t)got - head)) {
		flight_unread(f, head, to, (uint64_t)got - head);
		return FLIGHT_GOES_ON;
	}
	step = flight_received(f, got, all);
	if (step == FLIGHT_OVER || got < 0)
		return step;
	if (got <= (ssize_t)head) {
		f->end = (uint32_t)got;
		return flight_take_all(f) == FLIGHT_OVER ? FLIGHT_OVER : step;
	}
	taken = flight_take_body(f, to, (uint64_t)got - head);
	return taken == FLIGHT_GOES_ON ? step : taken;
}

/* Whether the length of the head that is to come can be guessed. */
static bool flight_guesses(const struct native_flight *f)
{
	return !f->parser.begun && f->parser.part == ANSWER_HEAD && !f->end && !f->unread_bytes &&
	       !f->connection->ssl && f->connection->head_guess;
}

/* Receives the end of a body, or less, and looks whether a byte follows it, by the same call. */
static ssize_t flight_receive_end(struct native_flight *f, void *to, uint64_t n)
{
	char beyond;
	struct iovec v[2] = {{to, n}, {&beyond, 1}};
	struct msghdr both = {.msg_iov = v, .msg_iovlen = 2};
	ssize_t got;

	if (n < f->parser.body_left || f->parser.coded || f->connection->ssl || f->unread_bytes)
		return flight_stream_receive(f->connection, to, n);
	got = recvmsg(f->connection->fd, &both, 0);
	if (got < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	f->beyond = (uint64_t)got > n;
	return f->beyond ? got - 1 : got;
}

/* Receives bytes of the body where they belong. */
static enum flight_step flight_receive_body(struct native_flight *f)
{
	uint64_t n;
	void *to = flight_place(f, &n);
	enum flight_step step, taken;
	ssize_t got;

	n = min_u64(n, f->parser.body_left);
	got = flight_receive_end(f, to, n);
	step = flight_received(f, got, n);
	if (step == FLIGHT_OVER || got < 0)
		return step;
	taken = flight_take_body(f, to, (uint64_t)got);
	return taken == FLIGHT_GOES_ON ? step : taken;
}

/* How many bytes shall wait before epoll tells of them: many in the midst of a body. A sender that
 * cannot or may not send it all at once (TLS, pacing) would wake haul up for each piece, and pays
 * for that. As many must be to come, or epoll would never tell. With TLS, what is left of a body
 * comes in records, of which only the last is to wake haul up; but where no other exchange is under
 * way, each is deciphered while the next comes. */
static int flight_low_water(const struct native_flight *f)
{
	const struct native_connection *c = f->connection;
	const struct answer_parser *p = &f->parser;
	uint64_t most = c->ssl ? FLIGHT_LOW_WATER_TLS_BYTES : FLIGHT_LOW_WATER_BYTES;
	uint64_t least = c->ssl && f->owner->active > 1 ? FLIGHT_RECORD_BYTES : most;
	uint64_t holds = 0, left;

	if (p->part != ANSWER_BODY || p->body_left == ANSWER_UNKNOWN)
		return 1;
	if (c->ssl)
		holds = min_u64(c->tls_holds, FLIGHT_RECORD_BYTES);
	left = excess_u64(p->body_left, holds);
	if (left < least)
		return 1;
	return (int)min_u64(left, most);
}

/* Whether the rest of the answer may be a segment that is not full. A server may hold back such a
 * one until the one before it has been acknowledged (Nagle's algorithm, RFC 896), which the kernel
 * delays. Below a low-water mark it does not delay it. */
static bool flight_rest_is_held(const struct native_flight *f)
{
	const struct answer_parser *p = &f->parser;

	return f->connection->low_water <= 1 &&
	       (p->part != ANSWER_BODY || p->body_left < native_segment_bytes(f->connection));
}

static void flight_receive(struct native_flight *f)
{
	struct native_transport *t = f->owner;
	struct exchange *x = f->exchange;
	uint64_t before = x->wire_bytes;
	enum flight_step step = FLIGHT_GOES_ON;

	if (flight_guesses(f))
		step = flight_receive_guessed(f);
	while (step == FLIGHT_GOES_ON && x->wire_bytes - before < FLIGHT_TURN_BYTES) {
		if (f->parser.part == ANSWER_BODY)
			step = flight_receive_body(f);
		else
			step = flight_receive_lines(f);
	}
	if (step != FLIGHT_OVER)
		native_low_water(f->connection, flight_low_water(f));
	if (step == FLIGHT_WAITS && x->wire_bytes != before && flight_rest_is_held(f))
		native_acknowledge(f->connection);
	/* epoll does not know of what TLS holds. */
	if (step == FLIGHT_GOES_ON && f->connection->ssl && !f->again) {
		f->again = true;
		t->again[t->again_count++] = f;
	}
}

void native_flight_run(struct native_flight *f)
{
	stall_begin(&f->exchange->stall, f->owner->now_ns);
	flight_send(f);
}

void native_flight_event(struct native_flight *f, uint32_t events)
{
	if (events & EPOLLOUT && !flight_send(f))
		return;
	if (events & ~(uint32_t)EPOLLOUT)
		flight_receive(f);
}

void native_flight_below(struct native_flight *f)
{
	if (f->connection->low_water > 1)
		flight_receive(f);
}
