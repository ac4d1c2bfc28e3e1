/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials of a store: where its keys come from, and that they are still good. Sources are the
 * environment, files and metadata services. There is one source per store; each of its channels has
 * a copy of its own, which it brings up to date when the generation changes. Secrets are never
 * shown, logged or stored. */
#ifndef HAUL_BACKENDS_HTTP_AUTH_CREDENTIALS_H
#define HAUL_BACKENDS_HTTP_AUTH_CREDENTIALS_H

#include <pthread.h>
#include <stdatomic.h>

#include "backends/http/auth/sign.h"
#include "backends/http/wire/transport.h"

enum credential_kind {
	CREDENTIAL_NONE,   /* anonymous */
	CREDENTIAL_V4,     /* key, secret, session token */
	CREDENTIAL_SHARED, /* Azure: the account, and its key in base64 */
	CREDENTIAL_SAS,    /* Azure: the token is the signature's queries */
	CREDENTIAL_BEARER  /* a token alone */
};

struct credential_source;
/* Fetches new ones; may block for seconds. */
typedef int (*credential_fetch)(struct credential_source *s, struct credentials *out,
				struct err *err);

struct credential_source {
	enum credential_kind kind;
	const char *origin;     /* "environment", "instance metadata" …, for messages */
	credential_fetch fetch; /* NULL: they do not expire */
	char profile[64];
	char uri[512];  /* that fetch asks */
	char *document; /* the text of a service account's file */
	const struct transport_ops *transport;
	struct transport_options transport_options;
	pthread_mutex_t lock;
	_Atomic uint64_t generation; /* of those in now; 1 is the first */
	_Atomic int64_t renew;       /* when to fetch others; 0: never */
	struct credentials now;
};

/* The copy of a channel. */
struct credential_copy {
	uint64_t generation;
	struct credentials c;
};

/* Which credentials a request was sent with. */
struct credential_use {
	uint64_t generation;
	int64_t expires; /* as struct credentials has it */
};

/* transport fetches from metadata services and token servers. */
int credentials_init(struct credential_source *s, const struct transport_ops *transport,
		     const struct transport_options *options);
void credentials_free(struct credential_source *s);
/* The first credentials are in now: from here on they are renewed in time. */
void credentials_begin(struct credential_source *s);

/* Brings the copy up to date, and fetches new ones when these are about to expire: one thread does,
 * the others go on with what they have. */
void credentials_renew(struct credential_source *s, struct credential_copy *copy);
/* The store says that those of a request have expired: brings the copy up to date. False: there are
 * no newer ones. */
bool credentials_expired(struct credential_source *s, struct credential_copy *copy,
			 const struct credential_use *used);
/* Whether their time is over by this machine's clock. */
bool credentials_past(const struct credential_use *used);

/* Amazon's chain: environment, shared file, container, instance. profile "": the usual one. -ENOKEY
 * with a sentence that says where haul looked. */
int credentials_aws(struct credential_source *s, const char *profile, struct err *err);

/* Azure's chain: connection string, account key, shared access signature, service principal,
 * managed identity. endpoint is set where the connection string names one. */
int credentials_azure(struct credential_source *s, const char *account, char *endpoint, size_t size,
		      struct err *err);
/* Google's chain: HMAC keys, a service account's file, the metadata service. */
int credentials_google(struct credential_source *s, struct err *err);

struct azure_connection {
	char account[64], key[CREDENTIAL_SECRET_BYTES], sas[2048], endpoint[512];
	char protocol[16], suffix[128];
};
/* Reads a connection string, which is changed by it. endpoint is made up where it has none.
 * -EINVAL. */
int credentials_parse_connection(char *text, struct azure_connection *out);
/* When a shared access signature ends, by its "se"; -1 where it does not say. */
int64_t credentials_sas_end(const char *sas);
/* Reads a token server's answer to a question of that time (seconds since 1970): access_token,
 * expires_in, which may count from then. */
int credentials_parse_token(const char *json, size_t n, int64_t asked, struct credentials *out);
/* Seconds since 1970. */
int64_t credentials_seconds(void);

/* Reads one profile of a shared credentials file, whose text is changed by it. -ENOENT: it is not
 * there. */
int credentials_parse_profile(char *text, const char *profile, struct credentials *out);
/* Reads the answer of a container's or an instance's metadata service, in JSON. */
int credentials_parse_aws(const char *json, size_t n, struct credentials *out);

#endif
