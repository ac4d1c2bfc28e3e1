/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/graph.h"

#include <math.h>

#include "core/content/random.h"
#include "core/numbers.h"

static const uint64_t step_stream = 1, shift_stream = 2, query_stream = 3;
/* A step of that share of the ring spreads neighbours of a position most evenly. */
static const double golden = 0.6180339887498949;

static uint64_t graph_gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The inverse of a, which is prime to n, by Euclid. */
static uint64_t graph_inverse(uint64_t a, uint64_t n)
{
	int64_t x = 1, other = 0;
	uint64_t r = a, next = n;

	while (next) {
		uint64_t quotient = r / next, rest = r % next;
		int64_t y = x - (int64_t)quotient * other;

		r = next;
		next = rest;
		x = other;
		other = y;
	}
	return (uint64_t)(x < 0 ? x + (int64_t)n : x); /* its amount is below n */
}

/* The distance along the ring of the two neighbours number 2 i and 2 i + 1. */
static uint64_t graph_hop(const struct graph *g, uint64_t i)
{
	uint64_t near = max_u64(g->degree / 16, 1), far = (g->degree + 1) / 2 - near;
	double grows;

	if (i < near)
		return i + 1;
	grows = pow((double)g->n / 2 / (double)(near + 1), 1 / (double)max_u64(far - 1, 1));
	return (uint64_t)llround((double)(near + 1) * pow(grows, (double)(i - near)));
}

/* To go d along the ring adds d * step to an id. */
static void graph_ways(struct graph *g)
{
	for (uint64_t j = 0; j < g->degree; j++) {
		uint64_t way = graph_hop(g, j / 2) % g->n * g->step % g->n;

		g->way[j] = (uint32_t)(j & 1 && way ? g->n - way : way);
	}
}

void graph_init(struct graph *g, uint64_t n, uint64_t degree, uint64_t key, bool scattered)
{
	uint64_t spread = (uint64_t)((double)n * golden);

	*g = (struct graph){.n = n, .degree = degree, .key = key};
	if (scattered)
		g->step = (spread + random_at(key, step_stream, 0) % (n / 16 + 1)) % n;
	g->step = max_u64(g->step, 1);
	while (graph_gcd(g->step, n) != 1)
		g->step = g->step % n + 1;
	g->back = graph_inverse(g->step, n);
	g->shift = random_at(key, shift_stream, 0) % n;
	g->entry = graph_id(g, n / 2);
	graph_ways(g);
}

void graph_neighbours(const struct graph *g, uint64_t id, uint32_t *out)
{
	for (uint64_t j = 0; j < g->degree; j++) {
		uint64_t at = id + g->way[j];

		out[j] = (uint32_t)(at < g->n ? at : at - g->n);
	}
}

uint64_t graph_target(const struct graph *g, uint64_t q, double skew)
{
	double share = pow(random_unit(random_at(g->key, query_stream, q)), 1 / (1 - skew));

	return min_u64((uint64_t)(share * (double)g->n), g->n - 1);
}
