/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several kinds of phase share: see options.h. */
#include "workloads/common/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

enum { PACE_SHIFT = 24 };
const char *const pace_arrivals_names[] = {"paced", "constant", "poisson", NULL};

static const uint64_t pace_stream = 0x70616365; /* "pace" */

int pace_check(const struct pace_options *o, bool moves, const char *operation, const char *path,
	       struct err *err)
{
	if (o->bandwidth && !moves)
		return err_set(err, -EINVAL, "%s/bandwidth: %s moves no bytes; use rate", path,
			       operation);
	if (o->bandwidth && o->rate > 0)
		return err_set(err, -EINVAL, "%s/rate: use either rate or bandwidth", path);
	if (o->arrivals != ARRIVALS_PACED && !o->bandwidth && o->rate <= 0)
		return err_set(err, -EINVAL, "%s/arrivals: \"%s\" needs a rate or a bandwidth",
			       path, pace_arrivals_names[o->arrivals]);
	return 0;
}

double pace_rate(const struct pace_options *o, double operation_bytes)
{
	return o->bandwidth ? (double)o->bandwidth / operation_bytes : o->rate;
}

static uint64_t pace_intervals_ns(const struct pace *p, uint64_t count)
{
	return (uint64_t)((unsigned __int128)p->interval_q * count >> PACE_SHIFT);
}

void pace_init(struct pace *p, const struct pace_options *o, double operation_bytes, uint64_t seed,
	       uint64_t thread, uint64_t threads, uint64_t start_ns)
{
	double rate = pace_rate(o, operation_bytes);
	double interval_ns = rate > 0 ? 1e9 * (double)threads / rate : 0;

	*p = (struct pace){.limited = rate > 0,
			   .open_loop = o->arrivals != ARRIVALS_PACED,
			   .poisson = o->arrivals == ARRIVALS_POISSON,
			   .gap = {.kind = DRAW_EXPONENTIAL, .a = interval_ns},
			   .random = {.key = random_at(seed, pace_stream, thread)}};
	/* Even for the lowest rate a run sees at most one of these intervals of 2^39 ns. */
	p->interval_q = interval_ns < 0x1p39 ? (uint64_t)(interval_ns * (1 << PACE_SHIFT))
					     : (uint64_t)1 << (39 + PACE_SHIFT);
	p->base_ns = start_ns;
	if (p->limited)
		p->base_ns += p->poisson
				      ? draw_next(&p->gap, &p->random)
				      : (uint64_t)(interval_ns * (double)thread / (double)threads);
	p->next_ns = p->base_ns;
}

/* A Poisson gap is drawn here, between operations. It is the only place where a working thread
 * computes a logarithm, which takes some 10 ns. */
uint64_t pace_take(struct pace *p, uint64_t now_ns)
{
	uint64_t due_ns = p->next_ns;

	if (!p->limited)
		return 0;
	if (p->poisson) {
		p->next_ns += draw_next(&p->gap, &p->random);
		return due_ns;
	}
	if (!p->open_loop && now_ns > due_ns + pace_intervals_ns(p, 1)) {
		/* Time lost by a slow store is not made up for. */
		p->base_ns = now_ns;
		p->taken = 0;
	}
	p->next_ns = p->base_ns + pace_intervals_ns(p, ++p->taken);
	return p->open_loop ? due_ns : 0;
}

const char *const options_verify[] = {"none", "sampled", "full", NULL};
const char *const options_on_error[] = {"stop", "count", NULL};

const char *const shift_names[] = {"node", "rank", "none", NULL};

/* How many ranks find their own node when they go `shift` ranks further. */
static uint32_t shift_at_home(const uint32_t *nodes, uint32_t ranks, uint32_t shift)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ranks; i++)
		n += nodes[i] == nodes[(i + shift) % ranks];
	return n;
}

uint32_t shift_between(const uint32_t *nodes, uint32_t ranks, uint32_t node_count)
{
	uint32_t by_node = (ranks + node_count - 1) / node_count;

	return shift_at_home(nodes, ranks, by_node) <= shift_at_home(nodes, ranks, 1) ? by_node : 1;
}

int shift_rank(enum shift how, const struct rank_place *place, struct group *g, uint64_t *rank)
{
	uint32_t ranks = g->size, node = place->node, *nodes = NULL;
	uint64_t shift = how == SHIFT_RANK ? 1 : 0;
	int rc = 0;

	if (how == SHIFT_NODE && place->nodes > 1) {
		if (g->rank == 0)
			nodes = calloc(ranks, sizeof(*nodes));
		rc = group_agree(g, g->rank == 0 && !nodes ? -ENOMEM : 0, NULL);
		if (rc == 0)
			rc = group_gather(g, &node, sizeof(node), nodes);
		if (rc == 0 && nodes)
			shift = shift_between(nodes, ranks, place->nodes);
		free(nodes);
		if (rc == 0)
			rc = group_broadcast(g, &shift, sizeof(shift));
	}
	*rank = (g->rank + shift) % ranks;
	return rc;
}
