/* Plan of a job: see plan.h. */
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* What a rank may need besides its buffers, above an empty process with MPI and HDF5 (a bound set
 * by the design). */
enum { RANK_BYTES = 32 << 20 };

static double plan_node_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (double)pages * (double)page : 0;
}

/* Ranks fill one node after the other, as launchers place them by default. */
static struct rank_place *places_make(const struct plan *plan, const struct job *job,
				      struct err *err)
{
	uint32_t per_node = (plan->ranks + plan->nodes - 1) / plan->nodes;
	uint32_t *node_of = calloc(plan->ranks, sizeof(*node_of));
	struct rank_place *places = calloc(plan->ranks, sizeof(*places));
	int rc = node_of && places ? 0
				   : err_set(err, -ENOMEM, "no memory for %u places", plan->ranks);

	for (uint32_t r = 0; rc == 0 && r < plan->ranks; r++)
		node_of[r] = r / per_node;
	if (rc == 0)
		rc = plan_places(job, node_of, plan->ranks, places, err);
	free(node_of);
	if (rc == 0)
		return places;
	free(places);
	return NULL;
}

static int plan_tell(struct plan *plan, const struct job *job, struct err *err)
{
	struct rank_place *places = NULL;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < plan->phase_count; i++) {
		struct plan_phase *p = &plan->phases[i];
		const struct workload *workload = p->phase->section->owner;

		if (!workload->tell)
			continue;
		if (!places)
			places = places_make(plan, job, err);
		rc = places ? workload->tell(job, p->phase, places, plan->ranks, &plan->arena,
					     &p->told, err)
			    : err->code;
	}
	free(places);
	return rc;
}

int plan_make(struct plan *plan, const struct job *job, uint32_t ranks, uint32_t nodes,
	      struct err *err)
{
	uint32_t ranks_per_node = (ranks + nodes - 1) / nodes, i;
	uint64_t most = 0;
	int rc = 0;

	*plan = (struct plan){.ranks = ranks,
			      .nodes = nodes,
			      .phase_count = job->phase_count,
			      .node_memory_bytes = plan_node_memory()};
	plan->phases = calloc(job->phase_count ? job->phase_count : 1, sizeof(*plan->phases));
	if (!plan->phases)
		return err_set(err, -ENOMEM, "no memory for the plan of %u phases",
			       job->phase_count);
	for (i = 0; rc == 0 && i < job->phase_count; i++) {
		struct plan_phase *p = &plan->phases[i];
		const struct workload *workload = job->phases[i].section->owner;

		p->phase = &job->phases[i];
		rc = workload->size(job, p->phase, ranks, ranks_per_node, &p->demand, err);
		if (rc == 0)
			rc = plan_phase_stores(job, p->phase, ranks, p->stores, &p->store_count,
					       err);
		if (p->demand.memory_per_rank > most)
			most = p->demand.memory_per_rank;
	}
	if (rc == 0)
		rc = plan_tell(plan, job, err);
	if (rc < 0) {
		plan_free(plan);
		return rc;
	}
	plan->memory_bytes_per_node = (most + RANK_BYTES) * ranks_per_node;
	return 0;
}

void plan_free(struct plan *plan)
{
	arena_free(&plan->arena);
	free(plan->phases);
	plan->phases = NULL;
	plan->phase_count = 0;
}
