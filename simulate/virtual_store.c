/* SPDX-License-Identifier: Apache-2.0 */
/* A store of the job in virtual time: see virtual_store.h. */
#include "simulate/virtual_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int virtual_store_open(struct virtual_store *s, const struct job_store *described,
		       const struct sim_options *options, const struct rank_place *places,
		       uint32_t ranks, uint32_t nodes, uint64_t seed, struct err *err)
{
	*s = (struct virtual_store){.described = described, .options = options, .places = places};
	sim_law_make(&s->law, options, seed, 1);
	s->server_ns = calloc(options->servers ? options->servers : 1, sizeof(*s->server_ns));
	s->node_ns = calloc(nodes, sizeof(*s->node_ns));
	s->rank_ns = calloc(ranks, sizeof(*s->rank_ns));
	s->rank_rates = calloc(ranks, sizeof(*s->rank_rates));
	if (!s->server_ns || !s->node_ns || !s->rank_ns || !s->rank_rates) {
		virtual_store_close(s);
		return err_set(err, -ENOMEM, "no memory for a store of %u ranks", ranks);
	}
	for (uint32_t i = 0; i < ranks; i++)
		s->rank_rates[i] = sim_rank_rate(options, places[i].world_rank, nodes);
	return 0;
}

void virtual_store_close(struct virtual_store *s)
{
	free((void *)s->server_ns);
	free((void *)s->node_ns);
	free((void *)s->rank_ns);
	free(s->rank_rates);
	memset(s, 0, sizeof(*s));
}

void virtual_store_ask(struct virtual_store *s, uint32_t rank, const struct sim_ask *ask,
		       struct sim_answer *answer)
{
	const struct sim_servers servers = {s->server_ns, &s->metadata_ns,
					    &s->node_ns[s->places[rank].node], &s->rank_ns[rank]};
	struct sim_ask own = *ask;

	own.rank_bandwidth = s->rank_rates[rank];
	sim_serve(&s->law, &servers, &own, answer);
}
