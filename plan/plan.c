/* SPDX-License-Identifier: Apache-2.0 */
/* Plan of a job: see plan.h. */
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/numbers.h"
#include "workloads/dataset/dataset.h"

/* What a rank may need besides its buffers, above an empty process with MPI and HDF5 (a bound set
 * by the design). */
enum { RANK_BYTES = 32 << 20 };

const struct job_schema *plan_schema(void)
{
	static const struct job_schema schema = {
		.stores = backend_sections,
		.dataset = &dataset_section,
		.phases = workload_sections,
	};

	return &schema;
}

static uint32_t plan_ranks_per_node(const struct plan *plan)
{
	return (plan->ranks + plan->nodes - 1) / plan->nodes;
}

/* Whether the phase runs on that one of all ranks. */
static bool plan_phase_has(const struct plan *plan, const struct job_phase *phase, uint32_t rank)
{
	const struct job_set *set = &phase->set;
	uint32_t number = set->nodes[0] ? rank / plan_ranks_per_node(plan) : rank;

	return !phase->together || number_set_has(&set->numbers, number);
}

/* Places of the ranks of a phase. Ranks fill one node after the other, as launchers place them by
 * default. */
static struct rank_place *places_make(const struct plan *plan, const struct job *job,
				      const struct job_phase *phase, struct err *err)
{
	uint32_t ranks = plan_phase_ranks(phase, plan->ranks);
	uint32_t *node_of = calloc((size_t)ranks + 1, sizeof(*node_of)), n = 0;
	struct rank_place *places = calloc((size_t)ranks + 1, sizeof(*places));
	int rc = node_of && places ? 0 : err_set(err, -ENOMEM, "no memory for %u places", ranks);

	for (uint32_t r = 0; rc == 0 && r < plan->ranks; r++)
		if (plan_phase_has(plan, phase, r))
			node_of[n++] = r / plan_ranks_per_node(plan);
	if (rc == 0)
		rc = plan_places(job, node_of, ranks, places, err);
	free(node_of);
	if (rc == 0)
		return places;
	free(places);
	return NULL;
}

static int plan_tell(struct plan *plan, const struct job *job, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < plan->phase_count; i++) {
		struct plan_phase *p = &plan->phases[i];
		const struct workload *workload = job->phases[i].section->owner;
		struct rank_place *places;

		if (!workload->tell)
			continue;
		p->told = (struct plan_told){0};
		places = places_make(plan, job, &job->phases[i], err);
		rc = places ? workload->tell(job, p->phase, places, p->ranks, &plan->arena,
					     &p->told, err)
			    : err->code;
		free(places);
	}
	return rc;
}

/* Memory of one rank of each phase that runs together with the phase, on the node with the
 * number. */
static uint64_t together_on_node(const struct plan *plan, const struct plan_phase *first,
				 uint32_t node)
{
	uint32_t per_node = plan_ranks_per_node(plan), rank = node * per_node;
	const struct plan_phase *end = plan->phases + plan->phase_count;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < per_node && rank < plan->ranks; i++, rank++)
		for (const struct plan_phase *p = first;
		     p < end && p->phase->together == first->phase->together; p++)
			if (plan_phase_has(plan, p->phase, rank))
				bytes += p->demand.memory_per_rank;
	return bytes;
}

/* Buffers on the node that has most of them, while the phase runs, with those that run together
 * with it. */
static uint64_t plan_phase_memory(const struct plan *plan, const struct plan_phase *p)
{
	uint64_t most = 0;

	if (!p->phase->together)
		return p->demand.memory_per_rank * plan_ranks_per_node(plan) -
		       p->demand.memory_uneven;
	for (uint32_t node = 0; node < plan->nodes; node++)
		most = max_u64(most, together_on_node(plan, p, node));
	return most;
}

static int plan_make_phase(struct plan *plan, const struct job *job, struct plan_phase *p,
			   struct err *err)
{
	const struct workload *workload = p->phase->section->owner;
	const struct job_set *set = p->phase->together ? &p->phase->set : NULL;
	int rc;

	p->ranks = plan_phase_ranks(p->phase, plan->ranks);
	p->ranks_per_node = plan_phase_per_node(p->phase, plan->ranks, plan->nodes);
	p->nodes = set ? set->node_count : plan->nodes;
	rc = workload->size(job, p->phase, p->ranks, p->ranks_per_node, &p->demand, err);
	return rc < 0 ? rc
		      : plan_phase_space(job, p->phase, plan->ranks, plan->nodes, &p->demand,
					 p->stores, &p->store_count, err);
}

int plan_make(struct plan *plan, const struct job *job, uint32_t ranks, uint32_t nodes,
	      struct err *err)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t most = 0;
	int rc = 0;

	*plan = (struct plan){.ranks = ranks, .nodes = nodes, .phase_count = job->phase_count};
	if (pages > 0 && page > 0)
		plan->node_memory_bytes = (double)pages * (double)page;
	if (job->cluster.memory) {
		plan->node_memory_bytes = (double)job->cluster.memory;
		plan->node_memory_told = true;
	}
	plan->phases = calloc(job->phase_count ? job->phase_count : 1, sizeof(*plan->phases));
	if (!plan->phases)
		return err_set(err, -ENOMEM, "no memory for the plan of %u phases",
			       job->phase_count);
	for (uint32_t i = 0; i < job->phase_count; i++)
		plan->phases[i].phase = &job->phases[i];
	for (uint32_t i = 0; rc == 0 && i < job->phase_count; i++)
		rc = plan_make_phase(plan, job, &plan->phases[i], err);
	for (uint32_t i = 0; rc == 0 && i < job->phase_count; i++)
		most = max_u64(most, plan_phase_memory(plan, &plan->phases[i]));
	if (rc == 0)
		rc = plan_tell(plan, job, err);
	if (rc < 0) {
		plan_free(plan);
		return rc;
	}
	plan->memory_bytes_per_node = most + (uint64_t)RANK_BYTES * plan_ranks_per_node(plan);
	return 0;
}

void plan_free(struct plan *plan)
{
	arena_free(&plan->arena);
	free(plan->phases);
	plan->phases = NULL;
	plan->phase_count = 0;
}
