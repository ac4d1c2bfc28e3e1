/* Signatures of requests: AWS Signature Version 4 (S3, and GCS with HMAC keys), Azure Shared Key. They
 * are made on OpenSSL's SHA-256 and HMAC; curl's own fails on queries and awkward keys.
 *
 * A signer belongs to a channel's thread. Secrets stay in it and in struct credentials; nothing here
 * prints. */
#ifndef HAUL_BACKENDS_HTTP_AUTH_SIGN_H
#define HAUL_BACKENDS_HTTP_AUTH_SIGN_H

#include <openssl/types.h>

#include "backends/http/wire/request.h"

struct err;

enum {
	CREDENTIAL_KEY_BYTES = 256,
	CREDENTIAL_SECRET_BYTES = 256,
	CREDENTIAL_TOKEN_BYTES = 4096,
	SHA256_BYTES = 32,
	SHA256_TEXT_BYTES = 65
};

/* What a request is signed with. expires: seconds since 1970, 0: never. */
struct credentials {
	char key[CREDENTIAL_KEY_BYTES]; /* access key; account; or empty */
	char secret[CREDENTIAL_SECRET_BYTES];
	char token[CREDENTIAL_TOKEN_BYTES]; /* of a session; or the bearer's; or the SAS */
	int64_t expires;
};

/* A signer: the signing key of a day, kept inside an HMAC, and a digest. To have OpenSSL look for its
 * algorithms and to hash a key anew for each request would cost as much again. */
struct sign_v4 {
	char day[9];         /* "20130524"; "": none */
	uint64_t generation; /* of the credentials that it was made of */
	EVP_MAC_CTX *mac;
	EVP_MD_CTX *digest;
};

/* -ENOMEM. Close takes a signer of zeros, too. */
int sign_v4_open(struct sign_v4 *s, struct err *err);
void sign_v4_close(struct sign_v4 *s);

#define SIGN_UNSIGNED "UNSIGNED-PAYLOAD"

/* Adds x-amz-date, x-amz-content-sha256, x-amz-security-token and authorization. payload: the body's
 * SHA-256 in hex, or SIGN_UNSIGNED. generation changes when the credentials do. now: seconds since
 * 1970 by the server's clock. */
void sign_v4(struct sign_v4 *s, struct http_request *r, const struct credentials *c,
	     uint64_t generation, const char *region, const char *payload, int64_t now);

/* The same by queries, good for so many seconds: then nothing but host is signed. */
void sign_v4_query(struct sign_v4 *s, struct http_request *r, const struct credentials *c,
		   uint64_t generation, const char *region, uint32_t seconds, int64_t now);

/* Adds x-ms-date and authorization. key: the account's, decoded. -EINVAL: no room. */
void sign_shared_key(struct http_request *r, const char *account, const uint8_t *key,
		     size_t key_bytes, int64_t now);

#endif
