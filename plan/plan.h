/* The plan: who does what. The same code under MPI (rank 0) and for `haul plan` (any number of
 * ranks, nothing measured). No MPI here, constant memory but for one place a rank. */
#ifndef HAUL_PLAN_PLAN_H
#define HAUL_PLAN_PLAN_H

#include "core/job/job.h"
#include "core/rank_place.h"
#include "workloads/workload.h"

/* Everything a job may hold, assembled from the tables of backends and workloads. */
const struct job_schema *plan_schema(void);

/* Sets the number of files of data sets that grow with the number of ranks (files_per_rank, steps_per_epoch). Before all
 * else that asks for the job's data sets. */
int plan_scale(struct job *job, uint32_t ranks, struct err *err);

/* Refuses, in a sentence with the JSON path, what the job asks and these ranks, stores or formats
 * cannot give: unknown stores and data sets, missing capabilities, fewer ranks than tensor x
 * pipeline or than cluster.ranks, no phases or zero steps (strict: a run; else a note). Opens
 * nothing. */
int plan_check(const struct job *job, uint32_t ranks, uint32_t nodes, bool strict, struct err *err);

/* Refuses, with the phase's path, what does not fit on its stores: more bytes or inodes than are free there. Looks at
 * file systems from this machine; what cannot be told, or was begun before, is not refused. */
int plan_check_space(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     struct err *err);

/* The stores that a phase works on. */
int plan_phase_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);

/* Places for ranks whose node indices are node_of[0..ranks): local ranks are counted in rank order.
 * out[ranks]. */
int plan_places(const struct job *job, const uint32_t *node_of, uint32_t ranks,
		struct rank_place *out, struct err *err);

struct plan_phase {
	const struct job_phase *phase;
	struct demand demand;
	uint32_t store_count;
	struct phase_store stores[PHASE_STORES_MAX];
	struct plan_told told; /* what the workload says beside its demand */
};
struct plan {
	uint32_t ranks, nodes, phase_count;
	struct arena arena; /* of what workloads tell */
	struct plan_phase *phases;
	uint64_t memory_bytes_per_node; /* of haul's buffers */
	double node_memory_bytes;       /* that a node has: this one's, unless told; 0: not known */
	bool node_memory_told;
	uint64_t other_ranks_per_node; /* the job's, where the plan is for others; 0: the same */
};
int plan_make(struct plan *plan, const struct job *job, uint32_t ranks, uint32_t nodes,
	      struct err *err);
void plan_free(struct plan *plan);

/* For people (experience.md, "Before a large run") and for programs (design.md, section 5). */
char *plan_text(const struct plan *plan, const struct job *job);
char *plan_json(const struct plan *plan, const struct job *job);

#endif
