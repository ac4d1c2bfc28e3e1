#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <string.h>

#include "backends/http/auth/sign.h"
#include "core/err.h"

enum { CANONICAL_BYTES = 16 << 10, SCOPE_BYTES = 128 };

static void hmac(uint8_t out[SHA256_BYTES], const void *key, size_t key_bytes, const char *data,
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
	return s->mac ? 0 : err_set(err, -ENOMEM, "OpenSSL gives no HMAC of SHA-256");
}

void sign_v4_close(struct sign_v4 *s)
{
	EVP_MAC_CTX_free(s->mac);
	EVP_MD_CTX_free(s->digest);
	*s = (struct sign_v4){0};
}

static void day_key(struct sign_v4 *s, const struct credentials *c, uint64_t generation,
		    const char *region, const char *day)
{
	char first[CREDENTIAL_SECRET_BYTES + 4] = "AWS4";
	uint8_t a[SHA256_BYTES], b[SHA256_BYTES], key[SHA256_BYTES];

	if (s->generation == generation && memcmp(s->day, day, 8) == 0)
		return;
	memcpy(first + 4, c->secret, strlen(c->secret));
	hmac(a, first, 4 + strlen(c->secret), day, 8);
	hmac(b, a, sizeof(a), region, strlen(region));
	hmac(a, b, sizeof(b), "s3", 2);
	hmac(key, a, sizeof(a), "aws4_request", 12);
	EVP_MAC_init(s->mac, key, sizeof(key), NULL);
	OPENSSL_cleanse(first, sizeof(first));
	OPENSSL_cleanse(key, sizeof(key));
	memcpy(s->day, day, 8);
	s->generation = generation;
}

/* "host;range;x-amz-date": every header but those that servers in between may change. */
static bool signs(const struct http_request_header *h)
{
	return !text_is(h->line, h->name_bytes, "expect");
}

static void signed_headers(const struct http_request *r, struct text *out, bool all)
{
	bool host_done = false;

	for (uint32_t i = 0; all && i < r->header_count; i++) {
		const struct http_request_header *h = &r->headers[i];

		if (!signs(h))
			continue;
		if (!host_done && strncmp(h->line, "host", 4) > 0) {
			text_add(out, out->used ? ";host" : "host");
			host_done = true;
		}
		if (out->used)
			text_add_char(out, ';');
		text_add_n(out, h->line, h->name_bytes);
	}
	if (!host_done)
		text_add(out, out->used ? ";host" : "host");
}

/* Runs of spaces become one. Values here have none at their ends. */
static void add_trimmed(struct text *out, const char *value)
{
	for (; *value; value++) {
		if (*value != ' ' || value[1] != ' ')
			text_add_char(out, *value);
	}
}

static void canonical_headers(const struct http_request *r, struct text *out, bool all)
{
	bool host_done = false;

	for (uint32_t i = 0; all && i < r->header_count; i++) {
		const struct http_request_header *h = &r->headers[i];

		if (!signs(h))
			continue;
		if (!host_done && strncmp(h->line, "host", 4) > 0) {
			text_add(out, "host:");
			text_add(out, r->host);
			text_add_char(out, '\n');
			host_done = true;
		}
		text_add_n(out, h->line, h->name_bytes);
		text_add_char(out, ':');
		add_trimmed(out, http_request_header_value(h));
		text_add_char(out, '\n');
	}
	if (!host_done) {
		text_add(out, "host:");
		text_add(out, r->host);
		text_add_char(out, '\n');
	}
}

static void scope_of(char out[SCOPE_BYTES], const char *date, const char *region)
{
	struct text t = text_in(out, SCOPE_BYTES);

	text_add_n(&t, date, 8);
	text_add_char(&t, '/');
	text_add(&t, region);
	text_add(&t, "/s3/aws4_request");
}

/* The digest in hex of what is signed first, then the HMAC in hex of what is signed at last. */
static void hash(struct sign_v4 *s, const struct text *canonical, char out[SHA256_TEXT_BYTES])
{
	struct text t = text_in(out, SHA256_TEXT_BYTES);
	uint8_t digest[SHA256_BYTES];

	EVP_DigestInit_ex2(s->digest, NULL, NULL);
	EVP_DigestUpdate(s->digest, canonical->at, canonical->used);
	EVP_DigestFinal_ex(s->digest, digest, NULL);
	text_add_hex(&t, digest, sizeof(digest));
}

static void seal(struct sign_v4 *s, const struct text *string, char out[SHA256_TEXT_BYTES])
{
	struct text t = text_in(out, SHA256_TEXT_BYTES);
	uint8_t digest[SHA256_BYTES];
	size_t length;

	EVP_MAC_init(s->mac, NULL, 0, NULL); /* with the key that it has */
	EVP_MAC_update(s->mac, (const unsigned char *)string->at, string->used);
	EVP_MAC_final(s->mac, digest, &length, sizeof(digest));
	text_add_hex(&t, digest, sizeof(digest));
}

/* The signature in hex. */
static void signature(struct sign_v4 *s, const struct http_request *r, const char *names, bool all,
		      const char *payload, const char *date, const char *scope,
		      char out[SHA256_TEXT_BYTES])
{
	char canonical[CANONICAL_BYTES], string[512], digest_text[SHA256_TEXT_BYTES];
	struct text t = text_in(canonical, sizeof(canonical));

	text_add(&t, http_method_name(r->method));
	text_add_char(&t, '\n');
	text_add(&t, r->path);
	text_add_char(&t, '\n');
	http_request_queries(r, &t);
	text_add_char(&t, '\n');
	canonical_headers(r, &t, all);
	text_add_char(&t, '\n');
	text_add(&t, names);
	text_add_char(&t, '\n');
	text_add(&t, payload);
	hash(s, &t, digest_text);
	t = text_in(string, sizeof(string));
	text_add(&t, "AWS4-HMAC-SHA256\n");
	text_add(&t, date);
	text_add_char(&t, '\n');
	text_add(&t, scope);
	text_add_char(&t, '\n');
	text_add(&t, digest_text);
	seal(s, &t, out);
}

void sign_v4(struct sign_v4 *s, struct http_request *r, const struct credentials *c,
	     uint64_t generation, const char *region, const char *payload, int64_t now)
{
	char date[DATE_BASIC_BYTES], scope[SCOPE_BYTES], names[512], hex[SHA256_TEXT_BYTES];
	char authorization[1280];
	struct text t = text_in(names, sizeof(names));

	date_basic(date, now);
	scope_of(scope, date, region);
	http_request_header(r, "x-amz-content-sha256", payload);
	http_request_header(r, "x-amz-date", date);
	if (c->token[0])
		http_request_header(r, "x-amz-security-token", c->token);
	day_key(s, c, generation, region, date);
	signed_headers(r, &t, true);
	signature(s, r, names, true, payload, date, scope, hex);
	t = text_in(authorization, sizeof(authorization));
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
		   uint64_t generation, const char *region, uint32_t seconds, int64_t now)
{
	char date[DATE_BASIC_BYTES], scope[SCOPE_BYTES], hex[SHA256_TEXT_BYTES];
	char credential[CREDENTIAL_KEY_BYTES + SCOPE_BYTES];
	struct text t = text_in(credential, sizeof(credential));

	date_basic(date, now);
	scope_of(scope, date, region);
	day_key(s, c, generation, region, date);
	text_add(&t, c->key);
	text_add_char(&t, '/');
	text_add(&t, scope);
	http_request_query(r, "X-Amz-Algorithm", "AWS4-HMAC-SHA256");
	http_request_query(r, "X-Amz-Credential", credential);
	http_request_query(r, "X-Amz-Date", date);
	http_request_query_u64(r, "X-Amz-Expires", seconds);
	if (c->token[0])
		http_request_query(r, "X-Amz-Security-Token", c->token);
	http_request_query(r, "X-Amz-SignedHeaders", "host");
	signature(s, r, "host", false, SIGN_UNSIGNED, date, scope, hex);
	http_request_query(r, "X-Amz-Signature", hex);
}
