/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/http/native/internal.h"

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72 /* of Linux 5.16; older headers lack it, and older kernels refuse it */
#endif

/* Of the receive buffer, for each byte that is left to wait there. Half of the buffer is the
 * kernel's own. */
enum { NATIVE_ROOM_PER_BYTE = 4 };

/* The send buffer of a connection to a server on this host. */
enum { NATIVE_LOCAL_SEND_BYTES = 1 << 20 };

/* Bytes that wait close the window, and a sender waits, too, when it is too small for its next
 * segment, which may be 64 KiB. */
static bool native_has_room(const struct native_connection *c, int bytes)
{
	socklen_t n = sizeof(int);
	int room = 0;

	return getsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &room, &n) == 0 &&
	       room / NATIVE_ROOM_PER_BYTE >= bytes;
}

void native_low_water(struct native_connection *c, int bytes)
{
	if (c->low_water == bytes || (bytes > 1 && !native_has_room(c, bytes)))
		return;
	setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
	c->low_water = bytes;
}

uint32_t native_segment_bytes(struct native_connection *c)
{
	socklen_t n = sizeof(int);
	int bytes = 0;

	if (!c->segment_bytes && getsockopt(c->fd, IPPROTO_TCP, TCP_MAXSEG, &bytes, &n) == 0)
		c->segment_bytes = (uint32_t)bytes;
	return c->segment_bytes;
}

void native_acknowledge(struct native_connection *c)
{
	int yes = 1;

	setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &yes, sizeof(yes));
}

void native_connection_close(struct native_connection *c)
{
	native_tls_end(c);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->watched = 0;
}

static int native_socket_open(struct native_transport *t, struct native_connection *c, int family)
{
	const struct local_end *local = t->base.options.local;
	int yes = 1, rc;

	c->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	if (c->fd < 0)
		return -errno;
	c->low_water = 1;
	c->segment_bytes = 0;
	rc = local ? local_end_bind(local, c->fd, family) : 0;
	if (rc < 0) {
		native_connection_close(c);
		return rc;
	}
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
	return 0;
}

static bool native_is_local(const union native_address *a)
{
	if (a->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
	return ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* To a server on this host there is no way that bytes could fill. What the kernel would send ahead
 * of it lies in the memory of this host, and no longer in its cache. Where the user may not ask for
 * that size, the kernel goes on choosing. */
static void native_local_buffer(struct native_connection *c)
{
	int half = NATIVE_LOCAL_SEND_BYTES / 2, got = 0, unlocked = 0; /* the kernel doubles it */
	socklen_t n = sizeof(got);

	setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &half, sizeof(half));
	if (getsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &got, &n) == 0 &&
	    got < NATIVE_LOCAL_SEND_BYTES)
		setsockopt(c->fd, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof(unlocked));
}

/* 1: connected at once, as over loopback; 0: under way; a negative errno. */
static int native_connect_to(struct native_transport *t, struct native_connection *c,
			     const union native_address *a)
{
	socklen_t bytes = a->any.sa_family == AF_INET ? sizeof(a->v4) : sizeof(a->v6);
	int rc = native_socket_open(t, c, a->any.sa_family);

	if (rc < 0)
		return rc;
	if (native_is_local(a))
		native_local_buffer(c);
	if (connect(c->fd, &a->any, bytes) == 0)
		return 1;
	if (errno == EINPROGRESS)
		return 0;
	rc = -errno;
	native_connection_close(c);
	return rc;
}

int native_connect(struct native_flight *f, int before)
{
	int rc = before;

	while (f->address_next < f->addresses.count) {
		rc = native_connect_to(f->owner, f->connection,
				       &f->addresses.list[f->address_next++]);
		if (rc < 0)
			continue;
		f->state = NATIVE_CONNECTS;
		if (!rc)
			native_watch(f->owner, f->connection, EPOLLIN | EPOLLOUT);
		return rc;
	}
	return rc;
}

int native_connect_event(struct native_flight *f)
{
	struct native_connection *c = f->connection;
	socklen_t bytes = sizeof(int);
	int error = 0;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0)
		error = errno;
	if (!error)
		return 1;
	native_connection_close(c);
	return native_connect(f, -error);
}
