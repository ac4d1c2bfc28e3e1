/* SPDX-License-Identifier: Apache-2.0 */
/* What a phase "kvcache" asks of the machine. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/units.h"
#include "workloads/kvcache/requests/steps.h"
#include "workloads/kvcache/run.h"
#include "workloads/kvcache/serving/layout.h"
#include "workloads/kvcache/serving/server.h"

/* How many entries of average size a tier with that capacity has; 0: that is not known. */
static uint64_t size_entries(const struct kv_setup *s, uint64_t capacity)
{
	uint64_t tokens = 0, bytes;

	if (s->slots)
		return 1;
	if (s->buckets && capacity != KV_UNLIMITED)
		return 2 * (capacity / kv_bucket_whole(s->buckets, s->entry_bytes_most));
	if (s->options->profile == KV_PROFILE_SERVING && capacity != KV_UNLIMITED)
		return capacity / s->entry_bytes_most;
	if (capacity == KV_UNLIMITED || s->source.arrivals.file[0] || !s->source.template_count)
		return 0;
	for (uint32_t i = 0; i < s->source.template_count; i++)
		tokens +=
			(s->source.templates[i].context_min + s->source.templates[i].context_max) /
			2;
	bytes = kv_model_shard_most(&s->model, tokens / s->source.template_count, s->tensor);
	return bytes ? capacity / bytes + 1 : 0;
}

/* As accelerators are spoken of: "1,128 GB", not "1.13 TB". */
static const char *size_gigabytes(char text[UNITS_TEXT_BYTES], double bytes)
{
	uint64_t gb = (uint64_t)(bytes / 1e9);

	if (gb < 1000 || gb >= 1000000)
		return units_bytes_decimal(text, bytes);
	snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 ",%03" PRIu64 " GB", gb / 1000, gb % 1000);
	return text;
}

/* Whether the last tier has no capacity in the options, and takes what is free when the phase
 * begins. */
static bool size_takes_free(const struct kv_setup *s)
{
	const struct kv_tier_place *last = &s->tiers[s->tier_count - 1];
	const struct backend_ops *ops = s->stores[last->store]->section->owner;

	return !s->options->trace[0] && last->kind == KV_TIER_STORE && ops->space &&
	       s->rules[s->tier_count - 1].capacity == KV_UNLIMITED;
}

/* "the tier "nvme" of a node: 500 GB" */
static void size_note_shared(struct demand *out, const struct kv_setup *s, uint32_t k)
{
	static const char *const whose[] = {[KV_SHARED_GROUP] = "a tensor group",
					    [KV_SHARED_NODE] = "a node",
					    [KV_SHARED_ALL] = "all ranks"};
	const struct kv_tier_place *tier = &s->tiers[k];
	char all[UNITS_TEXT_BYTES];
	const char *has = size_takes_free(s) ? "95 % of what is free" : "no limit";

	if (tier->capacity != KV_UNLIMITED)
		has = size_gigabytes(all, (double)tier->capacity);
	demand_note(out, "the tier \"%.28s\" of %s: %.20s", tier->name, whose[tier->shared], has);
}

/* "the tier "gpu" of a tensor group: 8 x 141 GB = 1,128 GB" */
static void size_note_group(struct demand *out, const struct kv_setup *s)
{
	char one[UNITS_TEXT_BYTES], all[UNITS_TEXT_BYTES];

	for (uint32_t k = 0; k < s->tier_count; k++) {
		uint64_t capacity = s->rules[k].capacity;

		if (s->tiers[k].shared != KV_SHARED_NO) {
			size_note_shared(out, s, k);
			continue;
		}
		if (capacity == KV_UNLIMITED || s->tensor == 1)
			continue;
		demand_note(out,
			    "the tier \"%.28s\" of a tensor group: %" PRIu64 " x %.16s = %.16s",
			    s->tiers[k].name, s->tensor, size_gigabytes(one, (double)capacity),
			    size_gigabytes(all, (double)capacity * (double)s->tensor));
	}
}

static void size_note_space(struct demand *out, const struct kv_setup *s)
{
	const struct kv_tier_place *last = &s->tiers[s->tier_count - 1];

	if (!size_takes_free(s) || last->shared != KV_SHARED_NO)
		return;
	demand_note(
		out,
		"the ranks share 95 %% of what is free, less the capacities of other tiers there, for the tier \"%.28s\"",
		last->name);
}

/* The ranks of a node are known here; where launchers place them otherwise, the run finds it. */
static int size_check_node(const struct kv_setup *s, const struct job_phase *phase, uint32_t ranks,
			   uint32_t ranks_per_node, struct err *err)
{
	char node[UNITS_COUNTED_BYTES];

	if (s->options->trace[0] || ranks <= ranks_per_node || ranks_per_node % s->tensor == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "%s: a tensor group must be on one node, but the %s of a node are not a "
		       "multiple of tensor = %" PRIu64,
		       phase->path, units_counted(node, ranks_per_node, "rank"), s->tensor);
}

/* Layers with a window keep no more of a longer sequence than its last tokens. */
static void size_note_token(struct demand *out, const struct model *m)
{
	uint64_t token = kv_model_token_bytes(m);

	if (m->window_layers)
		demand_note(out,
			    "a token of the model has %" PRIu64
			    " bytes of keys and values, and %" PRIu64
			    " behind the window of %" PRIu64 " tokens",
			    token, kv_model_further_bytes(m), m->window);
	else
		demand_note(out, "a token of the model has %" PRIu64 " bytes of keys and values",
			    token);
}

static void size_note_buckets(struct demand *out, const struct kv_setup *s)
{
	uint64_t capacity = s->rules[0].capacity;

	demand_note(out, "a bucket has %" PRIu32 " blocks in %" PRIu64 " bytes",
		    kv_bucket_blocks(s->buckets, s->entry_bytes_most), s->object_bytes_most);
	if (capacity != KV_UNLIMITED)
		demand_note(out, "a rank has at most %" PRIu64 " buckets, each with its .meta",
			    capacity / kv_bucket_whole(s->buckets, s->entry_bytes_most));
}

static const char *const size_starts[] = {
	[KV_START_NOTHING] = "reads nothing, since lookups ask the store",
	[KV_START_EMPTY] = "finds nothing of what it has written",
	[KV_START_FOLDER] = "lists the folder and asks for the size of each block in it",
	[KV_START_SLOTS] = "reads its index and the header of each slot",
	[KV_START_BUCKETS] = "lists its folder and reads the .meta of each bucket"};

int kvcache_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct kvcache_options *o = phase->options;
	char recorded[ARRIVALS_TEXTS][ARRIVALS_TEXT_BYTES] = {""};
	struct kv_setup s;
	int rc = kv_setup_of(job, phase, &s, err);

	if (rc == 0)
		rc = size_check_node(&s, phase, ranks, ranks_per_node, err);
	if (rc == 0)
		rc = kv_source_tell(&s.source, phase->path, recorded, err);
	if (rc < 0)
		return rc;
	/* The plan of the profile serving has the blocks that a trace names. */
	for (int i = 0; i < ARRIVALS_TEXTS; i++)
		if (recorded[i][0] && (i != 1 || o->profile != KV_PROFILE_SERVING))
			demand_note(out, "%s", recorded[i]);
	out->seconds = (double)o->duration_ns / 1e9;
	out->seconds_limit = out->seconds;
	/* A trace moves no byte, so its tiers have no memory. */
	out->memory_per_rank =
		(o->trace[0] ? 0 : s.memory) + s.source.users_most * sizeof(struct kv_user) +
		s.served * sizeof(struct kv_served) + o->threads * kv_worker_bytes(&s);
	if (s.servers_share)
		out->memory_per_rank += kv_shared_bytes(s.shared_entries) /
					(ranks < ranks_per_node ? ranks : ranks_per_node);
	size_note_group(out, &s);
	size_note_space(out, &s);
	size_note_token(out, &s.model);
	if (s.slots)
		demand_note(out, "the file of a rank has %" PRIu64 " slots of %" PRIu64 " bytes",
			    kv_slots_count(s.slots, s.rules[0].capacity, s.entry_bytes_most),
			    kv_slot_bytes(s.slots, s.entry_bytes_most));
	if (s.buckets)
		size_note_buckets(out, &s);
	if (s.looks_before_writes && o->serving.restart_ns)
		demand_note(out, "a server that starts anew %s",
			    size_starts[kv_layouts[o->serving.layout].start]);
	demand_note(out, "how many bytes are moved depends on how fast the stores are");
	if (o->requests)
		demand_note(out, "the phase ends earlier, after its number of requests");
	return 0;
}

/* How many tiers there are of one in the list: of ranks, of groups, of nodes as far as the job says
 * how many ranks they have, or one. */
static uint64_t size_owners(const struct job *job, const struct kv_setup *s, uint32_t k,
			    uint32_t ranks)
{
	uint64_t node = job->cluster.ranks_per_node ? job->cluster.ranks_per_node : ranks;

	switch (s->tiers[k].shared) {
	case KV_SHARED_GROUP:
		return ranks / s->tensor;
	case KV_SHARED_NODE:
		return (ranks + node - 1) / node;
	case KV_SHARED_ALL:
		return 1;
	case KV_SHARED_NO:
		break;
	}
	return ranks;
}

int kvcache_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		   struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	const struct kvcache_options *o = phase->options;
	struct kv_setup s;
	int rc = kv_setup_of(job, phase, &s, err);

	for (uint32_t i = 0; rc == 0 && i < s.store_count; i++) {
		const struct backend_ops *ops = s.stores[i]->section->owner;
		struct phase_store *p = NULL;
		uint64_t owners, shards;

		for (uint32_t k = 0; k < s.tier_count; k++) {
			if (s.tiers[k].kind != KV_TIER_STORE || s.tiers[k].store != i)
				continue;
			if (!p)
				p = phase_store_add(out, count, s.tiers[k].name, s.stores[i]);
			if (o->trace[0] || !(ops->capabilities & BACKEND_CONTENT) ||
			    s.rules[k].capacity == KV_UNLIMITED)
				continue;
			owners = size_owners(job, &s, k, ranks);
			shards = s.tiers[k].shared == KV_SHARED_NO ? 1 : s.tensor;
			p->space_bytes += (double)s.tiers[k].capacity * (double)owners;
			p->inodes += size_entries(&s, s.rules[k].capacity) * owners * shards;
		}
		if (!p || o->trace[0])
			continue;
		p->needs = BACKEND_RANGES | BACKEND_WRITES | (s.slots ? BACKEND_UPDATE : 0);
		if (o->serving.restart_ns && kv_layouts[o->serving.layout].listed)
			p->needs |= BACKEND_LIST;
		p->depth = o->depth;
		p->depth_option = "depth";
		p->verifies = o->verify == VERIFY_FULL;
	}
	return rc;
}

int kvcache_tell(const struct job *job, const struct job_phase *phase,
		 const struct rank_place *places, uint32_t ranks, struct arena *arena,
		 struct plan_told *out, struct err *err)
{
	const struct kvcache_options *o = phase->options;
	struct kv_setup setup;
	struct kv_demand user;
	int rc = kv_setup_of(job, phase, &setup, err);

	(void)places;
	(void)ranks;
	if (rc < 0)
		return rc;
	if (o->profile == KV_PROFILE_SERVING)
		return kv_server_tell(&setup, job->seed, phase->path, arena, out, err);
	rc = kv_demand_of(&setup.source, &setup.model, job->seed, o->duration_ns, phase->path,
			  &user, err);
	if (rc < 0)
		return rc;
	plan_total_add(out, "token_bytes", "bytes", (double)kv_model_token_bytes(&setup.model));
	if (setup.model.window_layers)
		plan_total_add(out, "token_bytes_behind_window", "bytes",
			       (double)kv_model_further_bytes(&setup.model));
	if (user.request) {
		plan_total_add(out, "user_reads_per_second", "bytes", user.read);
		plan_total_add(out, "user_writes_per_second", "bytes", user.written);
		plan_total_add(out, "request_bytes_p95", "bytes", (double)user.request);
	}
	return 0;
}
