/* The servers of a store: endpoints as a job or the environment names them, expanded, parsed, their names
 * looked up. For opening a store only. */
#ifndef HAUL_BACKENDS_HTTP_SERVER_H
#define HAUL_BACKENDS_HTTP_SERVER_H

#include "backends/endpoint.h"
#include "backends/http/wire/transport.h"

enum { SERVER_HOST_BYTES = 256, SERVER_BASE_BYTES = 256, SERVER_ADDRESSES = 64 };

/* "https://host:9000/base" */
struct server {
	bool tls;
	char name[ENDPOINT_NAME_BYTES]; /* as written, without a path's end */
	char host[SERVER_HOST_BYTES];   /* with the port where it is not the scheme's own */
	char base[SERVER_BASE_BYTES];   /* path before buckets: "" or "/devstoreaccount1" */
	uint32_t address_count;         /* 0: left to the transport */
	struct address *addresses;
};

struct servers {
	uint32_t count;
	struct server *list;
};

/* texts: [count], each an URL or host, with ranges ("http://s3-{01...16}:9000"), a list of those with
 * commas between, or "file:PATH" (one a line, # begins a comment). path is for messages. */
int servers_parse(struct servers *s, const char *const *texts, uint32_t count, const char *path,
		  struct err *err);
void servers_free(struct servers *s);

/* Looks up the addresses of each host, before which label ("bucket.") is put. Where a name has only one
 * address, or is none that can be looked up here, the transport is left to find it. */
int servers_resolve(struct servers *s, const char *label);

#endif
