/* SPDX-License-Identifier: Apache-2.0 */
/* Doorbell: see doorbell.h. */
#include "ranks/mpi/doorbell.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/clock_wait.h"

enum { DOORBELL_TRIES = 64 };

struct doorbell_datagram {
	uint64_t token, round;
	uint64_t from;
};

/* How well an interface suits: a real one is better than the bridge of a container, whose address
 * may be the same on all nodes. The loopback serves where all ranks are on one machine. */
enum doorbell_rank { DOORBELL_NONE, DOORBELL_LOOPBACK, DOORBELL_VIRTUAL, DOORBELL_DEVICE };

static enum doorbell_rank interface_rank(const struct ifaddrs *i)
{
	char device[64 + IF_NAMESIZE];
	const struct sockaddr *a = i->ifa_addr;

	if (!a || !(i->ifa_flags & IFF_UP) || !(i->ifa_flags & IFF_RUNNING))
		return DOORBELL_NONE;
	if (a->sa_family != AF_INET && a->sa_family != AF_INET6)
		return DOORBELL_NONE;
	if (i->ifa_flags & IFF_LOOPBACK)
		return DOORBELL_LOOPBACK;
	if (a->sa_family == AF_INET6 &&
	    IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr))
		return DOORBELL_NONE;
	snprintf(device, sizeof(device), "/sys/class/net/%s/device", i->ifa_name);
	return access(device, F_OK) == 0 ? DOORBELL_DEVICE : DOORBELL_VIRTUAL;
}

/* The first address of the best interface, with any port. Returns its length, 0 if there is
 * none. */
static socklen_t address_find(struct sockaddr_storage *address)
{
	enum doorbell_rank best = DOORBELL_NONE;
	struct ifaddrs *all;
	socklen_t bytes = 0;

	if (getifaddrs(&all) < 0)
		return 0;
	memset(address, 0, sizeof(*address));
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		enum doorbell_rank rank = interface_rank(i);

		if (rank <= best)
			continue;
		best = rank;
		bytes = i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
							  : sizeof(struct sockaddr_in6);
		memcpy(address, i->ifa_addr, bytes);
	}
	freeifaddrs(all);
	return bytes;
}

_Static_assert(sizeof(struct sockaddr_in6) <= DOORBELL_ADDRESS_BYTES, "an address fits");

void doorbell_open(struct doorbell *d)
{
	struct sockaddr_storage address;
	socklen_t bytes = address_find(&address);

	*d = (struct doorbell){.fd = -1};
	if (!bytes || getrandom(&d->address.token, sizeof(d->address.token), GRND_NONBLOCK) !=
			      sizeof(d->address.token))
		return;
	d->fd = socket(address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd < 0)
		return;
	if (bind(d->fd, (struct sockaddr *)&address, bytes) < 0 ||
	    getsockname(d->fd, (struct sockaddr *)&address, &bytes) < 0) {
		doorbell_close(d);
		return;
	}
	d->address.bytes = bytes;
	memcpy(d->address.address, &address, bytes);
}

void doorbell_close(struct doorbell *d)
{
	if (d->fd >= 0)
		close(d->fd);
	*d = (struct doorbell){.fd = -1};
}

void doorbell_ring(const struct doorbell *d, const struct doorbell_address *at,
		   const struct doorbell_call *call)
{
	const struct doorbell_datagram out = {
		.token = at->token, .round = call->round, .from = call->from};
	struct sockaddr_storage address;

	if (d->fd < 0 || !at->bytes || at->bytes > DOORBELL_ADDRESS_BYTES)
		return;
	memcpy(&address, at->address, at->bytes);
	sendto(d->fd, &out, sizeof(out), MSG_DONTWAIT, (const struct sockaddr *)&address,
	       (socklen_t)at->bytes);
}

bool doorbell_sleep(const struct doorbell *d, uint64_t nap_ns)
{
	return clock_fd_wait(d->fd, POLLIN, nap_ns); /* fd -1: a plain nap */
}

bool doorbell_take(const struct doorbell *d, struct doorbell_call *call)
{
	struct doorbell_datagram in;

	/* Strangers cannot keep it busy for ever. */
	for (int tries = 0; d->fd >= 0 && tries < DOORBELL_TRIES; tries++) {
		ssize_t n = recv(d->fd, &in, sizeof(in), MSG_DONTWAIT);

		if (n < 0)
			return false;
		if (n != sizeof(in) || in.token != d->address.token)
			continue;
		*call = (struct doorbell_call){.from = (uint32_t)in.from, .round = in.round};
		return true;
	}
	return false;
}
