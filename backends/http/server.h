/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a store: endpoints as a job or the environment names them, with ranges and lists,
 * parsed. Used only when a store opens. */
#ifndef HAUL_BACKENDS_HTTP_SERVER_H
#define HAUL_BACKENDS_HTTP_SERVER_H

#include "backends/endpoint.h"
#include "backends/http/wire/exchange.h"

enum { SERVER_HOST_BYTES = 256, SERVER_BASE_BYTES = 256 };

/* "https://host:9000/base" */
struct server {
	bool tls;
	char name[ENDPOINT_NAME_BYTES]; /* the whole of it, without a slash at its end */
	char host[SERVER_HOST_BYTES];   /* with the port, unless it is the scheme's own */
	char base[SERVER_BASE_BYTES];   /* the path before buckets: "" or "/devstoreaccount1" */
	uint32_t address_count;         /* 0: the transport looks up the name */
	struct address *addresses;      /* servers_resolve */
};

struct servers {
	uint32_t count;
	struct server *list;
};

/* texts: [count], each a URL or a host, with ranges ("http://s3-{01...16}:9000"), several of them
 * with commas between, or "file:PATH" (one per line, # begins a comment). path is for messages. */
int servers_parse(struct servers *s, const char *const *texts, uint32_t count, const char *path,
		  struct err *err);
void servers_free(struct servers *s);

/* Looks up all addresses of each host, before which label ("bucket.") is put. A name that cannot be
 * looked up here is left to the transport, as are addresses and this machine's own name.
 * -ENOMEM. */
int servers_resolve(struct servers *s, const char *label);

#endif
