/* Addresses of the servers' names. */
#ifndef HAUL_BACKENDS_HTTP_RESOLVE_H
#define HAUL_BACKENDS_HTTP_RESOLVE_H

#include "backends/http/server.h"

/* Looks up all addresses of each host, before which label ("bucket.") is put. Where a name has only one address, or
 * cannot be looked up here, it is left to the transport. -ENOMEM. */
int servers_resolve(struct servers *s, const char *label);

#endif
