/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the number of ranks: the sets of phases that run together, and the number of
 * files of data sets that grow with the run. See plan.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/proc.h"
#include "core/units.h"
#include "plan/plan.h"
#include "workloads/dataset/dataset.h"

uint32_t plan_phase_ranks(const struct job_phase *phase, uint32_t ranks)
{
	return phase->together ? phase->set.rank_count : ranks;
}

/* Refuses numbers that nothing has. */
static int sets_check_bounds(const struct job_phase *phase, uint32_t count, struct err *err)
{
	const char *unit = phase->set.nodes[0] ? "node" : "rank";
	uint32_t last = number_set_last(&phase->set.numbers);

	if (last < count)
		return 0;
	if (count == 1)
		return err_set(err, -EINVAL, "%s/%ss: names %s %u; there is only %s 0", phase->path,
			       unit, unit, last, unit);
	return err_set(err, -EINVAL, "%s/%ss: names %s %u; there are %ss 0 to %u", phase->path,
		       unit, unit, last, unit, count - 1);
}

/* Refuses sets that cannot be divided into groups of tensor and pipeline parallelism. */
static int sets_check_grid(const struct job *job, const struct job_phase *phase, struct err *err)
{
	uint64_t group = job->cluster.tensor * job->cluster.pipeline;
	char ranks[UNITS_COUNTED_BYTES];

	if (!group || phase->set.rank_count % group == 0)
		return 0;
	return err_set(err, -EINVAL, "%s/%s: %s %s not a multiple of tensor x pipeline = %llu",
		       phase->path, phase->set.nodes[0] ? "nodes" : "ranks",
		       units_counted(ranks, phase->set.rank_count, "rank"),
		       phase->set.rank_count == 1 ? "is" : "are", (unsigned long long)group);
}

/* Ranks fill one node after the other, as launchers place them by default. */
static void sets_count(struct job_set *set, uint32_t ranks, uint32_t per_node)
{
	uint32_t here = 0;

	set->rank_count = set->ranks_per_node = set->node_count = 0;
	for (uint32_t r = 0; r < ranks; r++) {
		if (r % per_node == 0)
			here = 0;
		if (!number_set_has(&set->numbers, set->nodes[0] ? r / per_node : r))
			continue;
		set->rank_count++;
		set->node_count += here == 0;
		if (++here > set->ranks_per_node)
			set->ranks_per_node = here;
	}
}

/* The number of the entry of "phases" that the phase is: phases that do not run together each have
 * one of their own. */
static uint32_t sets_entry(const struct job_phase *phase)
{
	return (uint32_t)strtoul(phase->path + strlen("/phases/"), NULL, 10);
}

/* A phase in which not all ranks take part has the first ones as its set, as if it stood alone in a
 * list of phases that run together. */
static int sets_take_part(struct job *job, struct job_phase *phase, struct err *err)
{
	struct job_together *alone = arena_alloc(&job->arena, sizeof(*alone));

	if (!alone)
		return err_set(err, -ENOMEM, "%s: no memory", phase->path);
	*alone = (struct job_together){.entry = sets_entry(phase), .after_ns = phase->after_ns};
	phase->together = alone;
	snprintf(phase->set.ranks, sizeof(phase->set.ranks), "0-%llu",
		 (unsigned long long)job->ranks - 1);
	return number_set_parse(&phase->set.numbers, phase->set.ranks, err);
}

/* The key "ranks" of the job. */
static int sets_limit(struct job *job, uint32_t ranks, struct err *err)
{
	int rc = 0;

	if (job->ranks > ranks)
		return err_set(err, -EINVAL, "/ranks: %llu ranks take part, but there %s only %u",
			       (unsigned long long)job->ranks, ranks == 1 ? "is" : "are", ranks);
	for (uint32_t i = 0; rc == 0 && job->ranks && i < job->phase_count; i++) {
		struct job_phase *phase = &job->phases[i];
		const struct workload *workload = phase->section->owner;

		if (!phase->together && !workload->generating)
			rc = sets_take_part(job, phase, err);
	}
	return rc;
}

int plan_sets(struct job *job, uint32_t ranks, uint32_t nodes, struct err *err)
{
	uint32_t per_node = nodes ? (ranks + nodes - 1) / nodes : 1;
	int rc = ranks && nodes ? sets_limit(job, ranks, err) : 0;

	for (uint32_t i = 0; rc == 0 && ranks && nodes && i < job->phase_count; i++) {
		struct job_phase *phase = &job->phases[i];
		const struct workload *workload = phase->section->owner;

		if (!phase->together)
			continue;
		rc = sets_check_bounds(phase, phase->set.nodes[0] ? nodes : ranks, err);
		sets_count(&phase->set, ranks, per_node);
		if (rc == 0)
			rc = sets_check_grid(job, phase, err);
		if (rc == 0 && phase->together->alone && workload->generating)
			rc = err_set(
				err, -EINVAL,
				"/phases/%u/alone: %s makes data, which it does only once; run it "
				"before",
				phase->together->entry, phase->name);
	}
	return rc;
}

/* As many ranks as a phase's data set is made for. The key "ranks" leaves it as all ranks have it, so
 * that a search makes it once for all values; phases of a list have sets of their own. */
static uint32_t scale_ranks(const struct job *job, const struct job_phase *phase, uint32_t ranks)
{
	return job->ranks && !strstr(phase->path, "/together/") ? ranks
								: plan_phase_ranks(phase, ranks);
}

/* Samples of a step of the phases that read the data set; 0: none does, or its size does not depend
 * on them. All must agree. */
static int scale_step_samples(const struct job *job, const struct job_dataset *dataset,
			      uint32_t ranks, const char *path, uint64_t *out, struct err *err)
{
	const struct dataset_options *options = dataset->options;

	*out = 0;
	for (uint32_t i = 0; options->steps_per_epoch && i < job->phase_count; i++) {
		const struct job_phase *phase = &job->phases[i];
		const struct workload *workload = phase->section->owner;
		uint64_t samples = workload->step_samples
					   ? workload->step_samples(job, phase, dataset,
								    scale_ranks(job, phase, ranks))
					   : 0;

		if (samples && *out && samples != *out)
			return err_set(err, -EINVAL,
				       "%s/steps_per_epoch: phases with different batches train on "
				       "this data set; give files or files_per_rank",
				       path);
		if (samples)
			*out = samples;
	}
	return 0;
}

/* The memory of all nodes, where the job has a data set that is sized by it; else 0. What the job
 * does not say is that of this node, and stands in the job from then on: where its results are read
 * it may be another. */
static uint64_t scale_memory(struct job *job, uint32_t nodes)
{
	uint64_t memories = 0;

	for (uint32_t i = 0; i < job->dataset_count; i++) {
		const struct dataset_options *options = job->datasets[i].options;

		memories = max_u64(memories, options->memories);
	}
	if (memories && !job->cluster.memory)
		job->cluster.memory = proc_memory_bytes("MemTotal");
	return memories ? job->cluster.memory * nodes : 0;
}

/* Data sets as that many ranks and nodes have them. */
static int scale_datasets(struct job *job, uint32_t ranks, uint32_t nodes, struct err *err)
{
	uint64_t memory = scale_memory(job, nodes);
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < job->dataset_count; i++) {
		struct job_dataset *dataset = &job->datasets[i];
		char path[DATASET_PATH_BYTES];
		uint64_t samples;

		dataset_path(dataset, path);
		rc = scale_step_samples(job, dataset, ranks, path, &samples, err);
		if (rc == 0)
			rc = dataset_scale(dataset->options, ranks, samples, memory, path, err);
	}
	return rc;
}

int plan_scale(struct job *job, uint32_t ranks, uint32_t nodes, struct err *err)
{
	int rc = plan_sets(job, ranks, nodes, err);

	return rc < 0 ? rc : scale_datasets(job, ranks, nodes, err);
}

int plan_scale_any(struct job *job, uint32_t ranks, uint32_t nodes, struct err *err)
{
	uint32_t per_node = (ranks + nodes - 1) / nodes;

	for (uint32_t i = 0; i < job->phase_count; i++) {
		const struct job_set *set = &job->phases[i].set;
		uint32_t last;

		if (!job->phases[i].together)
			continue;
		last = number_set_last(&set->numbers);
		ranks = max_u32(ranks, set->nodes[0] ? (last + 1) * per_node : last + 1);
	}
	for (uint32_t i = 0; i < job->phase_count; i++)
		if (job->phases[i].together)
			sets_count(&job->phases[i].set, ranks, per_node);
	return scale_datasets(job, ranks, nodes, err);
}

int plan_size(struct job *job, const struct plan_asked *asked, uint32_t *ranks, uint32_t *nodes,
	      struct err *err)
{
	uint64_t all, on = asked->nodes ? asked->nodes : max_u64(asked->known_nodes, 1);

	if (asked->ranks_per_node)
		job->cluster.ranks_per_node = asked->ranks_per_node;
	if (asked->memory)
		job->cluster.memory = asked->memory;
	all = on * max_u64(job->cluster.ranks_per_node, 1);
	if (!asked->nodes && !asked->ranks_per_node)
		all = max_u64(all, max_u64(job->cluster.ranks, asked->known_ranks));
	if (all > UINT32_MAX)
		return err_set(err, -EINVAL, "--nodes: %llu ranks are too many",
			       (unsigned long long)all);
	*ranks = (uint32_t)all;
	*nodes = (uint32_t)on;
	return 0;
}
