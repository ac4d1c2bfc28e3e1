/* SPDX-License-Identifier: Apache-2.0 */
/* Transport: carries many HTTP exchanges at once, in one thread.
 *
 * What is above it (requests, signatures, retries) knows no library; what is below it knows no
 * store. A store chooses its transport when it opens, and nothing else asks which one it is. Each
 * implementation:
 *
 *   - speaks HTTP/1.1 and keeps connections for later exchanges; verifies certificates unless told not to;
 *   - never sends a request twice: a connection that turns out to be dead ends the exchange with
 *     REQ_FAULT_BROKEN, so that each attempt is the queue's and is counted;
 *   - follows no redirection and uses no proxy;
 *   - keeps exchange.stall, and ends what exchange_stalled finds; a connection that takes longer than connect_ns
 *     to make, TLS included, ends with REQ_FAULT_CONNECT;
 *   - gives up all exchanges with -ECANCELED where the run is to end (transport_gives_up);
 *   - gives each started exchange back exactly once, by poll, in any order.
 *
 * A transport belongs to a channel, and so to one thread. Nothing of haul's allocates after
 * open. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_TRANSPORT_H
#define HAUL_BACKENDS_HTTP_WIRE_TRANSPORT_H

#include <errno.h>
#include <string.h>

#include "backends/http/wire/exchange.h"
#include "backends/http/wire/local_end.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/stop.h"

struct transport_options {
	uint32_t depth;       /* exchanges at once, at most */
	uint32_t connections; /* kept idle, at most */
	/* Exchanges of all transports that share the memory for what is on its way. NULL: this
	 * one's depth. */
	const _Atomic uint32_t *together;
	uint64_t connect_ns;
	struct stall_limits stall;
	bool insecure; /* accepts any certificate */
	/* Where connections begin; it outlives the transport. NULL: the system chooses. */
	const struct local_end *local;
	const char *ca; /* file of certificate authorities; NULL: the system's */
	const struct clock *clock;
	const struct stop *stop; /* exchanges are given up as it says; NULL: never */
};

struct transport {
	const struct transport_ops *ops;
	struct transport_options options;
	/* While the store keeps it for a later queue (http/kept.h). */
	struct transport *next;
	uint32_t round, kept_connections;
};

/* Whether no answer is waited for any more. */
static inline bool transport_gives_up(const struct transport *t)
{
	uint64_t at_ns = stop_gives_up_at(t->options.stop);

	return at_ns != UINT64_MAX && clock_kernel_ns() >= at_ns;
}

struct transport_ops {
	const char *name; /* as results show it */
	bool sends; /* start itself sends what the connection takes; otherwise the next poll does */
	/* Copies of each byte in user space, beside ciphering it: without TLS, and with it. */
	uint32_t copies, copies_tls;
	int (*open)(struct transport **out, const struct transport_options *options,
		    struct err *err);
	/* Exchanges under way are dropped. */
	void (*close)(struct transport *t);
	/* Whether a later queue may go on with the transport, by its depth and its limit of
	 * connections but otherwise other options, perhaps in another thread: the number of its
	 * connections, -1 where exchanges are under way. NULL: never. */
	int (*rests)(const struct transport *t);
	/* Begins the exchange. One that cannot even begin comes back from poll, too. */
	void (*start)(struct transport *t, struct exchange *x);
	/* Works on all exchanges; gives back at least min that have ended, unless deadline_ns
	 * passes or none is left, and at most max. */
	uint32_t (*poll)(struct transport *t, struct exchange **ended, uint32_t min, uint32_t max,
			 uint64_t deadline_ns);
};

/* The sentence about a transport that did not open. */
static inline int transport_not_opened(int rc, const struct transport_options *o, struct err *err)
{
	if (rc == -EMFILE || rc == -ENFILE)
		return err_set(
			err, rc,
			"%s: each queue of an object store needs one, and one for each connection; "
			"ulimit -n allows more",
			strerror(-rc));
	return err_set(err, rc, "no memory for %u exchanges", o->depth);
}

#endif
