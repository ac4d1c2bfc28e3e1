/* SPDX-License-Identifier: Apache-2.0 */
/* Local end of connections: one of this node's network interfaces, or one of its addresses.
 *
 * An interface is bound as a device, so that packets leave by it whatever the routes say. Where the
 * kernel allows that only to root (before Linux 5.7), its address is bound instead. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_LOCAL_END_H
#define HAUL_BACKENDS_HTTP_WIRE_LOCAL_END_H

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>

#include "core/err.h"

enum { LOCAL_END_BYTES = 64 };

struct local_end {
	char name[LOCAL_END_BYTES]; /* as the job has it: "hsn0", "10.0.0.7" */
	char device[IF_NAMESIZE];   /* its interface; "": not known */
	bool is_device;             /* the job names an interface, not an address */
	/* Its addresses; a family of 0: it has none of that kind. */
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Finds it on this node, and tries it. -ENODEV, -EADDRNOTAVAIL … with a sentence that names it. */
int local_end_find(struct local_end *e, const char *name, struct err *err);

/* Binds a socket of that family that is not connected yet. A negative errno. */
int local_end_bind(const struct local_end *e, int fd, int family);

/* Whether some of these processors are near the interface. False as well where the system does not
 * tell. */
bool local_end_near(const struct local_end *e, const cpu_set_t *processors);

#endif
