/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "backends/http/native/internal.h"

/* A connection that was idle for longer is not used again: what lies between may have forgotten
 * it. */
#define POOL_IDLE_MAX_NS UINT64_C(3600000000000)
/* One that was idle for so long is looked at before it is used: epoll may have had no time to tell
 * of its end. */

int native_pool_open(struct native_pool *p, uint32_t slots, uint32_t idle_max)
{
	uint64_t buckets = 1;

	*p = (struct native_pool){.slots = slots, .idle_max = idle_max};
	while (buckets < slots)
		buckets *= 2;
	p->mask = (uint32_t)(buckets - 1);
	p->buckets = calloc(buckets, sizeof(struct native_connection *));
	/* Most of them are never touched. */
	p->connections = mmap(NULL, (size_t)slots * sizeof(*p->connections), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->connections == MAP_FAILED)
		p->connections = NULL;
	return p->buckets && p->connections ? 0 : -ENOMEM;
}

void native_pool_close(struct native_pool *p)
{
	for (uint32_t i = 0; p->connections && i < p->used_slots; i++)
		native_connection_close(&p->connections[i]);
	if (p->connections)
		munmap(p->connections, (size_t)p->slots * sizeof(*p->connections));
	free(p->buckets);
}

static struct native_connection **native_pool_bucket(struct native_pool *p, uint64_t hash)
{
	return &p->buckets[hash & p->mask];
}

/* Takes an idle connection out of the pool. */
static void native_pool_take(struct native_pool *p, struct native_connection *c)
{
	struct native_connection **at = native_pool_bucket(p, c->hash);

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (c->newer)
		c->newer->older = c->older;
	else
		p->newest = c->older;
	if (c->older)
		c->older->newer = c->newer;
	else
		p->oldest = c->newer;
	c->next = c->newer = c->older = NULL;
	p->idle_count--;
}

static void native_pool_free(struct native_pool *p, struct native_connection *c)
{
	native_connection_close(c);
	c->flight = NULL;
	c->next = p->free;
	p->free = c;
}

/* Whether the server has kept its side open, and has sent nothing that nobody asked for. */
static bool native_connection_alive(const struct native_connection *c, uint64_t now_ns)
{
	char byte;

	if (now_ns > c->idle_ns + POOL_IDLE_MAX_NS)
		return false;
	/* With TLS, tickets of sessions may have come, which are no content. */
	if (c->ssl)
		return native_tls_peek(c) == -EAGAIN;
	return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

struct native_connection *native_pool_find(struct native_pool *p, const struct native_peer *peer,
					   uint64_t now_ns)
{
	struct native_connection *c = *native_pool_bucket(p, peer->hash), *next;

	for (; c; c = next) {
		next = c->next;
		if (!native_peer_is(peer, c))
			continue;
		native_pool_take(p, c);
		if (native_connection_alive(c, now_ns))
			return c;
		native_pool_free(p, c);
	}
	return NULL;
}

struct native_connection *native_pool_slot(struct native_pool *p, const struct native_peer *peer)
{
	struct native_connection *c = p->free;

	if (!c && p->used_slots < p->slots) {
		c = &p->connections[p->used_slots++];
		c->fd = -1;
	} else if (!c) {
		c = p->oldest;
		native_pool_take(p, c);
		native_connection_close(c);
	} else {
		p->free = c->next;
	}
	c->next = NULL;
	c->head_last = c->head_guess = 0;
	c->hash = peer->hash;
	c->tls = peer->tls;
	c->address = peer->address;
	memcpy(c->host, peer->host, peer->host_bytes);
	c->host[peer->host_bytes] = '\0';
	return c;
}

void native_pool_keep(struct native_pool *p, struct native_connection *c, uint64_t now_ns)
{
	struct native_connection **bucket = native_pool_bucket(p, c->hash);

	if (p->idle_count == p->idle_max)
		native_pool_drop(p, p->oldest);
	native_low_water(c, 1);
	c->tls_holds = 0;
	c->flight = NULL;
	c->idle_ns = now_ns;
	c->next = *bucket;
	*bucket = c;
	c->newer = NULL;
	c->older = p->newest;
	if (p->newest)
		p->newest->newer = c;
	else
		p->oldest = c;
	p->newest = c;
	p->idle_count++;
}

void native_pool_drop(struct native_pool *p, struct native_connection *c)
{
	if (!c->flight)
		native_pool_take(p, c);
	native_pool_free(p, c);
}

void native_end(struct native_flight *f, bool keep)
{
	struct native_transport *t = f->owner;
	struct native_connection *c = f->connection;

	if (c && keep)
		native_pool_keep(&t->pool, c, t->now_ns);
	else if (c)
		native_pool_drop(&t->pool, c);
	f->connection = NULL;
	t->ended[t->ended_count++] = f->exchange;
	f->exchange = NULL;
	f->again = false;
	t->free[t->free_count++] = f;
	t->active--;
}

void native_fail(struct native_flight *f, int status, enum request_fault fault, const char *why)
{
	exchange_fail(f->exchange, status, fault, why);
	native_end(f, false);
}
