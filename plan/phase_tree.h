/* SPDX-License-Identifier: Apache-2.0 */
/* Trees that the rules of haul check are judged of, one for each phase of a job. Their facts are
 * what haul shows elsewhere, under the same names:
 *
 *	kind, name, seed, ranks, nodes, ranks_per_node, node_memory_bytes
 *	job		the phase's keys, as haul show gives them, in SI units
 *	dataset, store	those that the phase uses, likewise; scheme: of the store's URI
 *	plan		the phase, as haul plan --json has it
 *	whole		of the job: checkpoints_written, checkpoints_read, caches_before (the phase)
 *	needs		bytes_per_node (of a checkpoint), files_per_step, steps (for which MLPerf
 *			takes the files), files_of_memory (as large as the memory of all nodes);
 *			of a cache: memory_tier_bytes
 *	result		the phase, as haul report --json has it
 */
#ifndef HAUL_PLAN_PHASE_TREE_H
#define HAUL_PLAN_PHASE_TREE_H

#include "plan/plan.h"

struct cJSON;

/* For phase i of a job that is planned. The caller frees it with json_free. NULL: no memory.
 * job_json: the job's text (job_text), parsed; plan_json: plan_object, NULL: without what a plan
 * tells. memory: of a node, 0: unknown. */
struct cJSON *phase_tree_of(const struct job *job, const struct plan *plan,
			    const struct cJSON *job_json, const struct cJSON *plan_json, uint32_t i,
			    double memory);

/* Adds the checkpoints that all phases of the job write, and read. */
void phase_tree_checkpoints(const struct job *job, const struct cJSON *job_json, double *written,
			    double *read);

/* A model that is given by its numbers, as imports do, gets the name that rules know it by. keys: of a
 * phase. */
void phase_tree_name_model(struct cJSON *keys);

#endif
