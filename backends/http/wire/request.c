/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/request.h"

#include <errno.h>
#include <string.h>

#include "core/numbers.h"

void http_request_begin(struct http_request *r, char *buffer, size_t size, enum http_method method,
			const char *scheme, const char *host)
{
	*r = (struct http_request){.method = method,
				   .scheme = scheme,
				   .host = host,
				   .path = "/",
				   .text = text_in(buffer, size)};
}

const char *http_request_keep(struct http_request *r, const char *s, size_t n)
{
	const char *at = r->text.at + r->text.used;

	text_add_n(&r->text, s, n);
	if (r->text.used + 1 >= r->text.size)
		r->text.full = true;
	if (r->text.full)
		return "";
	r->text.used++; /* the terminator is kept, too */
	r->text.at[r->text.used] = '\0';
	return at;
}

/* Ends a text that began at from in the buffer. */
static const char *request_text_end(struct http_request *r, size_t from)
{
	http_request_keep(r, "", 0);
	return r->text.full ? "" : r->text.at + from;
}

void http_request_path(struct http_request *r, const char *const *pieces)
{
	size_t from = r->text.used;

	for (; *pieces; pieces++)
		text_add_encoded(&r->text, *pieces, true);
	r->path = request_text_end(r, from);
}

void http_request_query(struct http_request *r, const char *name, const char *value)
{
	uint32_t i = r->query_count;

	if (i == REQUEST_QUERIES) {
		r->text.full = true;
		return;
	}
	for (; i && strcmp(r->queries[i - 1].name, name) > 0; i--)
		r->queries[i] = r->queries[i - 1];
	r->queries[i].name = name;
	r->queries[i].value = http_request_keep(r, value, strlen(value));
	r->query_count++;
}

void http_request_query_u64(struct http_request *r, const char *name, uint64_t value)
{
	char digits[24];
	struct text t = text_in(digits, sizeof(digits));

	text_add_u64(&t, value);
	http_request_query(r, name, digits);
}

static void request_add_line(struct http_request *r, const char *line, size_t name_bytes)
{
	uint32_t i = r->header_count;

	if (i == EXCHANGE_HEADERS) {
		r->text.full = true;
		return;
	}
	for (; i; i--) {
		const struct http_request_header *h = &r->headers[i - 1];
		size_t n = min_u64(h->name_bytes, name_bytes);
		int order = memcmp(h->line, line, n);

		if (order < 0 || (order == 0 && h->name_bytes <= name_bytes))
			break;
		r->headers[i] = *h;
	}
	r->headers[i] = (struct http_request_header){line, name_bytes};
	r->header_count++;
}

void http_request_header(struct http_request *r, const char *name, const char *value)
{
	size_t from = r->text.used;

	text_add(&r->text, name);
	text_add(&r->text, ": ");
	text_add(&r->text, value);
	request_add_line(r, request_text_end(r, from), strlen(name));
}

void http_request_range(struct http_request *r, const char *name, uint64_t first, uint64_t bytes)
{
	size_t from = r->text.used;

	text_add(&r->text, name);
	text_add(&r->text, ": bytes=");
	text_add_u64(&r->text, first);
	text_add_char(&r->text, '-');
	text_add_u64(&r->text, first + bytes - 1);
	request_add_line(r, request_text_end(r, from), strlen(name));
}

void http_request_queries(const struct http_request *r, struct text *out)
{
	for (uint32_t i = 0; i < r->query_count; i++) {
		if (i)
			text_add_char(out, '&');
		text_add_encoded(out, r->queries[i].name, false);
		text_add_char(out, '=');
		text_add_encoded(out, r->queries[i].value, false);
	}
}

const char *http_request_header_value(const struct http_request_header *h)
{
	return h->line + h->name_bytes + 2;
}

int http_request_finish(struct http_request *r, const char *tail, struct exchange *x)
{
	struct text *t = &r->text;
	size_t from = t->used;

	text_add(t, r->scheme);
	text_add(t, "://");
	text_add(t, r->host);
	text_add(t, r->path);
	if (r->query_count || tail)
		text_add_char(t, '?');
	http_request_queries(r, t);
	if (tail) {
		text_add(t, r->query_count ? "&" : "");
		text_add(t, tail);
	}
	r->url = request_text_end(r, from);
	if (t->full)
		return -ENAMETOOLONG;
	x->method = r->method;
	x->url = r->url;
	x->send_bytes = r->body_bytes;
	x->header_count = r->header_count;
	for (uint32_t i = 0; i < r->header_count; i++)
		x->headers[i] = r->headers[i].line;
	return 0;
}
