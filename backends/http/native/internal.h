/* SPDX-License-Identifier: Apache-2.0 */
/* State of the native transport, shared by its files: transport.c (exchanges from start to end),
 * flight.c (one exchange: its request goes out, its answer comes in), peer.c (to whom a URL leads,
 * and the head of a request to it), connect.c (a connection is made), tls.c (its encryption),
 * lookup.c (addresses of a name) and pool.c (connections between exchanges). */
#ifndef HAUL_BACKENDS_HTTP_NATIVE_INTERNAL_H
#define HAUL_BACKENDS_HTTP_NATIVE_INTERNAL_H

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "backends/http/native/answer_parser.h"
#include "backends/http/wire/transport.h"

/* Whether to look for events a few times more before sleeping. Going to sleep and waking up costs
 * several microseconds, more in a virtual machine, and over a fast network the next event often
 * comes sooner. Looking for about as long as that costs at most twice the processor time of
 * whichever would have been the better choice (Karlin, Li, Manasse, Owicki: Empirical studies of
 * competitive spinning, SOSP 1991). Where looking is in vain more often than one time in three, it
 * soon happens at one wait out of 64 only, so a slow server costs next to nothing.
 *
 * Thread rule: one owner. All zero is a new one. */

enum {
	SPIN_LOOKS = 32,    /* of 0.2 µs each: about what sleeping and waking up cost */
	SPIN_LEVEL_MAX = 6, /* then 63 waits out of 64 pass without */
};

struct spin {
	uint8_t level; /* 2^level - 1 waits pass after one in vain */
	uint8_t pass;  /* waits that are still to pass */
};

/* Asked before each wait for which nothing has come yet. */
bool spin_now(struct spin *s);
/* Says how looking ended, if spin_now returned true. */
void spin_said(struct spin *s, bool came);

/* Lookup of a host's addresses, in a thread of its own: the system's resolver may take seconds, and
 * exchanges of the same thread go on meanwhile. It is needed only for names whose addresses were
 * not found when the store opened. */

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

enum {
	NATIVE_HOST_BYTES = 640,
	NATIVE_HEAD_BYTES = 24 << 10, /* of a request, at most */
	NATIVE_LINES_BYTES = ANSWER_LINE_BYTES,
	NATIVE_SCRATCH_BYTES = 256 << 10, /* takes a body that nobody keeps */
	NATIVE_SESSIONS = 64              /* of TLS, at most one per peer */
};

struct native_flight;

/* To whom an exchange goes. Texts lie in its URL. */
struct native_peer {
	bool tls;
	const char *host; /* as in the Host header: "s3-1:9000" */
	size_t host_bytes;
	const char *target; /* path and query; "" stands for "/" */
	const struct address *address;
	uint64_t hash; /* of all but the target */
};

struct native_connection {
	int fd;                       /* -1: none */
	uint32_t watched;             /* events that epoll knows; 0: it does not know the socket */
	int low_water;                /* bytes that have to wait before epoll tells of them */
	uint32_t segment_bytes;       /* of a full one; 0: not asked yet */
	SSL *ssl;                     /* NULL: none, or not yet */
	uint64_t tls_holds;           /* no less than what has come, but is still with OpenSSL */
	uint32_t head_last;           /* bytes of the head of the last answer that had a body */
	uint32_t head_guess;          /* bytes that the next head is thought to have; 0: no idea */
	struct native_flight *flight; /* which uses it; NULL: idle */
	/* Its peer. */
	uint64_t hash;
	bool tls;
	const struct address *address;
	char host[NATIVE_HOST_BYTES];
	/* Its place in the pool. */
	uint64_t idle_ns;                        /* since when it is idle */
	struct native_connection *next;          /* free, or idle with the same bucket */
	struct native_connection *newer, *older; /* idle, by time */
};

/* Connections that no exchange uses: kept ones by their peer, and slots that are free. */
struct native_pool {
	uint32_t slots, used_slots; /* those behind used_slots have never been touched */
	uint32_t idle_count, idle_max, mask;
	struct native_connection *connections; /* [slots] */
	struct native_connection *free;
	struct native_connection **buckets; /* [mask + 1] */
	struct native_connection *newest, *oldest;
};

/* What TLS needs to go on with a peer that it knows. */
struct native_session {
	uint64_t hash;
	const struct address *address;
	char *host;
	SSL_SESSION *session; /* NULL: none */
};

enum native_state {
	NATIVE_LOOKS_UP, /* waits for the addresses of a name */
	NATIVE_CONNECTS,
	NATIVE_SHAKES, /* the handshake of TLS is under way */
	NATIVE_RUNS    /* the request goes out, the answer comes */
};

/* An exchange on its way. */
struct native_flight {
	struct exchange *exchange; /* NULL: none */
	struct native_transport *owner;
	struct native_connection *connection; /* NULL while the name is looked up */
	enum native_state state;
	uint64_t connect_by_ns; /* when the connection has to be there */
	struct native_peer peer;
	struct native_addresses addresses; /* those left to try, from address_next on */
	uint32_t address_next;
	/* What is sent. */
	uint32_t head_bytes, head_sent;
	const char *from; /* bytes of the body, supplied by the exchange, that have not gone yet */
	uint64_t from_bytes;
	uint64_t sent_bytes; /* of the body */
	bool mute; /* nothing more is sent: the server has answered, or has closed its side */
	/* What comes. Bytes [begin, end) of lines have come and wait to be parsed. */
	struct answer_parser parser;
	uint32_t begin, end;
	const char *unread; /* in scratch, within a turn: what came elsewhere than it belongs */
	uint32_t unread_bytes;
	bool beyond; /* a byte came behind the end of the answer */
	bool again;  /* it goes on at the next turn, whether epoll tells of more bytes or not */
	char *head;  /* [NATIVE_HEAD_BYTES] */
	char *lines; /* [NATIVE_LINES_BYTES] */
};

struct native_transport {
	struct transport base;
	int epoll;
	struct spin spin;
	uint64_t now_ns;
	uint64_t check_ns; /* when flights are looked at for what has taken too long */
	uint32_t active, free_count, ended_count, again_count;
	struct native_pool pool;
	struct native_lookup *lookup; /* under way, or NULL */
	SSL_CTX *tls;                 /* made for the first connection that needs it */
	BIO_METHOD *bio;
	struct native_session sessions[NATIVE_SESSIONS]; /* by hash */
	struct native_flight *flights;                   /* [depth] */
	struct native_flight **free;                     /* [depth] */
	struct exchange **ended;                         /* [depth] */
	struct native_flight **again;                    /* which go on at the next turn. [depth] */
	char *texts; /* heads and lines of all flights, and scratch; touched as they are used */
	size_t texts_bytes;
	char *scratch; /* [NATIVE_SCRATCH_BYTES] */
};

/* Makes epoll watch the connection for these events. */
static inline void native_watch(struct native_transport *t, struct native_connection *c,
				uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = c};

	if (c->watched == events)
		return;
	epoll_ctl(t->epoll, c->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &event);
	c->watched = events;
}

/* peer.c. -EINVAL: the URL is none of http:// or https://, or its host has no name or one that is
 * too long. */
int native_peer_of(const struct exchange *x, struct native_peer *p);
bool native_peer_is(const struct native_peer *p, const struct native_connection *c);
/* Writes the head of the flight's request. -ENAMETOOLONG. */
int native_head_write(struct native_flight *f);
/* Finds the addresses where they are known without a lookup, and returns true. Otherwise name and
 * port are what has to be looked up. */
bool native_peer_addresses(const struct native_peer *p, struct native_addresses *out,
			   char name[NATIVE_HOST_BYTES], char port[LOOKUP_PORT_BYTES]);

/* pool.c. */
int native_pool_open(struct native_pool *p, uint32_t slots, uint32_t idle_max);
/* Closes all connections, those that are in use among them. */
void native_pool_close(struct native_pool *p);
/* A kept connection to this peer, or NULL. */
struct native_connection *native_pool_find(struct native_pool *p, const struct native_peer *peer,
					   uint64_t now_ns);
/* A slot without a socket for a connection to this peer; where none is free, the connection that
 * was idle for longest gives up its own. Never NULL while fewer exchanges are under way than there
 * are slots. */
struct native_connection *native_pool_slot(struct native_pool *p, const struct native_peer *peer);
void native_pool_keep(struct native_pool *p, struct native_connection *c, uint64_t now_ns);
/* Closes the connection, idle or not, and frees its slot. */
void native_pool_drop(struct native_pool *p, struct native_connection *c);
/* The exchange has ended: its flight is free again, and the connection, if any, is kept or
 * closed. */
void native_end(struct native_flight *f, bool keep);
void native_fail(struct native_flight *f, int status, enum request_fault fault, const char *why);

/* connect.c. */
/* Begins to connect the flight to the next of its addresses. Returns 1 where the connection was
 * made at once, else 0, and its state is NATIVE_CONNECTS. A negative errno: no address took it;
 * before, where none was left to try. */
int native_connect(struct native_flight *f, int before);
/* Something happened on the socket of a flight that connects. 1: it is connected; 0: not yet; a
 * negative errno. */
int native_connect_event(struct native_flight *f);
/* Closes the socket, with what TLS keeps for it. */
void native_connection_close(struct native_connection *c);
/* Makes epoll tell of bytes only when this number of them waits, or the connection ends. Does
 * nothing while the connection's buffer is too small to let them wait. */
void native_low_water(struct native_connection *c, int bytes);
/* How much a segment of TCP holds, as the kernel sends them on this connection, and as the peer
 * does, mostly. 0: not known. */
uint32_t native_segment_bytes(struct native_connection *c);
/* Acknowledges to the peer now, rather than after up to 40 ms, what has been received (TCP_QUICKACK
 * in tcp(7)). */
void native_acknowledge(struct native_connection *c);

/* tls.c. */
/* Begins TLS on a connection that has been made: the flight's state is NATIVE_SHAKES. A negative
 * errno: why says what is the matter with haul's side. */
int native_tls_begin(struct native_flight *f, const char **why);
/* Goes on with the handshake: 1: the connection is ready; 0: it waits for the server; a negative
 * errno, with the fault and, for certificates, with a sentence. */
int native_tls_shake(struct native_flight *f, enum request_fault *fault, const char **why);
/* As recv and sendmsg, but they return a negative errno; -EAGAIN: nothing has come, or nothing can
 * go. */
ssize_t native_tls_receive(struct native_connection *c, void *to, size_t n);
ssize_t native_tls_send(struct native_connection *c, const struct iovec v[2]);
/* Whether bytes have been received that nobody has read. */
/* Whether content has come that is not received yet: 1; 0 where the server has ended the
 * connection, -EAGAIN where nothing has come but what belongs to TLS itself. */
ssize_t native_tls_peek(const struct native_connection *c);
bool native_tls_pending(const struct native_connection *c);
void native_tls_end(struct native_connection *c);
void native_tls_close(struct native_transport *t);

/* flight.c. */
/* The connection is there: sends what it takes. */
void native_flight_run(struct native_flight *f);
/* Something happened on the connection of a flight that runs. */
void native_flight_event(struct native_flight *f, uint32_t events);
/* Receives what waits below the low-water mark of a flight that runs. */
void native_flight_below(struct native_flight *f);

#endif
