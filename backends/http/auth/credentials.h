/* Where the keys of a store come from, and that they are still good: environment, files, metadata
 * services. One source a store, shared by its channels, each with a copy of its own that it renews when
 * the generation changes. Secrets are never shown, logged or stored. */
#ifndef HAUL_BACKENDS_HTTP_AUTH_CREDENTIALS_H
#define HAUL_BACKENDS_HTTP_AUTH_CREDENTIALS_H

#include <pthread.h>
#include <stdatomic.h>

#include "backends/http/auth/sign.h"

enum credential_kind {
	CREDENTIAL_NONE,   /* anonymous */
	CREDENTIAL_V4,     /* key, secret, session token */
	CREDENTIAL_SHARED, /* Azure: account, its key in base64 */
	CREDENTIAL_SAS,    /* Azure: the signature's queries are the token */
	CREDENTIAL_BEARER  /* the token */
};

struct credential_source;
/* Gets them anew. Blocks for seconds at most. */
typedef int (*credential_fetch)(struct credential_source *s, struct credentials *out,
				struct err *err);

struct credential_source {
	enum credential_kind kind;
	const char *origin; /* "environment", "instance metadata" …: for results and messages */
	credential_fetch fetch; /* NULL: they last */
	char profile[64];
	char uri[512];  /* what fetch asks */
	char *document; /* what it was made of: a service account's file */
	struct transport_options transport;
	pthread_mutex_t lock;
	_Atomic uint64_t generation; /* of now; 1 is the first */
	_Atomic int64_t renew;       /* when to get others; 0: never */
	struct credentials now;
};

/* A channel's copy. */
struct credential_copy {
	uint64_t generation;
	struct credentials c;
};

/* The first ones stand in now. */
void credentials_begin(struct credential_source *s);
int credentials_init(struct credential_source *s, const struct transport_options *transport);
void credentials_free(struct credential_source *s);

/* Brings the copy up to date; gets new ones when they are about to expire (one thread does, the others
 * go on with what they have). */
void credentials_renew(struct credential_source *s, struct credential_copy *copy);
/* The store said they have expired. False: there are no newer ones to be had. */
bool credentials_expired(struct credential_source *s, struct credential_copy *copy);

/* Amazon's chain: environment, shared file, container, instance. profile: "" the usual one. -ENOKEY with
 * a sentence that says where was looked. */
int credentials_aws(struct credential_source *s, const char *profile, struct err *err);

/* Azure's: connection string, account key, shared access signature, service principal, managed identity.
 * endpoint: set where the connection string names one. */
int credentials_azure(struct credential_source *s, const char *account, char *endpoint, size_t size,
		      struct err *err);
/* Google's: HMAC keys, a service account's file, the metadata service. */
int credentials_google(struct credential_source *s, struct err *err);
/* The signed claim of a service account (a JSON web token, RS256), which a token server takes. */
int credentials_google_claim(const char *mail, const char *token_uri, const char *pem, int64_t now,
			     char *out, size_t size);

struct azure_connection {
	char account[64], key[CREDENTIAL_SECRET_BYTES], sas[2048], endpoint[512];
	char protocol[16], suffix[128];
};
/* A connection string, which is taken apart. endpoint is made where it has none. -EINVAL. */
int credentials_parse_connection(char *text, struct azure_connection *out);
/* When a shared access signature ends, by its "se"; -1: it does not say. */
int64_t credentials_sas_end(const char *sas);
/* A token server's answer: access_token, expires_in. */
int credentials_parse_token(const char *json, size_t n, struct credentials *out);

/* One profile of a shared credentials file. text is taken apart. -ENOENT: not in it. */
int credentials_parse_profile(char *text, const char *profile, struct credentials *out);
/* A container's or instance's answer, in JSON. */
int credentials_parse_aws(const char *json, size_t n, struct credentials *out);

#endif
