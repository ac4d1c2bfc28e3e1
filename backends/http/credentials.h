/* Where the keys of a store come from, and that they are still good: environment, files, metadata
 * services. One source a store, shared by its channels, each with a copy of its own that it renews when
 * the generation changes. Secrets are never shown, logged or stored. */
#ifndef HAUL_BACKENDS_HTTP_CREDENTIALS_H
#define HAUL_BACKENDS_HTTP_CREDENTIALS_H

#include <pthread.h>
#include <stdatomic.h>

#include "backends/http/sign.h"

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
	_Atomic int64_t expires;     /* of now; 0: never */
	struct credentials now;
};

/* A channel's copy. */
struct credential_copy {
	uint64_t generation;
	struct credentials c;
};

int credentials_init(struct credential_source *s, const struct transport_options *transport);
void credentials_free(struct credential_source *s);

/* Brings the copy up to date; gets new ones when they are about to expire (one thread does, the others
 * go on with what they have). now: seconds since 1970. */
void credentials_renew(struct credential_source *s, struct credential_copy *copy, int64_t now);
/* The store said they have expired. False: there are no newer ones to be had. */
bool credentials_expired(struct credential_source *s, struct credential_copy *copy);

/* Amazon's chain: environment, shared file, container, instance. profile: "" the usual one. -ENOKEY with
 * a sentence that says where was looked. */
int credentials_aws(struct credential_source *s, const char *profile, struct err *err);

/* One profile of a shared credentials file. text is taken apart. -ENOENT: not in it. */
int credentials_parse_profile(char *text, const char *profile, struct credentials *out);
/* A container's or instance's answer, in JSON. */
int credentials_parse_aws(const char *json, size_t n, struct credentials *out);

#endif
