/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/kvcache/kvcache.h"

#include <errno.h>
#include <inttypes.h>

#include "core/content/random.h"
#include "core/uri.h"
#include "workloads/kvcache/objects.h"
#include "workloads/kvcache/run.h"
#include "workloads/kvcache/serving/server.h"

static const uint64_t content_stream = 0x656e747279; /* "entry" */
static const uint64_t ns_per_ms = 1000000;

/* Pieces of an entry begin at multiples of a chunk. */
static int phase_check_chunk(const struct kv_run *r, uint32_t store, struct err *err)
{
	uint64_t align = r->stores[store].alignment, chunk = r->setup.options->chunk;

	if (r->setup.slots && align > KV_SLOT_PAGE)
		return err_set(
			err, -EINVAL,
			"%s/serving/layout: slots begin at multiples of %d bytes, but direct "
			"I/O of this store goes by whole blocks of %" PRIu64,
			r->ctx->phase->path, KV_SLOT_PAGE, align);
	if (align <= 1 || chunk % align == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "%s/chunk: direct I/O goes by whole blocks of %" PRIu64 " bytes; %" PRIu64
		       " is not a multiple",
		       r->ctx->phase->path, align, chunk);
}

/* Every store is opened by all ranks, or by none. */
static int phase_open_stores(struct kv_run *r, struct err *err)
{
	struct rank_place place = *r->ctx->place;
	struct phase_context opener = *r->ctx;
	int rc = 0;

	/* What another rank writes for this one is where that rank has it. */
	place.endpoint -= r->part.rank - r->part.writer;
	opener.place = &place;
	for (uint32_t i = 0; rc == 0 && i < r->setup.store_count; i++) {
		rc = workload_store_open(&opener, r->setup.stores[i], &r->stores[i], err);
		if (rc < 0)
			break;
		rc = queue_open(&r->side[i], &r->stores[i], 1, err);
		if (rc == 0)
			queue_unlogged(&r->side[i]);
		if (rc == 0)
			rc = phase_check_chunk(r, i, err);
		rc = group_agree(r->ctx->group, rc, err);
	}
	return rc;
}

static void phase_entry_key(const struct kv_work *work, uint32_t tier, struct kv_id id,
			    char key[OBJECT_KEY_BYTES])
{
	kv_object_key(work->prefix[tier], id, key);
}

static void phase_init_work(struct kv_run *r)
{
	const struct kvcache_options *o = r->setup.options;
	uint32_t rank = r->ctx->group->rank - r->part.rank + r->part.writer;
	bool serves = o->profile == KV_PROFILE_SERVING;

	/* What one server has written, others must be able to compare. */
	if (r->sharing.shared || serves)
		rank = r->part.writer;
	r->work.setup = &r->setup;
	r->work.stores = r->stores;
	r->work.memory = &r->memory;
	r->work.keeps = store_can(&r->stores[0], BACKEND_CONTENT);
	r->work.object_key = serves ? kv_block_key : phase_entry_key;
	r->work.layout = serves ? &kv_layouts[o->serving.layout] : NULL;
	r->work.seed = random_at(r->ctx->job->seed, content_stream, rank);
	pattern_init(&r->work.pattern, 0, r->setup.entry_bytes_most, o->compress, o->dedup,
		     o->dedup_distance);
	/* What several servers share is under the folders of the first of them. */
	for (uint32_t k = 0; k < r->setup.tier_count; k++) {
		uint32_t first = r->setup.tiers[k].shared >= KV_SHARED_NODE
					 ? r->sharing.first
					 : r->ctx->group->rank - r->part.rank;

		kv_objects_folder(o->folder, first + r->part.writer, k, 0, 2, r->work.prefix[k]);
	}
}

static int phase_open_threads(struct kv_run *r, struct err *err)
{
	const struct kvcache_options *o = r->setup.options;
	struct phase_context *ctx = r->ctx;
	int rc;

	phase_init_work(r);
	r->crew = crew_of(ctx, &r->stores[0], &kv_meter, o->threads, o->depth, "kvcache");
	r->crew.once = true;
	r->crew.buffer_bytes = o->depth * kv_window_bytes(&r->setup, r->stores);
	r->crew.count = kv_measure_thread;
	r->crew.snapshot = &r->snapshot;
	r->crew.argument = &r->work;
	rc = snapshot_open(
		&r->snapshot, ctx,
		(struct snapshot_hooks){.own = kv_measure_own, .complete = kv_measure_time}, r,
		err);
	if (rc == 0)
		rc = crew_open(&r->crew, err);
	return rc == 0 ? kv_workers_open(&r->work, &r->crew, err) : rc;
}

/* Users and tiers, which a tensor group has once. */
static int phase_open_cache(struct kv_run *r, struct err *err)
{
	const struct kv_setup *s = &r->setup;
	int rc;

	if (!r->part.leads || s->options->profile == KV_PROFILE_SERVING)
		return kv_measure_begin(r, err);
	rc = kv_source_open(&r->source, &s->source, &s->model, r->ctx->job->seed + r->part.number,
			    s->options->trace_epoch_ns / ns_per_ms, r->ctx->phase->path, err);
	if (rc == 0 && s->source.arrivals.file[0])
		rc = kv_source_recorded(&r->source, r->part.number, r->part.count,
					r->ctx->phase->path, err);
	if (rc == 0 && kv_tiers_init(&r->tiers, &s->policy, s->rules, s->tier_count) < 0)
		rc = err_set(err, -ENOMEM, "no memory for the entries");
	if (rc == 0 && r->sharing.shared) {
		kv_tiers_divide(&r->tiers, r->sharing.shared, r->part.number, r->remote.parts,
				r->remote.part);
		kv_source_common(&r->source, r->ctx->job->seed);
	}
	r->tiers.event = kv_decisions_event;
	r->tiers.ask = kv_decisions_ask;
	r->tiers.argument = &r->decisions;
	return rc == 0 ? kv_measure_begin(r, err) : rc;
}

/* What this rank needs besides its stores. */
static int phase_open_rank(struct kv_run *r, struct err *err)
{
	const struct kv_setup *s = &r->setup;
	int rc = phase_open_threads(r, err);

	if (rc == 0 && s->in_memory)
		rc = kv_memory_open(&r->memory, s->memory, s->entry_bytes_most, s->options->chunk,
				    err);
	if (rc == 0)
		rc = phase_open_cache(r, err);
	if (rc == 0)
		rc = kv_serving_open(&r->serving, s, err);
	if (rc == 0 && s->options->profile == KV_PROFILE_SERVING)
		rc = kv_server_open(r, err);
	return rc == 0 ? kv_dispatch_open(r, err) : rc;
}

static int phase_prepare(struct kv_run *r, struct err *err)
{
	struct description d = kv_objects_description(r->setup.options->folder);
	const struct kv_objects objects = {
		.version = KV_OBJECTS_LAYOUT,
		.ranks = r->ctx->group->size,
		.tiers = r->setup.tier_count,
		.layout = r->setup.looks_before_writes ? r->setup.options->serving.layout + 1 : 0};
	int rc = phase_open_stores(r, err);

	d.clean = r->ctx->clean;
	if (rc == 0)
		rc = kv_space(r, err);
	if (rc < 0)
		return rc;
	rc = group_agree(r->ctx->group, phase_open_rank(r, err), err);
	for (; rc == 0 && r->described < r->setup.store_count; r->described++) {
		uint32_t i = r->described;

		if (description_wanted(&r->side[i]))
			rc = place_take(&r->places[i], &r->stores[i], d.folder, r->ctx->group, err);
		if (rc == 0)
			rc = description_begin(&d, &objects, &r->side[i], r->ctx->group, err);
		if (rc < 0)
			break;
	}
	if (rc == 0 && r->setup.slots)
		rc = group_agree(r->ctx->group, kv_server_file(r, err), err);
	return rc;
}

/* From here on what happens counts. */
static int phase_begin(struct kv_run *r)
{
	uint64_t start_ns;
	int rc;

	/* No server has begun yet. */
	if (r->sharing.owns)
		kv_shared_reset(r->sharing.shared);
	rc = start_line(r->ctx, true, &start_ns);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < r->crew.threads; i++)
		meter_clear(&r->crew.members[i].meter, start_ns);
	crew_clear_counts(&r->crew);
	for (uint32_t k = 0; k < r->tiers.count; k++) {
		struct kv_tier_counts *c = &r->tiers.tier[k].counts;

		c->count[KV_COUNT_REJECTED] = 0;
		c->used_most = c->used;
	}
	r->tiers.present = r->tiers.refused = 0;
	r->start_ns = start_ns;
	r->until_ns = start_ns + r->setup.options->duration_ns;
	r->polled_ns = start_ns;
	r->remote.count = 0;
	r->remote.settled = false;
	kv_scale_begin(r);
	r->crew.start_ns = start_ns;
	snapshot_start(&r->snapshot, start_ns);
	timeline_init(r->ctx->tally->timeline, start_ns);
	account_start(&r->accounts, ACCOUNT_HAUL, start_ns);
	r->begun = true;
	return 0;
}

/* Returns the first error of a thread. No task may be under way. */
static int phase_land(struct kv_run *r, struct err *err)
{
	if (!r->launched)
		return 0;
	r->launched = false;
	kv_work_end(&r->work, r->crew.threads);
	return crew_land(&r->crew, false, err);
}

static int phase_work_all(struct kv_run *r, enum stop_reason *stopped, struct err *err)
{
	struct group *g = r->ctx->group;
	int rc = crew_launch(&r->crew, kv_worker_run, err), landed;
	const struct arrivals *recorded;

	r->launched = rc == 0;
	/* They rest until they have a task. */
	for (uint32_t i = 0; i < r->crew.threads; i++)
		snapshot_rest(&r->crew.members[i].part);
	rc = group_agree(g, rc, err);
	if (rc == 0)
		rc = r->server ? 0 : group_agree(g, kv_fill(r, err), err);
	if (rc == 0)
		rc = phase_begin(r);
	if (rc < 0)
		return rc;
	rc = kv_loop(r, stopped);
	recorded = r->server ? &r->server->prompts.arrivals : &r->source.arrivals;
	if (rc < 0 && recorded->rc < 0) {
		*err = recorded->err;
		err_wrap(err, rc, "%s/arrivals/file", r->ctx->phase->path);
	} else if (rc < 0) {
		err_set(err, rc, "no memory for what is under way");
	}
	kv_measure_time(r, r->ctx->tally);
	landed = phase_land(r, err);
	kv_measure_own(r, r->ctx->tally);
	crew_merge(&r->crew, r->ctx->tally);
	return group_agree(g, landed < 0 ? landed : rc, err);
}

/* Nothing of the phase stays, unless a store does not let it go. Collective. */
static int phase_clean_up(struct kv_run *r)
{
	const struct description d = kv_objects_description(r->setup.options->folder);
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < r->described; i++) {
		uint64_t left = r->server ? kv_server_remove(r) : kv_remove(r, i);

		rc = group_allreduce(r->ctx->group, MERGE_SUM, &left, 1);
		if (rc == 0 && left)
			workload_say(r->ctx,
				     "%" PRIu64
				     " entries remain: `haul clean` with this job removes them",
				     left);
		else if (rc == 0 && r->ctx->group->rank == 0)
			description_end(&d, &r->side[i]);
	}
	return rc;
}

static void phase_close(void *run)
{
	struct kv_run *r = run;

	if (r->crew.members)
		kv_workers_close(&r->work, &r->crew);
	kv_server_close(r);
	kv_dispatch_close(r);
	kv_serving_close(&r->serving);
	kv_pool_free(&r->waiting.pool);
	kv_tiers_free(&r->tiers);
	kv_source_close(&r->source);
	kv_memory_close(&r->memory);
	crew_close(&r->crew);
	snapshot_close(&r->snapshot);
	for (uint32_t i = 0; i < KV_STORES_MAX; i++) {
		queue_close(&r->side[i]);
		place_give(&r->places[i]);
		store_close(&r->stores[i]);
	}
	kv_remote_close(r);
	group_free(r->sharing.group);
	group_free(r->part.group);
}

/* The most users with whom autoscaling saw all limits kept. Collective. */
static void phase_say_carried(struct kv_run *r)
{
	uint64_t carried = r->part.leads ? r->scaling.autoscale.carried : 0;

	if (r->setup.options->autoscaling.mode != KV_AUTOSCALE_QOS ||
	    group_allreduce(r->ctx->group, MERGE_SUM, &carried, 1) < 0)
		return;
	if (carried)
		workload_say(r->ctx,
			     "an interval of autoscaling kept all limits with %" PRIu64
			     " users at most",
			     carried);
	else
		workload_say(r->ctx, "no interval of autoscaling kept all limits");
}

static void phase_say(struct kv_run *r)
{
	const struct kvcache_options *o = r->setup.options;

	phase_say_carried(r);
	if (r->server)
		return;
	if (o->threads * o->depth > 1 || r->setup.served > 1)
		workload_say(r->ctx,
			     "requests are served side by side: which entries are found depends on "
			     "how fast the stores are");
	else if (r->sharing.shared && r->part.count > 1)
		workload_say(
			r->ctx,
			"ranks share a tier: which entries are found depends on which rank asks "
			"first");
}

static int phase_serve(struct kv_run *r, enum stop_reason *stopped, struct err *err)
{
	int rc = phase_prepare(r, err), cleaned;
	struct cpu_time from;

	if (rc == 0)
		rc = phase_work_all(r, stopped, err);
	phase_land(r, NULL);
	if (rc == 0)
		phase_say(r);
	from = cpu_time_process();
	cleaned = phase_clean_up(r);
	workload_uncount(r->ctx, from);
	return rc < 0 ? rc : cleaned;
}

/* A trace needs no store. */
static int phase_trace(struct kv_run *r, enum stop_reason *stopped, struct err *err)
{
	int rc = 0;

	/* Rank 0 writes the trace, so its environment counts. */
	if (r->ctx->group->rank == 0)
		rc = uri_expand(r->setup.options->trace, NULL, r->trace, err);
	if (rc < 0)
		err_wrap(err, rc, "%s/trace", r->ctx->phase->path);
	rc = group_agree(r->ctx->group, rc, err);
	if (rc == 0)
		rc = group_broadcast(r->ctx->group, r->trace, sizeof(r->trace));
	if (rc == 0)
		rc = group_agree(r->ctx->group, phase_open_cache(r, err), err);
	if (rc == 0)
		rc = kv_trace_run(r, stopped, err);
	if (rc == 0)
		workload_say(r->ctx, "a trace was written to %s: no byte was moved", r->trace);
	return rc;
}

static int phase_open(void *run, struct phase_context *ctx, struct err *err)
{
	struct kv_run *r = run;
	int rc = group_agree(ctx->group, kv_setup_of(ctx->job, ctx->phase, &r->setup, err), err);

	r->ctx = ctx;
	if (rc < 0)
		return rc;
	if (r->setup.tensor & (r->setup.tensor - 1))
		workload_say(ctx, "tensor %" PRIu64 " is not a power of two", r->setup.tensor);
	rc = kv_part_open(r, err);
	if (rc == 0)
		rc = kv_part_open_servers(r, err);
	return rc == 0 ? kv_remote_open(r, err) : rc;
}

static int phase_work(void *run, enum stop_reason *stopped, struct err *err)
{
	struct kv_run *r = run;

	return r->setup.options->trace[0] ? phase_trace(r, stopped, err)
					  : phase_serve(r, stopped, err);
}

/* Those of serving come last. */
static uint64_t kv_hists_filled(const struct job_phase *phase, uint32_t *named)
{
	const struct kvcache_options *o = phase->options;

	named[KV_TABLE_TIERS] = o->tier_count ? o->tier_count : 1;
	if (o->profile == KV_PROFILE_SERVING)
		return UINT64_MAX;
	named[KV_TABLE_QOS] = o->source.class_count ? o->source.class_count : KV_CLASSES_OF_MLPERF;
	return HIST_BIT(KV_HIST_TTFT) - 1;
}

const struct workload kvcache_workload = {
	.section = SECTION_DECIDED(
		kvcache,
		"key-value caches of large language models, in tiers, as MLPerf's benchmark does it",
		kvcache_targets, kv_complete, kvcache_options_table, kv_source_options_table),
	.schema = &kvcache_schema,
	.purpose = PURPOSE_CACHE,
	.hists = kv_hists_filled,
	.rounds = kv_rounds,
	.snapshots = true,
	.stores = kvcache_stores,
	.check = kvcache_check,
	.size = kvcache_size,
	.settle = kv_settle,
	.tell = kvcache_tell,
	.run_bytes = sizeof(struct kv_run),
	.open = phase_open,
	.work = phase_work,
	.close = phase_close,
	.clean = kvcache_clean,
};
