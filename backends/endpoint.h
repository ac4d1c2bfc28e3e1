/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints: the ways into a store, and the choice of one for each attempt.
 *
 * A backend with endpoints creates them when its store opens and sets store->endpoints. The queue
 * chooses one for each attempt and reports how it went. The queues of a rank share the endpoints:
 * words that several threads change are atomic, and nothing is locked. An endpoint that fails
 * several times in a row is ejected for a while; then one attempt at a time goes to it (half open),
 * until one succeeds. */
#ifndef HAUL_BACKENDS_ENDPOINT_H
#define HAUL_BACKENDS_ENDPOINT_H

#include <stdatomic.h>

#include "backends/backend.h"
#include "core/content/random.h"
#include "core/measure/table.h"

enum { ENDPOINTS_MAX = 4096, ENDPOINT_NAME_BYTES = TABLE_TEXT_BYTES, ENDPOINT_STATUSES = 600 };

enum balance {
	BALANCE_RANK,        /* the ranks that use the store take turns (place.endpoint) */
	BALANCE_NODE,        /* node modulo endpoints */
	BALANCE_ROUND_ROBIN, /* the next one, each rank beginning at its own */
	BALANCE_RANDOM,      /* uniform */
	/* fewest attempts in flight; among equals, the one that was idle longest */
	BALANCE_LEAST_LOADED,
	/* least expected wait: (in flight + 1) x mean time of an attempt. The value is halved for
	 * each second without an attempt there, so that an endpoint that has become fast again is
	 * noticed. */
	BALANCE_LATENCY
};

struct endpoint_options {
	uint32_t balance;        /* enum balance */
	uint64_t eject_failures; /* failures in a row that eject an endpoint; 0: never */
	uint64_t eject_ns;       /* how long the first time; doubled each time it fails again */
};
extern const char *const balance_names[];

/* Padded to its own cache lines: several threads change it. */
struct endpoint {
	char name[ENDPOINT_NAME_BYTES]; /* as results show it: "https://s3-1:9000" */
	_Alignas(64) _Atomic uint32_t in_flight;
	_Atomic uint32_t failures; /* failures in a row */
	_Atomic uint32_t ejections;
	_Atomic uint64_t ejected_until_ns; /* 0: in use */
	_Atomic uint64_t last_used_ns;
	_Atomic uint64_t mean_ns; /* of an attempt, exponentially weighted; 0: none yet */
};

struct endpoints {
	const struct endpoint_options *options;
	uint32_t count, own; /* own: where this rank begins to choose */
	_Atomic uint32_t next;
	struct endpoint list[]; /* [count] */
};

/* names: [count]. The options must outlive the endpoints. */
int endpoints_open(struct endpoints **out, const char *const *names, uint32_t count,
		   const struct endpoint_options *options, const struct rank_place *place,
		   struct err *err);
void endpoints_close(struct endpoints *e);

/* The endpoint of an attempt that begins now. avoid: where it failed before, chosen only when there
 * is no other; UINT32_MAX: none. */
uint32_t endpoints_choose(struct endpoints *e, struct random *r, uint32_t avoid, uint64_t now_ns);
/* Reports that an attempt has ended, after took_ns, with that fault. */
void endpoints_done(struct endpoints *e, uint32_t index, enum request_fault fault, uint64_t took_ns,
		    uint64_t now_ns);

/* What one queue counts for one endpoint. requests are those on the wire, of which an attempt may
 * need several. */
struct endpoint_counts {
	uint64_t requests, attempts, failures, bytes, wire_bytes, connections, time_ns, max_ns;
	uint64_t fault[REQ_FAULTS];
	/* answers to requests by status; 0: no complete answer came */
	uint64_t status[ENDPOINT_STATUSES];
	struct coarse_hist latency; /* of attempts */
};

/* The table "endpoints" of every phase that works on stores with several ways in: a row per
 * endpoint. */
/* clang-format off */
#define ENDPOINT_LIST(X) \
	X(ENDPOINT_REQUESTS, "requests", "", SUM, "requests on the wire") \
	X(ENDPOINT_ATTEMPTS, "attempts", "", SUM, \
	  "attempts at operations; one may need several requests") \
	X(ENDPOINT_FAILURES, "failures", "", SUM, \
	  "attempts that failed, even where the operation succeeded later") \
	X(ENDPOINT_BYTES, "bytes", "bytes", SUM, \
	  "goodput: bytes of objects by which attempts made progress") \
	X(ENDPOINT_WIRE_BYTES, "wire_bytes", "bytes", SUM, \
	  "bytes moved both ways, heads and failed attempts included") \
	X(ENDPOINT_CONNECTIONS, "connections", "", SUM, "connections made") \
	X(ENDPOINT_TIME_NS, "time_ns", "ns", SUM, "time of all attempts", .counted_by = "attempts") \
	X(ENDPOINT_MAX_NS, "max_ns", "ns", MAX, "the longest attempt", .counted_by = "attempts") \
	/* In the order of enum request_fault, without the first. */ \
	X(ENDPOINT_CONNECT, "connect", "", SUM, "failures: no connection") \
	X(ENDPOINT_TLS, "tls", "", SUM, "failures: certificate or handshake") \
	X(ENDPOINT_TIMEOUT, "timeout", "", SUM, "failures: no first byte in time") \
	X(ENDPOINT_STALL, "stall", "", SUM, "failures: bytes stopped coming") \
	X(ENDPOINT_BROKEN, "broken", "", SUM, "failures: the connection ended too early") \
	X(ENDPOINT_THROTTLE, "throttle", "", SUM, "failures: asked to come back later") \
	X(ENDPOINT_SERVER, "server", "", SUM, "failures: an error of the store's own") \
	X(ENDPOINT_DENIED, "denied", "", SUM, "failures: keys, tokens, permissions, clocks") \
	X(ENDPOINT_MISSING, "missing", "", SUM, "failures: not there") \
	X(ENDPOINT_OTHER, "other", "", SUM, "failures: all else")
/* clang-format on */

enum endpoint_measure { ENDPOINT_LIST(MEASURE_ENUM) ENDPOINT_MEASURES };
enum { ENDPOINT_FAULTS = ENDPOINT_CONNECT };

extern const struct table_kind endpoint_table;

/* Adds what was counted to the endpoint's row of such a table. Does nothing where there is no
 * memory for a row. */
void endpoint_counts_add(const struct endpoint_counts *counts, const char *name, struct table *t);

#endif
