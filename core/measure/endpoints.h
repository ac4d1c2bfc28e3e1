/* What a phase's requests met at each way into its store: rows beside a tally, one an endpoint. */
#ifndef HAUL_CORE_MEASURE_ENDPOINTS_H
#define HAUL_CORE_MEASURE_ENDPOINTS_H

#include "core/measure/tally.h"

enum tally_endpoint_measure {
	ENDPOINT_REQUESTS,
	ENDPOINT_ATTEMPTS,
	ENDPOINT_FAILURES,
	ENDPOINT_BYTES,
	ENDPOINT_WIRE_BYTES,
	ENDPOINT_CONNECTIONS,
	ENDPOINT_TIME_NS,
	ENDPOINT_MAX_NS,
	ENDPOINT_FAULTS, /* the first of them, in the order of enum request_fault without the first */
	ENDPOINT_MEASURES = ENDPOINT_FAULTS + 10
};
extern const struct columns tally_endpoint_columns;

enum { TALLY_ENDPOINT_NAME_BYTES = 256, TALLY_STATUSES = 600, TALLY_LATENCIES = 320 };

/* Latencies of attempts: log-linear like core/measure/hist.h, but 8 sub-buckets an octave (<= 6.3 %), so that
 * thousands of endpoints fit. */
static inline unsigned tally_latency_bucket(uint64_t ns)
{
	unsigned m;

	if (ns < 16)
		return (unsigned)ns;
	if (ns >> 42)
		return TALLY_LATENCIES - 1;
	m = 63 - (unsigned)__builtin_clzll(ns);
	return ((m - 2) << 3) + (unsigned)((ns >> (m - 3)) & 7);
}
/* Lower edge of bucket i; of TALLY_LATENCIES the upper end. */
uint64_t tally_latency_edge(unsigned i);

struct tally_endpoint {
	char name[TALLY_ENDPOINT_NAME_BYTES];
	uint64_t row[ENDPOINT_MEASURES];
	uint64_t status[TALLY_STATUSES]; /* requests by protocol status; 0: no whole answer */
	uint64_t latency[TALLY_LATENCIES];
};

/* The tally's row of that name, made where there is none; NULL: no memory. */
struct tally_endpoint *tally_endpoint(struct tally *t, const char *name);

/* Adds from to into. */
void tally_endpoint_merge(struct tally_endpoint *into, const struct tally_endpoint *from);

#endif
