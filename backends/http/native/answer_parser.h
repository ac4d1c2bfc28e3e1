/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of HTTP/1.1 answers: where the head ends, how the body is framed, and whether the
 * connection may carry another exchange.
 *
 * It is strict: what RFC 9112 does not allow a server to send is refused, also where others guess,
 * because a guess about the length of a body would hand on wrong bytes. Lines end with CR LF. A
 * length that contradicts another one, a length beside a transfer coding, a coding other than
 * "chunked", folded headers, and control characters are refused. Only the length of an answer that
 * has no body (to HEAD, and with the status 204 or 304) does not matter.
 *
 * The parser looks only at lines; the bytes of a body pass it by, so that they can be received
 * where they belong. It owns no memory and belongs to the thread of its exchange. */
#ifndef HAUL_BACKENDS_HTTP_NATIVE_ANSWER_PARSER_H
#define HAUL_BACKENDS_HTTP_NATIVE_ANSWER_PARSER_H

#include "backends/http/wire/answer.h"
#include "backends/http/wire/exchange.h"

enum {
	ANSWER_LINE_BYTES = 64 << 10, /* of a line, with its end, at most */
	ANSWER_INTERIM_MAX = 16       /* answers of 1xx before the final one, at most */
};

enum answer_part {
	ANSWER_HEAD,    /* a line of the head comes next */
	ANSWER_BODY,    /* body_left bytes of the body come next */
	ANSWER_CHUNK,   /* the line before a chunk */
	ANSWER_GAP,     /* the end of the line after a chunk */
	ANSWER_TRAILER, /* a line after the last chunk */
	ANSWER_WHOLE    /* nothing more belongs to the answer */
};

struct answer_parser {
	struct http_answer *answer; /* filled in line by line */
	enum http_method method;
	enum answer_part part;
	uint64_t
		body_left; /* of the body, or of the chunk under way; ANSWER_UNKNOWN: until the connection ends */
	uint32_t lines_bytes;
	uint8_t interim;
	bool begun;          /* the status line has come */
	bool old;            /* HTTP/1.0 */
	bool length_given;   /* a Content-Length has come */
	bool coded;          /* a Transfer-Encoding has come: "chunked" */
	bool close, persist; /* what Connection says */
	bool keeps; /* the connection may carry another exchange; known when the head is over */
	const char *why; /* a constant sentence about the error that answer_parser_take returned */
};

/* Begins the answer to a request of this method; the caller has cleared the answer. */
void answer_parser_begin(struct answer_parser *p, struct http_answer *answer,
			 enum http_method method);

/* Takes whole lines at the beginning of the n bytes until the body begins, the answer is whole, or
 * no whole line is left. Returns how many bytes it took; what it did not take is either a part of
 * the body, or the beginning of a line that has to be given again with more behind it. A negative
 * errno: -EPROTO where the bytes are not an answer of HTTP/1.1, -EMSGSIZE where they exceed a
 * limit. */
int64_t answer_parser_take(struct answer_parser *p, const char *data, size_t n);

/* That number of bytes of the body came, at most body_left. */
void answer_parser_body(struct answer_parser *p, uint64_t n);

/* The server has ended the connection. Returns whether the answer is whole. */
bool answer_parser_end(struct answer_parser *p);

#endif
