/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual store: a store of the job in virtual time, for all ranks. What it answers when is the model of
 * sim:// (backends/sim/model.h), here with the servers of all nodes in one place, so that nodes compete.
 * Belongs to the thread of its engine. */
#ifndef HAUL_SIMULATE_VIRTUAL_STORE_H
#define HAUL_SIMULATE_VIRTUAL_STORE_H

#include "backends/sim/model.h"
#include "core/job/job.h"
#include "core/rank_place.h"

struct virtual_store {
	const struct job_store *described;
	const struct sim_options *options;
	struct sim_law law;
	_Atomic uint64_t metadata_ns, *server_ns, *node_ns, *rank_ns;
	uint64_t *rank_rates;
	const struct rank_place *places;
};

/* places: [ranks] of all ranks, which live as long. nodes: of them. */
int virtual_store_open(struct virtual_store *s, const struct job_store *described,
		       const struct sim_options *options, const struct rank_place *places,
		       uint32_t ranks, uint32_t nodes, uint64_t seed, struct err *err);
void virtual_store_close(struct virtual_store *s);

/* A request of a rank (its number in the run) that arrives at arrival_ns, which is never before that
 * of the request before. */
void virtual_store_ask(struct virtual_store *s, uint32_t rank, const struct sim_ask *ask,
		       struct sim_answer *answer);

/* Whether draws depend on the keys of objects. */
static inline bool virtual_store_draws(const struct virtual_store *s)
{
	return s->law.draws;
}

#endif
