/* SPDX-License-Identifier: Apache-2.0 */
/* Lookup of a host's addresses, in a thread of its own: the system's resolver may take seconds, and
 * exchanges of the same thread go on meanwhile. It is needed only for names whose addresses were
 * not found when the store opened. */
#ifndef HAUL_BACKENDS_HTTP_NATIVE_LOOKUP_H
#define HAUL_BACKENDS_HTTP_NATIVE_LOOKUP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOOKUP_ADDRESSES = 8, LOOKUP_PORT_BYTES = 8 };

union native_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct native_addresses {
	uint32_t count;
	union native_address list[LOOKUP_ADDRESSES];
};

struct native_lookup;

/* Begins a lookup; NULL where there is no memory or no thread for it. */
struct native_lookup *native_lookup_begin(const char *name, const char *port);
/* A descriptor that becomes readable when the lookup is over. */
int native_lookup_fd(const struct native_lookup *l);
bool native_lookup_is_for(const struct native_lookup *l, const char *name, const char *port);
/* Ends a lookup and frees it. Of one that is over, its addresses go to out (no address: the name is
 * not known); one that is not is left to its thread. out may be NULL. */
void native_lookup_end(struct native_lookup *l, struct native_addresses *out);

#endif
