/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of a phase "kvcache" stand for, and the rules that an option table cannot
 * express. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/key.h"
#include "core/numbers.h"
#include "core/uri.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/kvcache/requests/prompts.h"
#include "workloads/kvcache/serving/layout.h"

enum {
	SETUP_CHUNK = 4 << 20,
	SETUP_CHUNK_LEAST = 4096,
	SETUP_CHUNK_MOST = 1 << 30,
	SETUP_TRACE_BLOCK = 512, /* tokens of a block of Mooncake's traces, the largest of all */
	SETUP_PATH_BYTES = 128
};

static const char *const setup_kinds[] = {
	[KV_TIER_STORE] = "store", [KV_TIER_CPU] = "cpu", [KV_TIER_GPU] = "gpu"};

/* The most that MLPerf's benchmark takes for a tier: 65,536 GiB of accelerators, 131,072 GiB of
 * memory. */
static const uint64_t setup_capacity_most[] = {[KV_TIER_STORE] = UINT64_MAX,
					       [KV_TIER_CPU] = UINT64_C(131072) << 30,
					       [KV_TIER_GPU] = UINT64_C(65536) << 30};

/* A tier of the options while it is checked. Whoever refuses it says for which key, and setup_tiers
 * adds the path. */
struct tier_check {
	uint32_t k;
	const char *key; /* NULL: the sentence has its path already */
	struct err *err;
};

static int setup_tier_store(struct kv_setup *s, const struct job *job,
			    const struct job_phase *phase, const char *name, struct tier_check *c)
{
	const struct job_store *store = NULL;
	struct kv_tier_place *tier = &s->tiers[c->k];
	uint32_t number;
	int rc = 0;

	if (name[0]) {
		store = job_find_store(job, name);
		c->key = "store";
		if (!store)
			return err_set(c->err, -EINVAL, "there is no store \"%s\"", name);
	} else {
		rc = phase_store_find(job, phase, &store, c->err);
	}
	c->key = NULL;
	if (rc < 0)
		return rc;
	/* Each store of the phase has one number, however many tiers are in it. */
	for (number = 0; number < s->store_count && s->stores[number] != store; number++)
		;
	if (number == KV_STORES_MAX)
		return err_set(c->err, -EINVAL, "%s/tiers: has more than %d different stores",
			       phase->path, KV_STORES_MAX);
	s->stores[number] = store;
	s->store_count = max_u32(s->store_count, number + 1);
	tier->store = number;
	snprintf(tier->name, sizeof(tier->name), "%s", store->name[0] ? store->name : "store");
	return 0;
}

uint64_t kv_setup_holders(const struct kv_setup *s, enum kv_tier_kind kind)
{
	uint64_t holders = 0;

	for (uint64_t rank = 0; rank < s->tensor; rank++)
		holders +=
			kind != KV_TIER_STORE || kv_model_shard_writes(&s->model, s->tensor, rank);
	return holders;
}

/* Servers share one tier: a store behind all tiers of their own. What one of them writes, others
 * must find. */
static int setup_check_servers(const struct kv_setup *s, struct tier_check *c)
{
	const struct kv_tier_place *tier = &s->tiers[c->k];
	const char *by = kv_shared_names[tier->shared], *uri;
	const struct store_options *o;

	c->key = "shared";
	if (c->k + 1 < s->tier_count)
		return err_set(c->err, -EINVAL, "\"%s\" is possible for the last tier only", by);
	if (tier->kind != KV_TIER_STORE)
		return err_set(c->err, -EINVAL,
			       "\"%s\" needs a store; a store mem:// is memory that the ranks of a "
			       "node share",
			       by);
	if (s->options->trace[0])
		return err_set(c->err, -EINVAL,
			       "\"%s\" is not possible with a trace, for which each rank decides "
			       "alone",
			       by);
	o = s->stores[tier->store]->options;
	if (o->uri.count > 1)
		return err_set(c->err, -EINVAL,
			       "its store has several URIs, which ranks choose from; all must find "
			       "its entries");
	uri = o->uri.count ? o->uri.items[0] : "";
	if (uri_per_rank(uri) || (tier->shared == KV_SHARED_ALL && strstr(uri, "{node}")))
		return err_set(c->err, -EINVAL,
			       "\"%s\" is another store for each %s; all must find its entries",
			       uri, uri_per_rank(uri) ? "rank" : "node");
	return 0;
}

/* Who shares a tier. Each shard counts as the largest one, so that no capacity is passed. */
static int setup_shared(struct kv_setup *s, const struct kv_tier_options *o, uint64_t *capacity,
			struct tier_check *c)
{
	struct kv_tier_place *place = &s->tiers[c->k];

	place->shared = (enum kv_tier_shared)o->shared;
	place->capacity = *capacity;
	if (place->shared != KV_SHARED_NO && *capacity != KV_UNLIMITED)
		*capacity /= kv_setup_holders(s, place->kind);
	if (place->shared >= KV_SHARED_NODE) {
		s->servers_share = true;
		s->shared_entries = (uint32_t)(o->entries ? o->entries : KV_SHARED_ENTRIES);
		return setup_check_servers(s, c);
	}
	c->key = "entries";
	return o->entries ? err_set(c->err, -EINVAL,
				    "counts only for a tier that is shared by a node or all")
			  : 0;
}

/* The rules of a tier of that capacity: MLPerf's, but for those that the options give. */
static int setup_rules(struct kv_setup *s, const struct kv_tier_options *o, uint64_t capacity,
		       struct tier_check *c)
{
	bool last = c->k + 1 == s->tier_count;
	struct kv_tier_rules *rules = &s->rules[c->k];
	uint64_t most = setup_capacity_most[o->kind];

	c->key = "capacity";
	if (capacity > most)
		return err_set(c->err, -EINVAL,
			       "a tier \"%s\" has at most %" PRIu64 " GiB per rank",
			       setup_kinds[o->kind], most >> 30);
	c->key = "bandwidth";
	if (o->bandwidth && o->kind != KV_TIER_GPU)
		return err_set(c->err, -EINVAL,
			       "is that of an emulated accelerator; a tier \"%s\" is as fast as it "
			       "is",
			       setup_kinds[o->kind]);
	c->key = "capacity";
	if (capacity == KV_UNLIMITED && !last)
		return err_set(c->err, -EINVAL,
			       "needs a limit, or nothing ever reaches the next tier");
	*rules = kv_tier_mlperf(capacity, last);
	rules->high = o->high > 0 ? o->high : rules->high;
	rules->low = o->low > 0 ? o->low : o->high > 0 ? o->high : rules->low;
	rules->largest = o->largest > 0 ? o->largest : rules->largest;
	rules->admit_after = (uint32_t)o->admit_after;
	rules->promote_after = (uint32_t)o->promote_after;
	c->key = "low";
	return rules->low > rules->high ? err_set(c->err, -EINVAL, "must be at most high") : 0;
}

static int setup_tier(struct kv_setup *s, const struct job *job, const struct job_phase *phase,
		      const struct kv_tier_options *o, struct tier_check *c)
{
	struct kv_tier_place *tier = &s->tiers[c->k];
	uint64_t capacity = o->capacity;
	int rc = 0;

	tier->kind = (enum kv_tier_kind)o->kind;
	tier->bandwidth = o->bandwidth;
	if (o->kind == KV_TIER_STORE) {
		rc = setup_tier_store(s, job, phase, o->store, c);
		capacity = capacity ? capacity : KV_UNLIMITED;
	} else if (o->store[0]) {
		c->key = "store";
		rc = err_set(c->err, -EINVAL, "a tier \"%s\" has none", setup_kinds[o->kind]);
	} else {
		snprintf(tier->name, sizeof(tier->name), "%s", setup_kinds[o->kind]);
	}
	if (rc == 0)
		rc = setup_shared(s, o, &capacity, c);
	if (rc == 0)
		rc = setup_rules(s, o, capacity, c);
	if (rc < 0)
		return rc;
	if (o->name[0])
		snprintf(tier->name, sizeof(tier->name), "%s", o->name);
	if (o->kind == KV_TIER_CPU) {
		s->in_memory = true;
		s->memory = capacity;
	}
	/* Results name tiers. */
	c->key = "name";
	for (uint32_t j = 0; j < c->k; j++)
		if (strcmp(s->tiers[j].name, tier->name) == 0)
			return err_set(c->err, -EINVAL, "two tiers are called \"%s\"", tier->name);
	return 0;
}

static int setup_tiers(struct kv_setup *s, const struct job *job, const struct job_phase *phase,
		       struct err *err)
{
	static const struct kv_tier_options alone = {.kind = KV_TIER_STORE};
	const struct kvcache_options *o = s->options;
	uint32_t memories = 0;
	int rc;

	s->tier_count = o->tier_count ? o->tier_count : 1;
	for (uint32_t k = 0; k < s->tier_count; k++) {
		struct tier_check c = {.k = k, .err = err};

		rc = setup_tier(s, job, phase, o->tier_count ? &o->tiers[k] : &alone, &c);
		if (rc < 0 && c.key)
			err_wrap(err, rc, "%s/tiers/%" PRIu32 "/%s", phase->path, k, c.key);
		if (rc < 0)
			return rc;
		memories += s->tiers[k].kind == KV_TIER_CPU;
	}
	if (memories > 1)
		return err_set(err, -EINVAL, "%s/tiers: a rank has only one memory (\"cpu\")",
			       phase->path);
	if (!s->store_count)
		return err_set(err, -EINVAL, "%s/tiers: one of them must be a store", phase->path);
	return 0;
}

/* Tokens of the largest entry. */
static uint64_t setup_tokens_most(const struct kv_setup *s)
{
	const struct kv_source_options *o = &s->source;
	uint64_t most = 0;

	if (s->options->profile == KV_PROFILE_SERVING)
		return s->options->serving.block_tokens ? s->options->serving.block_tokens
		       : o->arrivals.file[0]            ? SETUP_TRACE_BLOCK
							: KV_BLOCK_TOKENS;
	if (o->arrivals.file[0])
		most = o->arrivals.context_max;
	for (uint32_t i = 0; !o->arrivals.file[0] && i < o->template_count; i++)
		most = max_u64(most, o->templates[i].context_max);
	if (o->mode == KV_MODE_DECODE)
		most = max_u64(most, o->stored_tokens);
	if (s->options->precondition)
		most = max_u64(most, s->options->precondition_tokens);
	if (o->rag.documents)
		most = max_u64(most, o->rag.chunk_tokens * o->rag.retrieved);
	return min_u64(most, KV_TOKENS_MAX);
}

static int setup_check_stores(const struct kv_setup *s, const char *path, struct err *err)
{
	char where[SETUP_PATH_BYTES];
	int rc = 0;

	snprintf(where, sizeof(where), "%s/chunk", path);
	if (s->options->chunk < SETUP_CHUNK_LEAST)
		return err_set(err, -EINVAL, "%s: must be at least 4 KiB", where);
	for (uint32_t i = 0; rc == 0 && i < s->store_count; i++) {
		const struct backend_ops *ops = s->stores[i]->section->owner;

		if (!(ops->capabilities & BACKEND_UPDATE))
			rc = backend_check_parts(s->stores[i], s->object_bytes_most,
						 s->options->chunk, where, err);
	}
	return rc;
}

/* Who changes the load needs times of a store, and users. */
static int setup_autoscaling(struct kv_setup *s, const char *path, struct err *err)
{
	const struct kvcache_options *o = s->options;
	int rc = kv_autoscale_check(&o->autoscaling, s->source.users, path, err);

	if (rc < 0 || o->autoscaling.mode == KV_AUTOSCALE_OFF)
		return rc;
	if (o->trace[0])
		return err_set(err, -EINVAL,
			       "%s/autoscaling/mode: a trace has no latencies to decide by", path);
	if (s->source.arrivals.file[0])
		return err_set(err, -EINVAL,
			       "%s/autoscaling/mode: the requests are recorded, so there are no "
			       "users",
			       path);
	s->source.users_most = o->autoscaling.users_max;
	return 0;
}

/* The profile serving has blocks in one store, and no tiers of entries. */
static int setup_serving(struct kv_setup *s, const char *path, struct err *err)
{
	const struct kvcache_options *o = s->options;
	const struct kv_server_options *v = &o->serving;
	bool arrives = v->arrive != KV_ARRIVE_CLOSED;

	s->looks_before_writes = o->profile == KV_PROFILE_SERVING;
	if (!s->looks_before_writes)
		return 0;
	s->slots = kv_layouts[v->layout].slots;
	s->buckets = kv_layouts[v->layout].buckets;
	if (s->tensor > 1)
		return err_set(err, -EINVAL,
			       "%s/profile: \"serving\" has one rank per server; set "
			       "cluster.tensor to 1",
			       path);
	if (s->tier_count > 1 || s->tiers[0].kind != KV_TIER_STORE)
		return err_set(err, -EINVAL,
			       "%s/tiers: the profile serving has one, a store; memory in front of "
			       "it is serving/memory",
			       path);
	if (o->trace[0] || o->precondition || o->autoscaling.mode != KV_AUTOSCALE_OFF)
		return err_set(err, -EINVAL, "%s/%s: is not of the profile serving", path,
			       o->trace[0]       ? "trace"
			       : o->precondition ? "precondition"
						 : "autoscaling/mode");
	if (arrives && s->source.arrivals.file[0])
		return err_set(err, -EINVAL,
			       "%s/serving/arrive: the requests are recorded, and have their own "
			       "times",
			       path);
	if ((s->slots || s->buckets) && v->decode_ranks)
		return err_set(err, -EINVAL,
			       "%s/serving/decode_ranks: with layout \"%s\" each rank has files "
			       "of its own, and finds nothing that another one has written",
			       path, kv_layout_names[v->layout]);
	if (s->slots && s->rules[0].capacity == KV_UNLIMITED)
		return err_set(err, -EINVAL,
			       "%s/tiers/0/capacity: is missing: layout \"%s\" makes a file of "
			       "that size for each rank",
			       path, kv_layout_names[v->layout]);
	if (v->restart_ns >= o->duration_ns)
		return err_set(
			err, -EINVAL,
			"%s/serving/restart: is not before the phase is over, which is its duration",
			path);
	if (v->decode_ranks && !arrives && !s->source.arrivals.file[0])
		return err_set(
			err, -EINVAL,
			"%s/serving/decode_ranks: both sides must know when requests come; set "
			"arrive to \"poisson\" or \"constant\", or give a trace",
			path);
	if (arrives != (v->rate > 0))
		return err_set(err, -EINVAL, "%s/serving/rate: %s", path,
			       arrives ? "is missing: requests per second of a rank"
				       : "is for arrive \"poisson\" and \"constant\"");
	return 0;
}

/* A file of slots has room for a block, and the capacity for a bucket, whose blocks may all wait. */
static int setup_check_room(struct kv_setup *s, const char *path, struct err *err)
{
	uint64_t capacity = s->rules[0].capacity, block = s->entry_bytes_most, blocks;

	if (s->slots && !kv_slots_count(s->slots, capacity, block))
		return err_set(err, -EINVAL,
			       "%s/tiers/0/capacity: has no room for one block, which takes "
			       "%" PRIu64 " bytes",
			       path, s->slots->front + kv_slot_bytes(s->slots, block));
	if (!s->buckets)
		return 0;
	blocks = kv_bucket_blocks(s->buckets, block);
	if (!blocks)
		return err_set(err, -EINVAL,
			       "%s/serving/block_tokens: a block of %" PRIu64
			       " bytes is larger than a bucket, which has %" PRIu64,
			       path, block, s->buckets->bytes);
	if (s->options->serving.pending < blocks)
		return err_set(err, -EINVAL,
			       "%s/serving/pending: is less than the %" PRIu64
			       " blocks of a bucket, which is written when so many wait",
			       path, blocks);
	s->object_bytes_most = kv_bucket_at((uint32_t)blocks, block);
	if (capacity < kv_bucket_whole(s->buckets, block))
		return err_set(err, -EINVAL,
			       "%s/tiers/0/capacity: has no room for one bucket, which takes "
			       "%" PRIu64 " bytes",
			       path, kv_bucket_whole(s->buckets, block));
	return 0;
}

int kv_setup_of(const struct job *job, const struct job_phase *phase, struct kv_setup *out,
		struct err *err)
{
	const struct kvcache_options *o = phase->options;
	char where[SETUP_PATH_BYTES];
	int rc;

	*out = (struct kv_setup){.options = o,
				 .model = o->model,
				 .source = o->source,
				 .tensor = job->cluster.tensor ? job->cluster.tensor : 1};
	if (job->cluster.pipeline > 1)
		return err_set(err, -EINVAL,
			       "%s: divides no model by layers, so it cannot run with "
			       "cluster.pipeline = %" PRIu64 "; set it to 1",
			       phase->path, job->cluster.pipeline);
	if (o->profile == KV_PROFILE_SERVING && o->source.arrivals.file[0] &&
	    !o->source.arrivals.context_max)
		out->source.arrivals.context_max = KV_TOKENS_MAX;
	snprintf(where, sizeof(where), "%s/model", phase->path);
	rc = kv_model_check(&out->model, where, err);
	if (rc == 0)
		rc = kv_source_check(&out->source, phase->path, err);
	if (rc == 0)
		rc = setup_autoscaling(out, phase->path, err);
	if (rc == 0)
		rc = setup_tiers(out, job, phase, err);
	if (rc == 0)
		rc = setup_serving(out, phase->path, err);
	if (rc < 0)
		return rc;
	out->policy = kv_policy_mlperf();
	out->policy.write = (enum kv_write)o->policy.write;
	out->policy.order = (enum kv_order)o->policy.order;
	out->policy.sketch_keys = o->policy.keys;
	out->policy.evictions_min = (uint32_t)o->policy.evictions_min;
	out->policy.evictions_max = (uint32_t)o->policy.evictions_max;
	out->served = (uint32_t)(o->served ? o->served
					   : min_u64(out->source.users_most, KV_SERVED_DEFAULT));
	out->entry_bytes_most =
		kv_model_shard_most(&out->model, setup_tokens_most(out), out->tensor);
	out->object_bytes_most = out->entry_bytes_most;
	rc = setup_check_room(out, phase->path, err);
	return rc == 0 ? setup_check_stores(out, phase->path, err) : rc;
}

void kv_complete(const struct job *job, struct job_phase *phase)
{
	struct kvcache_options *o = phase->options;
	uint64_t chunk = SETUP_CHUNK;
	struct err none = {0};
	struct kv_setup s;

	if (o->chunk)
		return;
	/* Any store takes such parts. What is wrong besides is found when the phase is checked. */
	o->chunk = SETUP_CHUNK_MOST;
	if (kv_setup_of(job, phase, &s, &none) == 0) {
		/* Those whose layout it is write a block by one call, and read it by one. */
		if (s.looks_before_writes && o->serving.layout != KV_LAYOUT_HAUL)
			chunk = (s.entry_bytes_most + SETUP_CHUNK_LEAST - 1) / SETUP_CHUNK_LEAST *
				SETUP_CHUNK_LEAST;
		for (uint32_t i = 0; i < s.store_count; i++)
			chunk = max_u64(chunk, backend_part_least(s.stores[i], s.object_bytes_most,
								  SETUP_CHUNK));
	}
	o->chunk = chunk;
}

static void settle_tier(struct kv_tier_options *o, const struct kv_setup *s, uint32_t k)
{
	const struct kv_tier_place *tier = &s->tiers[k];
	const char *usual = tier->kind == KV_TIER_STORE ? s->stores[tier->store]->name
							: setup_kinds[tier->kind];

	if (strcmp(o->name, usual) == 0)
		o->name[0] = '\0';
	if (tier->kind == KV_TIER_STORE)
		snprintf(o->store, sizeof(o->store), "%s", s->stores[tier->store]->name);
	o->high = s->rules[k].high;
	o->low = s->rules[k].low;
	o->largest = s->rules[k].largest;
	if (tier->shared >= KV_SHARED_NODE)
		o->entries = s->shared_entries;
}

void kv_settle(const struct job *job, struct job_phase *phase, uint32_t ranks)
{
	struct kvcache_options *o = phase->options;
	struct err none = {0};
	struct kv_setup s;

	(void)ranks;
	if (kv_setup_of(job, phase, &s, &none) < 0)
		return;
	o->tier_count = s.tier_count;
	for (uint32_t k = 0; k < s.tier_count; k++)
		settle_tier(&o->tiers[k], &s, k);
	o->served = s.served;
	o->model = s.model;
	o->source = s.source;
}

/* Whoever asks for a trace means that no byte is moved: each phase of the kind has one, in a file
 * of its own. */
static int setup_check_trace(const struct job *job, const struct job_phase *phase, struct err *err)
{
	const struct kvcache_options *own = phase->options;

	for (uint32_t i = 0; own->trace[0] && i < job->phase_count; i++) {
		const struct job_phase *other = &job->phases[i];
		const struct kvcache_options *o = other->options;

		if (other == phase || other->section->owner != &kvcache_workload)
			continue;
		if (!o->trace[0])
			return err_set(
				err, -EINVAL,
				"%s/trace: moves no byte, but %s has no trace and would; give "
				"it one, too, in another file",
				phase->path, other->path);
		if (strcmp(o->trace, own->trace) == 0)
			return err_set(err, -EINVAL, "%s/trace: %s writes the same file",
				       phase->path, other->path);
	}
	return 0;
}

/* What one rank of a tensor group writes for others, these must find. */
static int setup_check_shared_uri(const struct kv_setup *s, const char *path, struct err *err)
{
	bool shares = kv_setup_holders(s, KV_TIER_STORE) < s->tensor;

	for (uint32_t i = 0; shares && i < s->store_count; i++) {
		const struct store_options *o = s->stores[i]->options;

		for (uint32_t k = 0; k < o->uri.count; k++)
			if (uri_per_rank(o->uri.items[k]))
				return err_set(
					err, -EINVAL,
					"%s: ranks of a tensor group read what one of them has "
					"written, but \"%s\" is another store for each rank",
					path, o->uri.items[k]);
	}
	return 0;
}

static int setup_check_group(const struct kv_setup *s, const struct job_phase *phase,
			     uint32_t ranks, struct err *err)
{
	const struct kv_server_options *v = &s->options->serving;

	if (s->looks_before_writes && v->decode_ranks && ranks != 2 * v->decode_ranks)
		return err_set(
			err, -EINVAL,
			"%s/serving/decode_ranks: must be half of the ranks, of which there are "
			"%" PRIu32,
			phase->path, ranks);
	if (ranks % s->tensor)
		return err_set(err, -EINVAL,
			       "%s: %" PRIu32 " ranks are not a multiple of tensor = %" PRIu64,
			       phase->path, ranks, s->tensor);
	/* The keys of users say which server they belong to. */
	if (s->servers_share && s->source.users_most * (ranks / s->tensor) > UINT32_MAX)
		return err_set(err, -EINVAL,
			       "%s/users: servers that share a tier have more than 2^32 users",
			       phase->path);
	return setup_check_shared_uri(s, phase->path, err);
}

int kvcache_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		  struct err *err)
{
	const struct kvcache_options *o = phase->options;
	struct kv_setup setup;
	int rc;

	rc = key_check(o->folder, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s/folder", phase->path);
	rc = setup_check_trace(job, phase, err);
	if (rc == 0)
		rc = kv_setup_of(job, phase, &setup, err);
	if (rc == 0)
		rc = setup_check_group(&setup, phase, ranks, err);
	return rc;
}
