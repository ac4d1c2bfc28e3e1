/* SPDX-License-Identifier: Apache-2.0 */
/* A request as it is put together: server, path, queries, headers. Then it is signed (auth/sign.h),
 * and finished into the exchange that a transport takes. All text lies in a buffer of the caller's;
 * nothing allocates. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_REQUEST_H
#define HAUL_BACKENDS_HTTP_WIRE_REQUEST_H

#include "backends/http/wire/exchange.h"
#include "backends/http/wire/text.h"

enum { REQUEST_QUERIES = 16, REQUEST_BYTES = 20 << 10 };

struct http_request_query {
	const char *name, *value;
};

struct http_request_header {
	const char *line; /* "name: value"; names are lower case */
	size_t name_bytes;
};

struct http_request {
	enum http_method method;
	const char *scheme, *host; /* "https", and "s3-1:9000" as in the Host header */
	const char *path;          /* encoded */
	const char *url;           /* set by http_request_finish */
	uint64_t body_bytes;
	uint32_t query_count, header_count;
	struct http_request_query queries[REQUEST_QUERIES];   /* sorted by name, not encoded */
	struct http_request_header headers[EXCHANGE_HEADERS]; /* sorted by name */
	struct text text;
};

void http_request_begin(struct http_request *r, char *buffer, size_t size, enum http_method method,
			const char *scheme, const char *host);
/* Puts the path together of pieces that are not encoded yet; NULL ends them. */
void http_request_path(struct http_request *r, const char *const *pieces);
/* Neither name nor value is encoded yet. The value is copied; the name must stay where it is. */
void http_request_query(struct http_request *r, const char *name, const char *value);
void http_request_query_u64(struct http_request *r, const char *name, uint64_t value);
void http_request_header(struct http_request *r, const char *name, const char *value);
/* A header "name: bytes=first-last". */
void http_request_range(struct http_request *r, const char *name, uint64_t first, uint64_t bytes);

/* Adds the queries, encoded, as a URL has them behind its '?'. */
void http_request_queries(const struct http_request *r, struct text *out);
const char *http_request_header_value(const struct http_request_header *h);

/* Makes the URL and hands everything to the exchange. tail, such as the queries of a shared access
 * signature, is added to the URL as it is; NULL: none. -ENAMETOOLONG: the request did not fit into
 * its buffer. */
int http_request_finish(struct http_request *r, const char *tail, struct exchange *x);

/* Copies n bytes into the request's buffer and terminates them. */
const char *http_request_keep(struct http_request *r, const char *s, size_t n);

#endif
