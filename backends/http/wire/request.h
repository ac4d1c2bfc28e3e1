/* A request being put together: server, path, queries, headers; then signed (sign.h) and finished into
 * what a transport takes. All text lies in a buffer of the caller's; nothing allocates. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_REQUEST_H
#define HAUL_BACKENDS_HTTP_WIRE_REQUEST_H

#include "backends/http/wire/text.h"
#include "backends/http/wire/transport.h"

enum { REQUEST_QUERIES = 16, REQUEST_BYTES = 20 << 10 };

struct request_query {
	const char *name, *value;
};

struct request_header {
	const char *line; /* "name: value"; names are lower case */
	size_t name_bytes;
};

struct request {
	enum http_method method;
	const char *scheme, *host; /* "https", "s3-1:9000" as the Host header has it */
	const char *path;          /* encoded */
	const char *url;           /* by request_finish */
	uint64_t body_bytes;
	uint32_t query_count, header_count;
	struct request_query queries[REQUEST_QUERIES];   /* by name, not encoded */
	struct request_header headers[EXCHANGE_HEADERS]; /* by name */
	struct text text;
};

void request_begin(struct request *r, char *buffer, size_t size, enum http_method method,
		   const char *scheme, const char *host);
/* Pieces of the path, not encoded, put together as they are; NULL ends. */
void request_path(struct request *r, const char *const *pieces);
/* Neither name nor value is encoded yet; a value is copied, the name must stay. */
void request_query(struct request *r, const char *name, const char *value);
void request_query_u64(struct request *r, const char *name, uint64_t value);
void request_header(struct request *r, const char *name, const char *value);
/* "bytes=first-last" */
void request_range(struct request *r, const char *name, uint64_t first, uint64_t bytes);

/* The queries, encoded, as they stand in a URL (without '?'). */
void request_queries(const struct request *r, struct text *out);
const char *request_header_value(const struct request_header *h);

/* Makes the URL and hands everything to the exchange. A tail is added to the URL as it is ("?sv=…" of
 * a shared access signature, without the '?'); NULL: none. -ENAMETOOLONG: it did not fit. */
int request_finish(struct request *r, const char *tail, struct exchange *x);

/* Puts a terminated copy into the request's buffer. */
const char *request_keep(struct request *r, const char *s, size_t n);

#endif
