/* SPDX-License-Identifier: Apache-2.0 */
/* Azure's Shared Key, as versions 2015-02-21 and later of the service have it. */
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "backends/http/auth/sign.h"
#include "core/numbers.h"

enum { SHARED_KEY_STRING_BYTES = 12 << 10 };

static const char *shared_key_value(const struct http_request *r, const char *name)
{
	for (uint32_t i = 0; i < r->header_count; i++) {
		const struct http_request_header *h = &r->headers[i];

		if (text_is(h->line, h->name_bytes, name))
			return http_request_header_value(h);
	}
	return "";
}

static void shared_key_add_headers(const struct http_request *r, struct text *t)
{
	for (uint32_t i = 0; i < r->header_count; i++) {
		const struct http_request_header *h = &r->headers[i];

		if (h->name_bytes < 5 || memcmp(h->line, "x-ms-", 5) != 0)
			continue;
		text_add_n(t, h->line, h->name_bytes);
		text_add_char(t, ':');
		text_add(t, http_request_header_value(h));
		text_add_char(t, '\n');
	}
}

void sign_shared_key(struct http_request *r, const char *account, const uint8_t *key,
		     size_t key_bytes, int64_t now)
{
	/* In this order. The date is in x-ms-date. */
	static const char *const lines[] = {"content-md5",         "content-type", "date",
					    "if-modified-since",   "if-match",     "if-none-match",
					    "if-unmodified-since", "range"};
	char string[SHARED_KEY_STRING_BYTES], date[DATE_HTTP_BYTES], authorization[512];
	struct text t = text_in(string, sizeof(string));
	uint8_t digest[SHA256_BYTES];
	unsigned length = sizeof(digest);

	date_http(date, now);
	http_request_header(r, "x-ms-date", date);
	text_add(&t, http_method_name(r->method));
	text_add(&t, "\n\n\n"); /* no Content-Encoding, no Content-Language */
	if (r->body_bytes)
		text_add_u64(&t, r->body_bytes);
	text_add_char(&t, '\n');
	for (size_t i = 0; i < COUNT(lines); i++) {
		text_add(&t, shared_key_value(r, lines[i]));
		text_add_char(&t, '\n');
	}
	shared_key_add_headers(r, &t);
	text_add_char(&t, '/');
	text_add(&t, account);
	text_add(&t, r->path);
	for (uint32_t i = 0; i < r->query_count; i++) {
		text_add_char(&t, '\n');
		text_add(&t, r->queries[i].name);
		text_add_char(&t, ':');
		text_add(&t, r->queries[i].value);
	}
	HMAC(EVP_sha256(), key, (int)key_bytes, (const unsigned char *)string, t.used, digest,
	     &length);
	t = text_in(authorization, sizeof(authorization));
	text_add(&t, "SharedKey ");
	text_add(&t, account);
	text_add_char(&t, ':');
	text_add_base64(&t, digest, sizeof(digest));
	http_request_header(r, "authorization", authorization);
}
