/* Addresses of the servers' names. */
#ifndef HAUL_BACKENDS_HTTP_RESOLVE_H
#define HAUL_BACKENDS_HTTP_RESOLVE_H

#include "backends/http/server.h"

/* Looks up all addresses of each host, before which label ("bucket.") is put. A name that cannot be looked up here is left
 * to the transport, as are addresses and this machine's own name. -ENOMEM. */
int servers_resolve(struct servers *s, const char *label);

#endif
