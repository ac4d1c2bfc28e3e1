#include "core/measure/endpoints.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct measure measures[] = {
	{"requests", "", MERGE_SUM, "requests on the wire"},
	{"attempts", "", MERGE_SUM, "attempts at operations; one may need several requests"},
	{"failures", "", MERGE_SUM, "attempts that failed, whatever became of the operation"},
	{"bytes", "bytes", MERGE_SUM, "bytes of objects that attempts brought further: goodput"},
	{"wire_bytes", "bytes", MERGE_SUM,
	 "bytes moved both ways, heads and failed attempts included"},
	{"connections", "", MERGE_SUM, "connections made"},
	{"time_ns", "ns", MERGE_SUM, "time of all attempts"},
	{"max_ns", "ns", MERGE_MAX, "the longest attempt"},
	{"connect", "", MERGE_SUM, "failures: no connection"},
	{"tls", "", MERGE_SUM, "failures: certificate or handshake"},
	{"timeout", "", MERGE_SUM, "failures: no first byte in time"},
	{"stall", "", MERGE_SUM, "failures: bytes stopped coming"},
	{"broken", "", MERGE_SUM, "failures: the connection ended too early"},
	{"throttle", "", MERGE_SUM, "failures: asked to come back later"},
	{"server", "", MERGE_SUM, "failures: an error of the store's own"},
	{"denied", "", MERGE_SUM, "failures: keys, tokens, permissions, clocks"},
	{"missing", "", MERGE_SUM, "failures: not there"},
	{"other", "", MERGE_SUM, "failures: all else"},
};
_Static_assert(sizeof(measures) / sizeof(measures[0]) == ENDPOINT_MEASURES, "one row a measure");

static double mean_ns(const uint64_t *row)
{
	return row[ENDPOINT_ATTEMPTS]
		       ? (double)row[ENDPOINT_TIME_NS] / (double)row[ENDPOINT_ATTEMPTS]
		       : NAN;
}

static const struct figure figures[] = {
	{"mean_ns", "ns", mean_ns, "mean time of an attempt"},
};

const struct columns tally_endpoint_columns = {
	.measures = measures,
	.measure_count = ENDPOINT_MEASURES,
	.figures = figures,
	.figure_count = sizeof(figures) / sizeof(figures[0]),
};

uint64_t tally_latency_edge(unsigned i)
{
	if (i < 16)
		return i;
	if (i >= TALLY_LATENCIES)
		return UINT64_C(1) << 42;
	return (uint64_t)(8 + (i & 7)) << ((i >> 3) - 1);
}

struct tally_endpoint *tally_endpoint(struct tally *t, const char *name)
{
	struct tally_endpoint *list;

	for (uint32_t i = 0; i < t->endpoint_count; i++) {
		if (strcmp(t->endpoints[i].name, name) == 0)
			return &t->endpoints[i];
	}
	list = realloc(t->endpoints, (t->endpoint_count + 1) * sizeof(*list));
	if (!list)
		return NULL;
	t->endpoints = list;
	list += t->endpoint_count++;
	memset(list, 0, sizeof(*list));
	snprintf(list->name, sizeof(list->name), "%s", name);
	return list;
}

void tally_endpoint_merge(struct tally_endpoint *into, const struct tally_endpoint *from)
{
	tally_merge_row(&tally_endpoint_columns, into->row, from->row);
	for (unsigned i = 0; i < TALLY_STATUSES; i++)
		into->status[i] += from->status[i];
	for (unsigned i = 0; i < TALLY_LATENCIES; i++)
		into->latency[i] += from->latency[i];
}
