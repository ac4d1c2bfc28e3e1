/* SPDX-License-Identifier: Apache-2.0 */
/* Plan: which rank does what. The same code runs under MPI (on rank 0) and for `haul plan` (for any
 * number of ranks, with nothing measured). No MPI here. Memory is constant except for one place per
 * rank. */
#ifndef HAUL_PLAN_PLAN_H
#define HAUL_PLAN_PLAN_H

#include "core/job/job.h"
#include "core/rank_place.h"
#include "core/rule/class.h"
#include "core/rule/rule.h"
#include "workloads/workload.h"

/* Everything that a job may contain, assembled from the tables of backends and workloads. */
const struct job_schema *plan_schema(void);

/* How many ranks and nodes are planned for: what was asked for, else what the job says. 0: not asked
 * for. What was asked for stands in the job from then on. */
struct plan_asked {
	uint64_t nodes, ranks_per_node, memory;
	uint64_t known_nodes, known_ranks; /* where it was not asked for: of a run of the job */
};
int plan_size(struct job *job, const struct plan_asked *asked, uint32_t *ranks, uint32_t *nodes,
	      struct err *err);

/* Finds out how many ranks the sets of phases that run together have, where ranks fill the nodes
 * evenly. Refuses sets that name ranks or nodes that are not there. Before all else that asks for
 * the ranks of a phase. */
int plan_sets(struct job *job, uint32_t ranks, uint32_t nodes, struct err *err);

/* plan_sets, and the number of files of data sets that grow with the number of ranks
 * (files_per_rank, steps_per_epoch). Before all else that asks for the job's data sets. */
int plan_scale(struct job *job, uint32_t ranks, uint32_t nodes, struct err *err);
/* The same for what any number of ranks may do, such as to clean: as if there were all ranks and
 * nodes that sets name. */
int plan_scale_any(struct job *job, uint32_t ranks, uint32_t nodes, struct err *err);

/* How many of all ranks run the phase. All calls below take the number of all ranks. */
uint32_t plan_phase_ranks(const struct job_phase *phase, uint32_t ranks);

/* Refuses, in a sentence with the JSON path, what the job asks for and these ranks, stores or
 * formats cannot give: unknown stores and data sets, missing capabilities, fewer ranks than tensor
 * x pipeline or than cluster.ranks. Jobs without phases or with zero steps are refused for a run
 * (strict); else there is a note. Opens nothing. */
int plan_check(const struct job *job, uint32_t ranks, uint32_t nodes, bool strict, struct err *err);
/* Of these, what concerns stores and data sets alone, and that there are phases. */
int plan_check_places(const struct job *job, uint32_t nodes, bool strict, struct err *err);

/* Refuses, with the path of the phase, what does not fit on its stores: more bytes or inodes than
 * are free there. It asks file systems from this machine. What cannot be told, or was begun before,
 * is not refused. */
int plan_check_space(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     uint32_t nodes, struct err *err);

/* The stores that a phase uses; and the same with the space that it takes on each. demand: that of the phase; NULL: it is
 * asked for, which may take seconds. */
int plan_phase_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
int plan_phase_space(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     uint32_t nodes, const struct demand *demand,
		     struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
/* Ranks of the phase on a node that has most of them. */
uint32_t plan_phase_per_node(const struct job_phase *phase, uint32_t ranks, uint32_t nodes);

/* Places for ranks whose node indices are node_of[0..ranks). Local ranks are counted in the order
 * of ranks. out[ranks]. */
int plan_places(const struct job *job, const uint32_t *node_of, uint32_t ranks,
		struct rank_place *out, struct err *err);

/* Changes the place of a rank to that in a phase on some of the ranks: its number there, and its
 * number among those on its node. */
void plan_place_in(const struct job *job, struct rank_place *place, uint32_t rank, uint32_t ranks,
		   uint32_t local_rank, uint32_t local_ranks);

struct plan_phase {
	const struct job_phase *phase;
	uint32_t ranks, ranks_per_node, nodes; /* on which it runs; the most of them on a node */
	struct demand demand;
	uint32_t store_count;
	struct phase_store stores[PHASE_STORES_MAX];
	struct plan_told told; /* what the workload reports besides its demand */
	/* What it takes in results.h5. Told by whoever made the plan; 0: not told. */
	struct {
		uint64_t bytes, per_rank, per_node;
	} results;
};
/* Files that a phase makes with each GB of data; 0: it makes no data. */
static inline double plan_creates(const struct plan_phase *p)
{
	const struct workload *workload = p->phase->section->owner;

	return workload->generating && p->demand.bytes > 0
		       ? (double)p->demand.files * 1e9 / p->demand.bytes
		       : 0;
}

struct plan {
	uint32_t ranks, nodes, phase_count;
	struct arena arena; /* owns what workloads report */
	struct plan_phase *phases;
	uint64_t memory_bytes_per_node; /* for haul's buffers */
	double node_memory_bytes; /* memory of a node: of this one, unless given; 0: unknown */
	bool node_memory_told;
	/* Of a run that is over: what its stores hold today, or have free, is not looked at. */
	bool past;
	/* ranks per node of the job, where the plan is for another number; 0: the same */
	uint64_t other_ranks_per_node;
	/* Told by whoever made the plan: what an edition's rules ask of data sets, and classes. */
	struct rule_sizes sizes;
	uint64_t results_bytes, publication_bytes; /* 0: not told */
	uint32_t class_count;
	struct workload_class classes[CLASSES_MAX];
};
int plan_make(struct plan *plan, const struct job *job, uint32_t ranks, uint32_t nodes,
	      struct err *err);
void plan_free(struct plan *plan);

/* The plan as text for people and as JSON for programs; plan_object is the JSON before it is
 * printed, which the caller owns. */
struct cJSON;
char *plan_text(const struct plan *plan, const struct job *job);
char *plan_json(const struct plan *plan, const struct job *job);
struct cJSON *plan_object(const struct plan *plan, const struct job *job);

#endif
