/* SPDX-License-Identifier: Apache-2.0 */
/* A store behind HTTP, opened: servers, credentials, transport, and the dialect in which S3, Azure
 * and Google differ. Read-only after open but for what is atomic or has a lock of its own. */
#ifndef HAUL_BACKENDS_HTTP_STORE_H
#define HAUL_BACKENDS_HTTP_STORE_H

#include "backends/backend.h"
#include "backends/http/auth/credentials.h"
#include "backends/http/options.h"
#include "backends/http/sentence.h"
#include "backends/http/server.h"
#include "backends/http/wire/local_end.h"
#include "backends/http/wire/transport.h"

enum { BUCKET_BYTES = 256 };

struct dialect;

struct http_store {
	struct store_keep keep; /* comes first */
	/* By which a later store finds what this one keeps (http/kept.h). NULL: it keeps nothing. */
	char *key;
	uint64_t made_ns;             /* by the kernel's clock */
	pthread_mutex_t kept_lock;    /* of what follows */
	struct transport *transports; /* that wait for a queue */
	uint32_t kept_connections;    /* theirs */
	uint32_t round;               /* stores that have opened with it */
	const struct dialect *dialect;
	const struct http_options *options;
	const struct transport_ops *transport; /* chosen when the store opens */
	struct transport_options transport_options;
	struct local_end local;    /* of this rank's connections, where the job names interfaces */
	char bucket[BUCKET_BYTES]; /* or container */
	char account[64];          /* Azure's */
	char prefix[URI_BYTES];    /* "" or "train/": before every key */
	bool virtual_host;         /* the bucket is a part of the host's name */
	bool presigned;            /* signatures go into the URL */
	bool sign_payload;         /* bodies are hashed into the signature */
	char region[64];
	struct servers servers;
	struct credential_source credentials;
	struct sentences sentences; /* of answers that name something */
	/* Seconds by which the servers' clock is ahead of this machine's; learnt when a signature
	 * is refused for its time. */
	_Atomic int64_t skew;
	_Atomic uint32_t depth; /* of all open channels together */
};

/* Seconds since 1970, by the servers' clock. */
int64_t http_now(const struct http_store *http);

/* For dialects. Puts "bucket/a/b" into bucket and "a/b/". -EINVAL with a sentence. */
int http_split_root(const struct store *store, const char *what, struct http_store *http,
		    struct err *err);
/* The first of these variables that is set and not empty, or NULL. names: NULL-terminated. */
const char *environment_first(const char *const *names);

#endif
