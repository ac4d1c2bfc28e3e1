/* SPDX-License-Identifier: Apache-2.0 */
/* AWS Signature Version 4, in a header or in the URL (presigned). */
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <string.h>

#include "backends/http/auth/sign.h"
#include "core/err.h"

enum { V4_CANONICAL_BYTES = 16 << 10, V4_NAMES_BYTES = 512, V4_SCOPE_BYTES = 128 };

static void v4_hmac(uint8_t out[SHA256_BYTES], const void *key, size_t key_bytes, const char *data,
		    size_t n)
{
	unsigned length = SHA256_BYTES;

	HMAC(EVP_sha256(), key, (int)key_bytes, (const unsigned char *)data, n, out, &length);
}

int sign_v4_open(struct sign_v4 *s, struct err *err)
{
	char name[] = "SHA256";
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
		OSSL_PARAM_construct_end()};
	EVP_MAC *hmac_of = EVP_MAC_fetch(NULL, "HMAC", NULL);
	EVP_MD *sha256 = EVP_MD_fetch(NULL, name, NULL);

	*s = (struct sign_v4){.mac = hmac_of ? EVP_MAC_CTX_new(hmac_of) : NULL,
			      .digest = EVP_MD_CTX_new()};
	if (!s->mac || !s->digest || !EVP_MAC_CTX_set_params(s->mac, params) ||
	    !EVP_DigestInit_ex2(s->digest, sha256, NULL))
		sign_v4_close(s);
	EVP_MD_free(sha256);
	EVP_MAC_free(hmac_of);
	return s->mac ? 0 : err_set(err, -ENOMEM, "OpenSSL has no HMAC of SHA-256");
}

void sign_v4_close(struct sign_v4 *s)
{
	EVP_MAC_CTX_free(s->mac);
	EVP_MD_CTX_free(s->digest);
	*s = (struct sign_v4){0};
}

static void v4_day_key(struct sign_v4 *s, const struct credentials *c, uint64_t generation,
		       const char *region, const char *day)
{
	char first[CREDENTIAL_SECRET_BYTES + 4] = "AWS4";
	uint8_t a[SHA256_BYTES], b[SHA256_BYTES], key[SHA256_BYTES];

	if (s->generation == generation && memcmp(s->day, day, 8) == 0)
		return;
	memcpy(first + 4, c->secret, strlen(c->secret));
	v4_hmac(a, first, 4 + strlen(c->secret), day, 8);
	v4_hmac(b, a, sizeof(a), region, strlen(region));
	v4_hmac(a, b, sizeof(b), "s3", 2);
	v4_hmac(key, a, sizeof(a), "aws4_request", 12);
	EVP_MAC_init(s->mac, key, sizeof(key), NULL);
	OPENSSL_cleanse(first, sizeof(first));
	OPENSSL_cleanse(key, sizeof(key));
	memcpy(s->day, day, 8);
	s->generation = generation;
}

/* Several spaces in a row become one. Values here have none at their ends. */
static void v4_add_trimmed(struct text *out, const char *value)
{
	for (; *value; value++) {
		if (*value != ' ' || value[1] != ' ')
			text_add_char(out, *value);
	}
}

/* Servers in between may change this one. */
static bool v4_signs(const struct http_request_header *h)
{
	return !text_is(h->line, h->name_bytes, "expect");
}

static void v4_add_header(struct text *lines, struct text *names, const char *name, size_t n,
			  const char *value)
{
	if (names->used)
		text_add_char(names, ';');
	text_add_n(names, name, n);
	text_add_n(lines, name, n);
	text_add_char(lines, ':');
	v4_add_trimmed(lines, value);
	text_add_char(lines, '\n');
}

/* The headers that are signed, host among them, in order: their lines, and their names
 * "host;range;x-amz-date". With all false only host is. */
static void v4_headers(const struct http_request *r, bool all, struct text *lines,
		       struct text *names)
{
	bool host_done = false;

	for (uint32_t i = 0; all && i < r->header_count; i++) {
		const struct http_request_header *h = &r->headers[i];

		if (!v4_signs(h))
			continue;
		if (!host_done && strncmp(h->line, "host", 4) > 0) {
			v4_add_header(lines, names, "host", 4, r->host);
			host_done = true;
		}
		v4_add_header(lines, names, h->line, h->name_bytes, http_request_header_value(h));
	}
	if (!host_done)
		v4_add_header(lines, names, "host", 4, r->host);
}

static void v4_scope(char out[V4_SCOPE_BYTES], const char *date, const char *region)
{
	struct text t = text_in(out, V4_SCOPE_BYTES);

	text_add_n(&t, date, 8);
	text_add_char(&t, '/');
	text_add(&t, region);
	text_add(&t, "/s3/aws4_request");
}

/* The digest in hex of the canonical request, and the HMAC in hex of the string to sign. */
static void v4_hash(struct sign_v4 *s, const struct text *canonical, char out[SHA256_TEXT_BYTES])
{
	struct text t = text_in(out, SHA256_TEXT_BYTES);
	uint8_t digest[SHA256_BYTES];

	EVP_DigestInit_ex2(s->digest, NULL, NULL);
	EVP_DigestUpdate(s->digest, canonical->at, canonical->used);
	EVP_DigestFinal_ex(s->digest, digest, NULL);
	text_add_hex(&t, digest, sizeof(digest));
}

static void v4_seal(struct sign_v4 *s, const struct text *string, char out[SHA256_TEXT_BYTES])
{
	struct text t = text_in(out, SHA256_TEXT_BYTES);
	uint8_t digest[SHA256_BYTES];
	size_t length;

	EVP_MAC_init(s->mac, NULL, 0, NULL); /* with the key that it has */
	EVP_MAC_update(s->mac, (const unsigned char *)string->at, string->used);
	EVP_MAC_final(s->mac, digest, &length, sizeof(digest));
	text_add_hex(&t, digest, sizeof(digest));
}

/* The signature in hex, and the names of the headers that it covers. */
static void v4_signature(struct sign_v4 *s, const struct http_request *r, bool all,
			 const char *payload, const char *scope, char names[V4_NAMES_BYTES],
			 char out[SHA256_TEXT_BYTES])
{
	char canonical[V4_CANONICAL_BYTES], string[512], digest_text[SHA256_TEXT_BYTES];
	struct text t = text_in(canonical, sizeof(canonical)), n = text_in(names, V4_NAMES_BYTES);

	text_add(&t, http_method_name(r->method));
	text_add_char(&t, '\n');
	text_add(&t, r->path);
	text_add_char(&t, '\n');
	http_request_queries(r, &t);
	text_add_char(&t, '\n');
	v4_headers(r, all, &t, &n);
	text_add_char(&t, '\n');
	text_add(&t, names);
	text_add_char(&t, '\n');
	text_add(&t, payload);
	v4_hash(s, &t, digest_text);
	t = text_in(string, sizeof(string));
	text_add(&t, "AWS4-HMAC-SHA256\n");
	text_add(&t, s->date);
	text_add_char(&t, '\n');
	text_add(&t, scope);
	text_add_char(&t, '\n');
	text_add(&t, digest_text);
	v4_seal(s, &t, out);
}

/* Brings date and key up to date, and makes the scope. */
static void v4_begin(struct sign_v4 *s, const struct credentials *c, uint64_t generation,
		     const char *region, int64_t now, char scope[V4_SCOPE_BYTES])
{
	if (s->seconds != now || !s->date[0])
		date_basic(s->date, now);
	s->seconds = now;
	v4_scope(scope, s->date, region);
	v4_day_key(s, c, generation, region, s->date);
}

void sign_v4(struct sign_v4 *s, struct http_request *r, const struct credentials *c,
	     uint64_t generation, const char *region, const char *payload, int64_t now)
{
	char scope[V4_SCOPE_BYTES], names[V4_NAMES_BYTES], hex[SHA256_TEXT_BYTES];
	char authorization[1280];
	struct text t = text_in(authorization, sizeof(authorization));

	v4_begin(s, c, generation, region, now, scope);
	http_request_header(r, "x-amz-content-sha256", payload);
	http_request_header(r, "x-amz-date", s->date);
	if (c->token[0])
		http_request_header(r, "x-amz-security-token", c->token);
	v4_signature(s, r, true, payload, scope, names, hex);
	text_add(&t, "AWS4-HMAC-SHA256 Credential=");
	text_add(&t, c->key);
	text_add_char(&t, '/');
	text_add(&t, scope);
	text_add(&t, ", SignedHeaders=");
	text_add(&t, names);
	text_add(&t, ", Signature=");
	text_add(&t, hex);
	http_request_header(r, "authorization", authorization);
}

void sign_v4_query(struct sign_v4 *s, struct http_request *r, const struct credentials *c,
		   uint64_t generation, const char *region, uint32_t lasts, int64_t now)
{
	char scope[V4_SCOPE_BYTES], names[V4_NAMES_BYTES], hex[SHA256_TEXT_BYTES];
	char credential[CREDENTIAL_KEY_BYTES + V4_SCOPE_BYTES];
	struct text t = text_in(credential, sizeof(credential));

	v4_begin(s, c, generation, region, now, scope);
	text_add(&t, c->key);
	text_add_char(&t, '/');
	text_add(&t, scope);
	http_request_query(r, "X-Amz-Algorithm", "AWS4-HMAC-SHA256");
	http_request_query(r, "X-Amz-Credential", credential);
	http_request_query(r, "X-Amz-Date", s->date);
	http_request_query_u64(r, "X-Amz-Expires", lasts);
	if (c->token[0])
		http_request_query(r, "X-Amz-Security-Token", c->token);
	http_request_query(r, "X-Amz-SignedHeaders", "host");
	v4_signature(s, r, false, SIGN_UNSIGNED, scope, names, hex);
	http_request_query(r, "X-Amz-Signature", hex);
}
