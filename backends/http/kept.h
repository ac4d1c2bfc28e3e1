/* SPDX-License-Identifier: Apache-2.0 */
/* What a store behind HTTP keeps in this process from phase to phase: its servers with their
 * addresses, its credentials, and the transports of its queues with their connections. The next
 * phase that opens the same store, with the same options, goes on with them. They are made anew
 * after some minutes, because names get other addresses.
 *
 * Stores are opened and closed by the main thread; queues by any. */
#ifndef HAUL_BACKENDS_HTTP_KEPT_H
#define HAUL_BACKENDS_HTTP_KEPT_H

#include "backends/backend.h"
#include "backends/http/store.h"

/* Frees a store that is not kept, and what it has kept itself. */
void http_store_free(struct http_store *http);

/* The key of an opened store: its URI and its options. The caller frees it. NULL: no memory, or
 * nothing is kept. */
char *http_kept_key(const struct store *store);

/* Takes what an earlier store with this key has kept, if it goes out at the same local end. NULL:
 * nothing. */
struct http_store *http_kept_take(struct store *store, const char *key,
				  const struct local_end *local);

/* Keeps it, whose store closes. False: it is the caller's to free. */
bool http_kept_give(struct store *store, struct http_store *http);

/* A transport for a queue of the store, with these options: a kept one, or a new one. */
int http_transport_open(struct http_store *http, struct transport **out,
			const struct transport_options *options, struct err *err);
/* Keeps the transport, or closes it. */
void http_transport_close(struct http_store *http, struct transport *t);

#endif
