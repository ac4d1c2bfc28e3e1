/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of requests: AWS Signature Version 4 (S3, and Google with HMAC keys), and Azure's
 * Shared Key. They are built on OpenSSL's SHA-256 and HMAC; libcurl's own fails on queries and
 * awkward keys.
 *
 * A signer belongs to a channel's thread. Secrets stay in it and in struct credentials; nothing
 * here prints. */
#ifndef HAUL_BACKENDS_HTTP_AUTH_SIGN_H
#define HAUL_BACKENDS_HTTP_AUTH_SIGN_H

#include <openssl/types.h>

#include "backends/http/wire/request.h"
#include "backends/http/wire/text.h"

struct err;

enum {
	CREDENTIAL_KEY_BYTES = 256,
	CREDENTIAL_SECRET_BYTES = 256,
	CREDENTIAL_TOKEN_BYTES = 4096,
	SHA256_BYTES = 32,
	SHA256_TEXT_BYTES = 65
};

/* What a request is signed with. expires: seconds since 1970; 0: never. */
struct credentials {
	char key[CREDENTIAL_KEY_BYTES]; /* access key, or account, or "" */
	char secret[CREDENTIAL_SECRET_BYTES];
	char token[CREDENTIAL_TOKEN_BYTES]; /* of a session, or a bearer token, or the SAS */
	int64_t expires;
};

/* A signer keeps the signing key of the day inside an HMAC, a digest, and the date of the second:
 * to make them again for each request would cost as much as the signature. */
struct sign_v4 {
	char day[9];         /* "20130524" of the key; "": there is none */
	uint64_t generation; /* of the credentials that the key was made of */
	int64_t seconds;     /* since 1970, that date is of */
	char date[DATE_BASIC_BYTES];
	EVP_MAC_CTX *mac;
	EVP_MD_CTX *digest;
};

/* -ENOMEM. sign_v4_close also takes a signer of zeroes. */
int sign_v4_open(struct sign_v4 *s, struct err *err);
void sign_v4_close(struct sign_v4 *s);

#define SIGN_UNSIGNED "UNSIGNED-PAYLOAD"

/* Adds x-amz-date, x-amz-content-sha256, x-amz-security-token and authorization. payload: the
 * body's SHA-256 in hex, or SIGN_UNSIGNED. generation changes when the credentials do. now: seconds
 * since 1970 by the server's clock. */
void sign_v4(struct sign_v4 *s, struct http_request *r, const struct credentials *c,
	     uint64_t generation, const char *region, const char *payload, int64_t now);

/* The same by queries, good for lasts seconds. Of the headers only host is signed then. */
void sign_v4_query(struct sign_v4 *s, struct http_request *r, const struct credentials *c,
		   uint64_t generation, const char *region, uint32_t lasts, int64_t now);

/* Adds x-ms-date and authorization. key: the account's, decoded. */
void sign_shared_key(struct http_request *r, const char *account, const uint8_t *key,
		     size_t key_bytes, int64_t now);

#endif
