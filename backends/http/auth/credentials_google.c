/* SPDX-License-Identifier: Apache-2.0 */
/* Google's credentials: HMAC keys, or tokens of a service account, for which haul signs with the
 * account's key, or which the metadata service gives out. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/auth/credentials.h"
#include "backends/http/auth/fetch.h"
#include "core/json.h"
#include "core/json_path.h"
#include "core/time_ns.h"

enum {
	GOOGLE_FILE_BYTES_MAX = 64 << 10,
	GOOGLE_ANSWER_BYTES = 8 << 10,
	GOOGLE_CLAIM_BYTES = 2048,
	GOOGLE_TOKEN_LASTS_S = 3600
};

static const char google_scope[] = "https://www.googleapis.com/auth/devstorage.read_write";

static const char *google_variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

/* Base64 for JSON web tokens: '-' and '_' in the place of '+' and '/', no padding. */
static void google_add_base64url(struct text *t, const void *bytes, size_t n)
{
	size_t from = t->used;

	text_add_base64(t, bytes, n);
	for (size_t i = from; i < t->used; i++) {
		if (t->at[i] == '+')
			t->at[i] = '-';
		else if (t->at[i] == '/')
			t->at[i] = '_';
	}
	while (t->used > from && t->at[t->used - 1] == '=')
		t->at[--t->used] = '\0';
}

/* Adds the signature (RS256) of what is in t. */
static int google_add_signature(struct text *t, const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char signature[1024];
	size_t n = sizeof(signature);
	int rc = -EKEYREJECTED;

	if (key && context && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
	    EVP_DigestSign(context, signature, &n, (const unsigned char *)t->at, t->used) == 1) {
		text_add_char(t, '.');
		google_add_base64url(t, signature, n);
		rc = t->full ? -ENAMETOOLONG : 0;
	}
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	BIO_free(bio);
	return rc;
}

/* The signed claim of a service account (a JSON web token, RS256), for a token server. */
static int credentials_google_claim(const char *mail, const char *token_uri, const char *pem,
				    int64_t now, char *out, size_t size)
{
	static const char head[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
	struct text t = text_in(out, size);
	char claim[GOOGLE_CLAIM_BYTES];
	int n = snprintf(
		claim, sizeof(claim),
		"{\"iss\":\"%s\",\"scope\":\"%s\",\"aud\":\"%s\",\"iat\":%lld,\"exp\":%lld}", mail,
		google_scope, token_uri, (long long)now, (long long)now + GOOGLE_TOKEN_LASTS_S);

	if (n < 0 || (size_t)n >= sizeof(claim) || strpbrk(mail, "\"\\") ||
	    strpbrk(token_uri, "\"\\"))
		return -EINVAL;
	google_add_base64url(&t, head, sizeof(head) - 1);
	text_add_char(&t, '.');
	google_add_base64url(&t, claim, (size_t)n);
	return google_add_signature(&t, pem);
}

static int google_fetch_account(struct credential_source *s, struct credentials *out,
				struct err *err)
{
	static const char *const headers[] = {"content-type: application/x-www-form-urlencoded",
					      NULL};
	static const char grant[] =
		"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
	char body[sizeof(grant) + 4096], answer[GOOGLE_ANSWER_BYTES];
	cJSON *root = cJSON_Parse(s->document);
	int64_t asked = credentials_seconds();
	int rc = -EINVAL;

	strcpy(body, grant);
	if (root)
		rc = credentials_google_claim(
			json_text_at(root, "client_email", ""), json_text_at(root, "token_uri", ""),
			json_text_at(root, "private_key", ""), asked, body + sizeof(grant) - 1,
			sizeof(body) - sizeof(grant) + 1);
	if (rc < 0)
		err_set(err, rc, "the service account's key cannot be used");
	else
		rc = fetch_text(s, HTTP_POST, json_text_at(root, "token_uri", ""), headers, body,
				answer, sizeof(answer), err);
	cJSON_Delete(root);
	return rc < 0 ? rc : credentials_parse_token(answer, strlen(answer), asked, out);
}

static int google_use_account(struct credential_source *s, const char *name, struct err *err)
{
	cJSON *root = NULL;
	int rc = file_text(name, GOOGLE_FILE_BYTES_MAX, &s->document);
	bool whole;

	if (rc < 0)
		return err_set(err, rc, "GOOGLE_APPLICATION_CREDENTIALS: %s: %s", name,
			       strerror(-rc));
	rc = json_parse(&root, s->document, strlen(s->document), 8, 64, err);
	if (rc < 0)
		return err_wrap(err, rc, "GOOGLE_APPLICATION_CREDENTIALS: %s", name);
	whole = json_text_at(root, "client_email", "")[0] &&
		json_text_at(root, "private_key", "")[0] && json_text_at(root, "token_uri", "")[0];
	cJSON_Delete(root);
	if (!whole)
		return err_set(err, -EINVAL,
			       "GOOGLE_APPLICATION_CREDENTIALS: %s is not a service account's key",
			       name);
	s->kind = CREDENTIAL_BEARER;
	s->origin = "service account";
	s->fetch = google_fetch_account;
	return google_fetch_account(s, &s->now, err);
}

static int google_fetch_metadata(struct credential_source *s, struct credentials *out,
				 struct err *err)
{
	static const char *const headers[] = {"metadata-flavor: Google", NULL};
	char answer[GOOGLE_ANSWER_BYTES];
	int64_t asked = credentials_seconds();
	int rc = fetch_text(s, HTTP_GET, s->uri, headers, NULL, answer, sizeof(answer), err);

	return rc < 0 ? rc : credentials_parse_token(answer, strlen(answer), asked, out);
}

static int google_use_metadata(struct credential_source *s)
{
	const char *host = google_variable("GCE_METADATA_HOST");
	int n = snprintf(s->uri, sizeof(s->uri),
			 "http://%s/computeMetadata/v1/instance/service-accounts/default/token",
			 host ? host : "metadata.google.internal");

	if (n < 0 || (size_t)n >= sizeof(s->uri))
		return -ENAMETOOLONG;
	s->kind = CREDENTIAL_BEARER;
	s->origin = "metadata service";
	s->fetch = google_fetch_metadata;
	return google_fetch_metadata(s, &s->now, NULL);
}

static int google_use_hmac(struct credential_source *s, const char *key, const char *secret,
			   struct err *err)
{
	if (strlen(key) >= sizeof(s->now.key) || strlen(secret) >= sizeof(s->now.secret))
		return err_set(err, -EINVAL, "the HMAC key or its secret is too long");
	strcpy(s->now.key, key);
	strcpy(s->now.secret, secret);
	s->kind = CREDENTIAL_V4;
	s->origin = "environment";
	return 0;
}

int credentials_google(struct credential_source *s, struct err *err)
{
	const char *key = google_variable("GS_ACCESS_KEY_ID"),
		   *secret = google_variable("GS_SECRET_ACCESS_KEY");
	const char *file = google_variable("GOOGLE_APPLICATION_CREDENTIALS");
	int rc;

	if (key && secret)
		rc = google_use_hmac(s, key, secret, err);
	else if (file)
		rc = google_use_account(s, file, err);
	else if ((rc = google_use_metadata(s)) < 0)
		err_set(err, -ENOKEY,
			"no credentials: not in GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY, not in "
			"GOOGLE_APPLICATION_CREDENTIALS, no metadata service");
	if (rc < 0)
		return rc;
	credentials_begin(s);
	return 0;
}
