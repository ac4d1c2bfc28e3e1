/* SPDX-License-Identifier: Apache-2.0 */
/* A store behind HTTP, opened: servers, credentials, transport, and the dialect in which S3, Azure
 * and Google differ. Read-only after open but for what is atomic or has a lock of its own. */
#ifndef HAUL_BACKENDS_HTTP_STORE_H
#define HAUL_BACKENDS_HTTP_STORE_H

#include "backends/backend.h"
#include "backends/endpoint.h"
#include "backends/http/auth/credentials.h"
#include "backends/http/sentence.h"
#include "backends/http/server.h"
#include "backends/http/wire/local_end.h"
#include "backends/http/wire/sum.h"
#include "backends/http/wire/transport.h"
#include "backends/retry.h"

/* Options of every store behind HTTP, their checks, and what follows from them alone: sizes of
 * requests, how many at once. */

enum { HTTP_IN_FLIGHT_MAX = 64 };
#define HTTP_TRANSFER (8 << 20)

/* Libraries that haul imitates. */
enum { CLIENT_HAUL, CLIENT_S3DLIO, CLIENT_S3TORCHCONNECTOR, CLIENT_MINIO };
extern const char *const client_names[];

enum http_transport { TRANSPORT_NATIVE, TRANSPORT_CURL };
enum http_split { SPLIT_SIZE, SPLIT_ADAPTIVE, SPLIT_OFF };

/* A store's own struct begins with this one. */
struct http_options {
	struct store_options common;
	struct texts endpoints, interfaces;
	struct endpoint_options balance;
	struct retry_options retry;
	uint32_t transport; /* enum http_transport */
	bool insecure;
	char ca[512];
	uint64_t connect_ns, first_byte_ns, stall_ns, least_rate;
	uint32_t client; /* CLIENT_… */
	bool head_on_open;
	uint32_t split; /* enum http_split */
	uint64_t split_from, part, put_whole, in_flight;
	bool create_bucket; /* S3's and Google's */
	uint32_t payload;   /* S3's alone, but clients differ in it */
	uint32_t checksum;  /* enum sum_kind */
};

/* For struct backend_ops: see backends/backend.h. */
uint64_t http_range(const void *options, uint64_t largest, uint32_t depth);
uint64_t http_part(const void *options, uint64_t length);
uint32_t http_in_flight(const void *options);

extern const struct option http_option_table[];

/* For the check of struct backend_ops. What the environment says can only be checked where a store
 * is opened. */
int http_check(const void *options, const char *path, struct err *err);
/* The URIs begin with count names, "account/container", as far as they are known before variables
 * and placeholders get their values. -EINVAL with a sentence. */
int http_check_root(const void *options, const char *names, int count, const char *path,
		    struct err *err);

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
	/* Begun through channels that are closed, and neither ended nor dropped; and those of which
	 * the store has not said whether they are there. */
	_Atomic uint32_t uploads_left, uploads_unknown;
};

/* Seconds since 1970, by the servers' clock. */
int64_t http_now(const struct http_store *http);

/* For dialects. Puts "bucket/a/b" into bucket and "a/b/". -EINVAL with a sentence. */
int http_split_root(const struct store *store, const char *what, struct http_store *http,
		    struct err *err);
/* The first of these variables that is set and not empty, or NULL. names: NULL-terminated. */
const char *environment_first(const char *const *names);

#endif
