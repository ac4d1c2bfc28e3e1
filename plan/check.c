/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a plan: what is refused before anything is opened. Each refusal names the JSON path of
 * the fault. See plan.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/node_block.h"
#include "core/units.h"
#include "plan/option_ref.h"
#include "plan/pin/list.h"
#include "plan/pin/pin.h"
#include "plan/plan.h"
#include "workloads/dataset/dataset.h"

static uint32_t check_ranks_per_node(uint32_t ranks, uint32_t nodes)
{
	return (ranks + nodes - 1) / nodes;
}

static int plan_check_cluster(const struct job *job, uint32_t ranks, uint32_t nodes,
			      struct err *err)
{
	const struct job_cluster *c = &job->cluster;
	uint64_t gpus = c->gpus ? c->gpus : check_ranks_per_node(ranks, nodes);
	char need[UNITS_COUNTED_BYTES];
	uint64_t group;

	if (!c->tensor || !c->pipeline)
		return err_set(err, -EINVAL, "/cluster/%s: must be at least 1, is 0",
			       c->tensor ? "pipeline" : "tensor");
	if (c->ranks > ranks)
		return err_set(err, -EINVAL, "/cluster/ranks: the job needs %s, there are %u",
			       units_counted(need, c->ranks, "rank"), ranks);
	if (c->tensor > gpus)
		return err_set(
			err, -EINVAL,
			"/cluster/tensor: is %llu, but a node has %s; plan with --ranks-per-node "
			"%llu, and start as many ranks on each node, or set cluster.gpus",
			(unsigned long long)c->tensor, units_counted(need, gpus, "accelerator"),
			(unsigned long long)c->tensor);
	if (c->pipeline > ranks || c->tensor * c->pipeline > ranks)
		return err_set(err, -EINVAL,
			       "/cluster: tensor %llu x pipeline %llu need at least %llu ranks, "
			       "there are %u",
			       (unsigned long long)c->tensor, (unsigned long long)c->pipeline,
			       (unsigned long long)(c->tensor * c->pipeline), ranks);
	group = c->tensor * c->pipeline;
	if (ranks % group)
		return err_set(err, -EINVAL,
			       "/cluster: %u ranks are not a multiple of tensor x pipeline = %llu; "
			       "use %llu or %llu",
			       ranks, (unsigned long long)group,
			       (unsigned long long)(ranks / group * group),
			       (unsigned long long)(ranks / group * group + group));
	if (c->ranks_per_node * nodes > ranks)
		return err_set(err, -EINVAL,
			       "/cluster/ranks_per_node: %llu on %u node%s need %llu ranks, "
			       "there are %u; --set cluster.ranks_per_node=%u uses those",
			       (unsigned long long)c->ranks_per_node, nodes, nodes == 1 ? "" : "s",
			       (unsigned long long)c->ranks_per_node * nodes, ranks, ranks / nodes);
	if (c->pin == PIN_LIST)
		return pin_list_set(c->cores, 0, check_ranks_per_node(ranks, nodes), NULL, err);
	return c->reserved_cores[0] ? pin_list_reserved(c->reserved_cores, NULL, err) : 0;
}

static const struct backend_ops *backend_of(const struct job_store *store)
{
	return store->section->owner;
}

/* A plan may be wanted where the variables of the run are not set. A run needs them. */
static int plan_check_uri(const char *uri, bool strict, struct err *err)
{
	char expanded[URI_BYTES];
	int rc = uri_expand(uri, NULL, expanded, err);

	return rc < 0 && !strict && strstr(uri, "${") ? 0 : rc;
}

static int plan_check_store(const struct job_store *store, uint32_t nodes, bool strict,
			    struct err *err)
{
	const struct backend_ops *ops = backend_of(store);
	const struct store_options *common = store->options;
	char path[JOB_NAME_BYTES + 16];
	uint32_t i;

	snprintf(path, sizeof(path), "/stores/%s", store->name);
	for (i = 0; i < common->uri.count; i++) {
		int rc = plan_check_uri(common->uri.items[i], strict, err);

		if (rc < 0)
			return err_wrap(err, rc, "%s/uri", path);
	}
	if (nodes > 1 && !(ops->capabilities & BACKEND_MANY_NODES))
		return err_set(err, -EINVAL, "%s: %s:// serves one node, the job runs on %u", path,
			       ops->scheme, nodes);
	return store_check(store, path, err);
}

static int plan_check_dataset(const struct job *job, const struct job_dataset *d, struct err *err)
{
	const struct dataset_options *options = d->options;
	char path[DATASET_PATH_BYTES];
	struct dataset dataset;

	dataset_path(d, path);
	if (options->store[0] && !job_find_store(job, options->store)) {
		const char *names[JOB_STORES_MAX + 1] = {NULL}, *near;
		uint32_t i;

		for (i = 0; i < job->store_count; i++)
			names[i] = job->stores[i].name;
		near = option_nearest(options->store, names);
		return err_set(err, -EINVAL, "%s/store: the job has no store \"%s\"%s%s%s", path,
			       options->store, near ? "; did you mean \"" : "", near ? near : "",
			       near ? "\"?" : "");
	}
	return dataset_init(&dataset, options, job->seed, path, err);
}

int plan_phase_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	const struct workload *workload = phase->section->owner;

	*count = 0;
	return workload->stores(job, phase, plan_phase_ranks(phase, ranks), out, count, err);
}

uint32_t plan_phase_per_node(const struct job_phase *phase, uint32_t ranks, uint32_t nodes)
{
	return phase->together ? phase->set.ranks_per_node : check_ranks_per_node(ranks, nodes);
}

int plan_phase_space(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     uint32_t nodes, const struct demand *demand,
		     struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	const struct workload *workload = phase->section->owner;
	int rc = plan_phase_stores(job, phase, ranks, out, count, err);
	struct demand own;

	for (uint32_t i = 0; rc == 0 && i < *count; i++) {
		if (!out[i].sized)
			continue;
		if (!demand) {
			own = (struct demand){0};
			rc = workload->size(job, phase, plan_phase_ranks(phase, ranks),
					    plan_phase_per_node(phase, ranks, nodes), &own, err);
			demand = &own;
		}
		out[i].space_bytes = demand->space_bytes;
		out[i].inodes = demand->inodes;
	}
	return rc;
}

static int plan_check_needs(const struct job_phase *phase, const struct phase_store *s,
			    struct err *err)
{
	const struct backend_ops *ops = backend_of(s->store);
	const struct backend_capability_words *words =
		backend_capability_lowest(s->needs & ~ops->capabilities);

	if (!words)
		return 0;
	return err_set(err, -EINVAL, "%s: store \"%s\" (%s://) %s, which this phase needs",
		       phase->path, s->store->name, ops->scheme, words->lacks);
}

/* The JSON path of a phase's option, in whichever of its tables the option is. */
static const char *option_path(const struct job_phase *phase, const char *name,
			       enum option_kind kind, struct option_ref *ref)
{
	return option_find(phase->section, phase->options, phase->path, name, kind, ref)
		       ? ref->path
		       : phase->path;
}

static int plan_check_depth(const struct job_phase *phase, const struct phase_store *s,
			    struct err *err)
{
	const struct backend_ops *ops = backend_of(s->store);
	uint32_t most = backend_depth(s->store);
	struct option_ref ref;
	const char *path = phase->path;

	if (s->depth <= most)
		return 0;
	if (s->depth_option)
		path = option_path(phase, s->depth_option, OPTION_U64, &ref);
	if (most <= 1)
		return err_set(err, -EINVAL,
			       "%s: is %llu, but store \"%s\" (%s://) works on one request at a "
			       "time; set it to 1, or use more workers%s",
			       path, (unsigned long long)s->depth, s->store->name, ops->scheme,
			       ops->depth_max > 1 ? " or another engine" : "");
	return err_set(err, -EINVAL,
		       "%s: is %llu, but store \"%s\" (%s://) takes at most %u requests at once",
		       path, (unsigned long long)s->depth, s->store->name, ops->scheme, most);
}

/* A store that keeps no content has nothing to verify. "full" would pass without verifying
 * anything. */
static int plan_check_verify(const struct job_phase *phase, const struct phase_store *s,
			     struct err *err)
{
	const struct backend_ops *ops = backend_of(s->store);
	struct option_ref ref;

	if (!s->verifies || ops->capabilities & BACKEND_CONTENT)
		return 0;
	return err_set(err, -EINVAL,
		       "%s: \"full\" needs bytes to verify, but store \"%s\" (%s://) keeps no "
		       "content; use \"none\"",
		       option_path(phase, "verify", OPTION_CHOICE, &ref), s->store->name,
		       ops->scheme);
}

static int plan_check_phase(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			    bool strict, struct err *err)
{
	const struct workload *workload = phase->section->owner;
	struct phase_store stores[PHASE_STORES_MAX];
	uint32_t count;
	int rc = plan_phase_stores(job, phase, ranks, stores, &count, err);

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		rc = plan_check_needs(phase, &stores[i], err);
		if (rc == 0)
			rc = plan_check_depth(phase, &stores[i], err);
		if (rc == 0)
			rc = plan_check_verify(phase, &stores[i], err);
	}
	if (rc < 0 || !workload->check)
		return rc;
	rc = workload->check(job, phase, plan_phase_ranks(phase, ranks), err);
	/* -ERANGE means fewer samples than one global batch. A plan for many ranks may still be
	 * wanted; its notes report this. */
	return rc == -ERANGE && !strict ? 0 : rc;
}

int plan_check_places(const struct job *job, uint32_t nodes, bool strict, struct err *err)
{
	int rc = 0;

	if (!job->phase_count && strict)
		return err_set(err, -EINVAL, "/phases: is empty; a run needs at least one phase");
	for (uint32_t i = 0; rc == 0 && i < job->store_count; i++)
		rc = plan_check_store(&job->stores[i], nodes, strict, err);
	if (rc == 0)
		rc = node_blocks_check(job->stores, job->store_count, err);
	for (uint32_t i = 0; rc == 0 && i < job->dataset_count; i++)
		rc = plan_check_dataset(job, &job->datasets[i], err);
	return rc;
}

int plan_check(const struct job *job, uint32_t ranks, uint32_t nodes, bool strict, struct err *err)
{
	char some[UNITS_COUNTED_BYTES], other[UNITS_COUNTED_BYTES];
	uint32_t i;
	int rc;

	if (!ranks || !nodes || nodes > ranks)
		return err_set(err, -EINVAL, "%s cannot run on %s",
			       units_counted(some, ranks, "rank"),
			       units_counted(other, nodes, "node"));
	rc = plan_check_cluster(job, ranks, nodes, err);
	if (rc == 0)
		rc = plan_check_places(job, nodes, strict, err);
	for (i = 0; rc == 0 && i < job->phase_count; i++)
		rc = plan_check_phase(job, &job->phases[i], ranks, strict, err);
	return rc;
}
