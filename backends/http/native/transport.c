/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/native/transport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/http/native/internal.h"
#include "core/clock_wait.h"
#include "core/numbers.h"
#include "core/time_ns.h"

enum { NATIVE_EVENTS = 64 };
#define NATIVE_CHECK_NS (100 * NS_PER_MS)

static int native_open(struct transport **out, const struct transport_options *options,
		       struct err *err);
static int native_rests(const struct transport *base);
static void native_close(struct transport *base);
static void native_start(struct transport *base, struct exchange *x);
static uint32_t native_poll(struct transport *base, struct exchange **ended, uint32_t min,
			    uint32_t max, uint64_t deadline_ns);

const struct transport_ops transport_native = {
	.name = "native",
	.sends = true,
	.copies = 0,
	.copies_tls = 1,
	.open = native_open,
	.close = native_close,
	.rests = native_rests,
	.start = native_start,
	.poll = native_poll,
};

/* Texts of all flights lie in one mapping, whose pages are touched as they are used. */
static int native_texts_open(struct native_transport *t, uint32_t depth)
{
	size_t each = NATIVE_HEAD_BYTES + NATIVE_LINES_BYTES;

	t->texts_bytes = NATIVE_SCRATCH_BYTES + depth * each;
	t->texts = mmap(NULL, t->texts_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->texts == MAP_FAILED) {
		t->texts = NULL;
		return -ENOMEM;
	}
	t->scratch = t->texts + depth * each;
	for (uint32_t i = 0; i < depth; i++) {
		t->flights[i].lines = t->texts + i * each;
		t->flights[i].head = t->flights[i].lines + NATIVE_LINES_BYTES;
	}
	return 0;
}

static int native_flights_open(struct native_transport *t)
{
	const struct transport_options *o = &t->base.options;
	uint32_t slots = max_u64(o->connections, o->depth);

	t->flights = calloc(o->depth, sizeof(*t->flights));
	t->free = calloc(o->depth, sizeof(struct native_flight *));
	t->ended = calloc(o->depth, sizeof(struct exchange *));
	t->again = calloc(o->depth, sizeof(struct native_flight *));
	if (!t->flights || !t->free || !t->ended || !t->again)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->depth; i++) {
		t->flights[i].owner = t;
		t->free[t->free_count++] = &t->flights[i];
	}
	if (native_texts_open(t, o->depth) < 0)
		return -ENOMEM;
	return native_pool_open(&t->pool, slots, o->connections);
}

static int native_open(struct transport **out, const struct transport_options *options,
		       struct err *err)
{
	struct native_transport *t = calloc(1, sizeof(*t));
	int rc;

	*out = NULL;
	if (!t)
		return transport_not_opened(-ENOMEM, options, err);
	t->base = (struct transport){.ops = &transport_native, .options = *options};
	t->now_ns = clock_now(options->clock);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	rc = t->epoll < 0 ? -errno : native_flights_open(t);
	if (rc < 0) {
		native_close(&t->base);
		return transport_not_opened(rc, options, err);
	}
	*out = &t->base;
	return 0;
}

static int native_rests(const struct transport *base)
{
	const struct native_transport *t = (const struct native_transport *)base;

	return t->active || t->ended_count || t->lookup ? -1 : (int)t->pool.idle_count;
}

static void native_close(struct transport *base)
{
	struct native_transport *t = (struct native_transport *)base;

	if (t->lookup)
		native_lookup_end(t->lookup, NULL);
	native_pool_close(&t->pool);
	native_tls_close(t);
	if (t->epoll >= 0)
		close(t->epoll);
	if (t->texts)
		munmap(t->texts, t->texts_bytes);
	free(t->flights);
	free(t->free);
	free(t->ended);
	free(t->again);
	free(t);
}

/* The connection is there, and TLS with it. */
static void native_run(struct native_flight *f)
{
	f->state = NATIVE_RUNS;
	f->exchange->connections++;
	native_flight_run(f);
}

/* The handshake goes on. */
static void native_shake(struct native_flight *f)
{
	enum request_fault fault = REQ_FAULT_TLS;
	const char *why = NULL;
	int rc = native_tls_shake(f, &fault, &why);

	if (rc < 0)
		native_fail(f, rc, fault, why);
	else if (rc)
		native_run(f);
}

/* The connection has been made. */
static void native_connected(struct native_flight *f)
{
	const char *why = NULL;
	int rc;

	if (!f->connection->tls) {
		native_run(f);
		return;
	}
	rc = native_tls_begin(f, &why);
	if (rc < 0)
		native_fail(f, rc, REQ_FAULT_TLS, why);
	else
		native_shake(f);
}

/* The flight's addresses are known. */
static void native_connect_first(struct native_flight *f)
{
	int rc;

	f->connection = native_pool_slot(&f->owner->pool, &f->peer);
	f->connection->flight = f;
	f->address_next = 0;
	rc = native_connect(f, -EHOSTUNREACH);
	if (rc < 0)
		native_fail(f, rc, REQ_FAULT_CONNECT, NULL);
	else if (rc)
		native_connected(f);
}

/* Begins the lookup of the first name that waits for one, unless another lookup is under way. */
static void native_look_up(struct native_transport *t)
{
	char name[NATIVE_HOST_BYTES], port[LOOKUP_PORT_BYTES];
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = t};

	for (uint32_t i = 0; i < t->base.options.depth && !t->lookup; i++) {
		struct native_flight *f = &t->flights[i];

		if (!f->exchange || f->state != NATIVE_LOOKS_UP)
			continue;
		native_peer_addresses(&f->peer, &f->addresses, name, port);
		t->lookup = native_lookup_begin(name, port);
		if (!t->lookup)
			native_fail(f, -ENOMEM, REQ_FAULT_CONNECT, NULL);
		else
			epoll_ctl(t->epoll, EPOLL_CTL_ADD, native_lookup_fd(t->lookup), &event);
	}
}

/* A lookup is over: all that waited for this name go on. */
static void native_looked_up(struct native_transport *t)
{
	char name[NATIVE_HOST_BYTES], port[LOOKUP_PORT_BYTES];
	struct native_lookup *l = t->lookup;
	struct native_addresses found;

	for (uint32_t i = 0; i < t->base.options.depth; i++) {
		struct native_flight *f = &t->flights[i];

		if (!f->exchange || f->state != NATIVE_LOOKS_UP)
			continue;
		native_peer_addresses(&f->peer, &f->addresses, name, port);
		f->state = native_lookup_is_for(l, name, port) ? NATIVE_CONNECTS : NATIVE_LOOKS_UP;
	}
	t->lookup = NULL;
	native_lookup_end(l, &found);
	for (uint32_t i = 0; i < t->base.options.depth; i++) {
		struct native_flight *f = &t->flights[i];

		if (!f->exchange || f->state != NATIVE_CONNECTS || f->connection)
			continue;
		f->addresses = found;
		if (found.count)
			native_connect_first(f);
		else
			native_fail(f, -EHOSTUNREACH, REQ_FAULT_CONNECT, "its name is not known");
	}
	native_look_up(t);
}

/* There is no kept connection to the peer. */
static void native_make_connection(struct native_flight *f)
{
	struct native_transport *t = f->owner;
	char name[NATIVE_HOST_BYTES], port[LOOKUP_PORT_BYTES];

	f->connect_by_ns = t->now_ns + t->base.options.connect_ns;
	if (f->connect_by_ns < t->check_ns)
		t->check_ns = f->connect_by_ns;
	if (native_peer_addresses(&f->peer, &f->addresses, name, port)) {
		native_connect_first(f);
		return;
	}
	f->state = NATIVE_LOOKS_UP;
	native_look_up(t);
}

static void native_start(struct transport *base, struct exchange *x)
{
	struct native_transport *t = (struct native_transport *)base;
	struct native_flight *f = t->free[--t->free_count];
	int rc;

	t->now_ns = clock_now(base->options.clock);
	exchange_begin(x);
	f->exchange = x;
	f->connection = NULL;
	f->from_bytes = 0;
	f->sent_bytes = 0;
	f->mute = false;
	f->begin = f->end = 0;
	f->unread_bytes = 0;
	f->beyond = false;
	t->active++;
	answer_parser_begin(&f->parser, &x->answer, x->method);
	rc = native_peer_of(x, &f->peer);
	if (rc < 0) {
		native_fail(f, rc, REQ_FAULT_OTHER, "the request's URL leads to no server");
		return;
	}
	rc = native_head_write(f);
	if (rc < 0) {
		native_fail(f, rc, REQ_FAULT_OTHER, "the head of the request is too long");
		return;
	}
	f->connection = native_pool_find(&t->pool, &f->peer, t->now_ns);
	if (!f->connection) {
		native_make_connection(f);
		return;
	}
	f->connection->flight = f;
	f->state = NATIVE_RUNS;
	native_flight_run(f);
}

static void native_event(struct native_transport *t, struct native_connection *c, uint32_t events)
{
	struct native_flight *f;
	int rc;

	if (c->fd < 0) /* closed since, to make room for another idle one */
		return;
	f = c->flight;
	if (!f) { /* the server ended a connection that was kept, or sent what nobody asked for */
		native_pool_drop(&t->pool, c);
		return;
	}
	if (f->state == NATIVE_RUNS) {
		native_flight_event(f, events);
		return;
	}
	if (f->state == NATIVE_SHAKES) {
		native_shake(f);
		return;
	}
	rc = native_connect_event(f);
	if (rc < 0)
		native_fail(f, rc, REQ_FAULT_CONNECT, NULL);
	else if (rc)
		native_connected(f);
}

/* Goes on with what had used up its turn. */
static void native_go_on(struct native_transport *t)
{
	uint32_t n = t->again_count;

	/* None comes behind those that are looked at: each flight stands there once. */
	t->again_count = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct native_flight *f = t->again[i];

		if (!f->again)
			continue;
		f->again = false;
		native_flight_event(f, EPOLLIN);
	}
}

/* A flight that runs: ends it if it takes too long. What came since the last check may wait below
 * the low-water mark. */
static void native_check_pace(struct native_flight *f)
{
	const struct native_transport *t = f->owner;

	if (t->now_ns >= f->exchange->stall.moved_ns + NATIVE_CHECK_NS)
		native_flight_below(f);
	if (f->exchange &&
	    exchange_stalled(f->exchange, &t->base.options.stall, f->sent_bytes, t->now_ns))
		native_end(f, false);
}

/* Ends what takes too long. */
static void native_check(struct native_transport *t)
{
	const struct transport_options *o = &t->base.options;
	bool give_up;

	if (t->now_ns < t->check_ns)
		return;
	t->check_ns = t->now_ns + NATIVE_CHECK_NS;
	give_up = transport_gives_up(&t->base);
	for (uint32_t i = 0; i < o->depth; i++) {
		struct native_flight *f = &t->flights[i];

		if (!f->exchange)
			continue;
		if (give_up) {
			exchange_give_up(f->exchange);
			native_end(f, false);
		} else if (f->state == NATIVE_RUNS) {
			native_check_pace(f);
		} else if (t->now_ns >= f->connect_by_ns) {
			native_fail(f, -ETIMEDOUT, REQ_FAULT_CONNECT, NULL);
		} else if (f->connect_by_ns < t->check_ns) {
			t->check_ns = f->connect_by_ns;
		}
	}
}

/* Milliseconds until something must be done, rounded up. */
static int native_wait_ms(const struct native_transport *t, uint64_t deadline_ns)
{
	uint64_t until = t->again_count ? 0
			 : t->active    ? min_u64(t->check_ns, deadline_ns)
					: deadline_ns;

	if (until <= t->now_ns)
		return 0;
	until = (until - t->now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return (int)min_u64(until, 1000);
}

/* What happened on sockets. A slot that a connection leaves may be taken by another only when no
 * event of the first is left to be looked at, so lookups, after which connections begin, come
 * last. */
static void native_events(struct native_transport *t, const struct epoll_event *events, int n)
{
	bool looked_up = false;

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == t)
			looked_up = true;
		else
			native_event(t, events[i].data.ptr, events[i].events);
	}
	native_go_on(t);
	if (looked_up)
		native_looked_up(t);
}

static uint32_t native_give_back(struct native_transport *t, struct exchange **ended, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && t->ended_count)
		ended[n++] = t->ended[--t->ended_count];
	return n;
}

/* Waits for events, and before it sleeps, looks a few times where that pays. */
static int native_wait(struct native_transport *t, struct epoll_event *events, int ms)
{
	int ready = clock_epoll_wait(t->epoll, events, NATIVE_EVENTS, 0);

	if (ready > 0 || !ms)
		return ready;
	if (spin_now(&t->spin)) {
		for (int i = 0; i < SPIN_LOOKS && ready <= 0; i++)
			ready = clock_epoll_wait(t->epoll, events, NATIVE_EVENTS, 0);
		spin_said(&t->spin, ready > 0);
	}
	return ready > 0 ? ready : clock_epoll_wait(t->epoll, events, NATIVE_EVENTS, ms);
}

static uint32_t native_poll(struct transport *base, struct exchange **ended, uint32_t min,
			    uint32_t max, uint64_t deadline_ns)
{
	struct native_transport *t = (struct native_transport *)base;
	struct epoll_event events[NATIVE_EVENTS];
	uint32_t n = 0;
	int ready;

	t->now_ns = clock_now(base->options.clock);
	for (;;) {
		n += native_give_back(t, ended + n, max - n);
		ready = native_wait(t, events,
				    n >= min || !t->active ? 0 : native_wait_ms(t, deadline_ns));
		t->now_ns = clock_now(base->options.clock);
		native_events(t, events, ready);
		native_check(t);
		n += native_give_back(t, ended + n, max - n);
		if (n >= min || !t->active || t->now_ns >= deadline_ns)
			return n;
	}
}

bool spin_now(struct spin *s)
{
	if (!s->pass)
		return true;
	s->pass--;
	return false;
}

/* In vain counts twice, so the level falls only where two times out of three or more succeed. */
void spin_said(struct spin *s, bool came)
{
	if (came && s->level)
		s->level--;
	if (!came)
		s->level = s->level + 2 < SPIN_LEVEL_MAX ? (uint8_t)(s->level + 2) : SPIN_LEVEL_MAX;
	s->pass = (uint8_t)((1u << s->level) - 1);
}
