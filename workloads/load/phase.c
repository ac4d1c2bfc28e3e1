/* SPDX-License-Identifier: Apache-2.0 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/proc.h"
#include "core/units.h"
#include "workloads/load/run.h"

static const struct meter_map load_maps[] = {
	{REQ_READ, METER_NONE, LOAD_HIST_READ, METER_NONE, LOAD_HIST_READ_FIRST_ATTEMPT},
	{REQ_OPEN, METER_NONE, LOAD_HIST_OPEN, METER_NONE, METER_NONE},
};

static const struct meter_layout load_meter = {
	METER_MAPS(load_schema, load_maps),
	.live_op = REQ_READ,
};

static int load_open_crew(struct load_run *r, struct err *err)
{
	const struct load_options *o = r->options;
	struct phase_context *ctx = r->ctx;
	uint32_t pieces = (uint32_t)(o->buffers / o->chunk / o->threads);
	uint32_t depth = r->pattern->touch ? 1 : backend_depth(r->described);
	int rc;

	r->pieces = pieces < depth ? pieces : depth;
	r->window_bytes = queue_buffer_bytes(&r->store, o->chunk);
	r->crew = crew_of(ctx, &r->store, &load_meter, o->threads + r->pattern->ahead, r->pieces,
			  "load");
	r->crew.once = true;
	r->crew.argument = r;
	r->repeat = (struct repeat){.ctx = ctx, .crew = &r->crew, .accounts_at = LOAD_ACCOUNTS};
	rc = repeat_open(&r->repeat, err);
	return rc == 0 ? load_readers_open(r, err) : rc;
}

/* The store, and what is not the phase's own work on it. */
static int load_open_store(struct load_run *r, struct err *err)
{
	int rc = workload_store_open_to_read(r->ctx, r->described, &r->store, err);

	if (rc == 0)
		rc = queue_open(&r->side, &r->store, 1, err);
	if (rc == 0)
		queue_unlogged(&r->side);
	return rc;
}

/* The same store as it is with direct I/O, where it knows that. */
static int load_describe_direct(struct load_run *r, struct err *err)
{
	const struct section *s = r->described->section;
	cJSON *object = options_to_json(s->tables, r->described->options);
	void *options = arena_alloc(&r->arena, s->size);
	int rc = object && options ? 0 : err_set(err, -ENOMEM, "no memory for a store");

	if (rc == 0 && cJSON_GetObjectItemCaseSensitive(object, "direct")) {
		cJSON_ReplaceItemInObjectCaseSensitive(object, "direct", cJSON_CreateTrue());
		rc = options_parse(s->tables, options, object, r->ctx->phase->path, &r->arena, err);
		r->direct = *r->described;
		r->direct.options = options;
		r->described = &r->direct;
	}
	cJSON_Delete(object);
	return rc;
}

/* A store that keeps no content: files and headers are those with which the model is published, and
 * what the ranks of a node have read ahead is noted in memory that they share. Collective. */
static int load_open_modelled(struct load_run *r, struct err *err)
{
	const struct load_options *o = r->options;
	struct published p;
	void *block = NULL;
	int rc = published_make(&p, &o->model, 0, &r->arena, err);

	r->known = r->modelled = true;
	if (rc == 0)
		rc = load_names_published(&r->names, &p, err);
	r->rule.model = r->names.all;
	r->headers = calloc(p.files + 1, sizeof(*r->headers));
	if (rc == 0 && !r->headers)
		rc = err_set(err, -ENOMEM, "no memory for headers");
	for (uint64_t i = 0; rc == 0 && i < p.files; i++) {
		const struct archive *a = &p.file[i].archive;
		struct load_header *h = &r->headers[i];
		struct safetensors tensors;

		*h = (struct load_header){.file_bytes = a->size, .header_bytes = a->header_bytes};
		rc = published_tensors(&p.file[i], &tensors, &r->arena);
		rc = rc == 0 ? load_header_cut(h, &tensors, &r->rule) : rc;
		if (rc < 0)
			err_set(err, rc, "no memory for tensors");
	}
	rc = group_agree(r->ctx->group, rc, err);
	if (rc == 0 && r->pattern->ahead)
		rc = group_shared(r->ctx->node, p.files * sizeof(*r->cached), &block, err);
	r->cached = block;
	return group_agree(r->ctx->group, rc, err);
}

/* What is known before anything is read. Collective. */
static int load_known(struct load_run *r, struct err *err)
{
	struct group *group = r->ctx->group;
	uint64_t part;
	int rc = 0;

	r->rule.model = r->names.all;
	if (r->pattern->own && load_names_lack(&r->names, r->sharer, &part))
		rc = err_set(err, -ENOENT,
			     "%s/%s: has no file model-rank-%" PRIu64 "-part-%" PRIu64
			     ".safetensors: \"sharded\" loads a folder in which each rank has its "
			     "own, whose parts count from 0",
			     r->store.uri, r->options->folder, r->sharer, part);
	else if (r->rule.part.stages > 1 && r->names.count > 1 && !r->names.all.layers)
		rc = err_set(err, -EINVAL,
			     "%s/%s: has no index that tells how many layers the stages share",
			     r->store.uri, r->options->folder);
	return group_agree(group, rc, err);
}

static int load_open(void *run, struct phase_context *ctx, struct err *err)
{
	struct load_run *r = run;
	const struct load_options *o = ctx->phase->options;
	int rc = phase_store_find(ctx->job, ctx->phase, &r->described, err);

	r->ctx = ctx;
	r->options = o;
	r->pattern = load_pattern(o);
	r->sharers = load_sharers(ctx->job, o);
	r->sharer = ctx->group->rank % r->sharers;
	r->rule = (struct load_rule){.reads = r->pattern->reads, .gap = o->gap};
	load_part(ctx->job, o, ctx->group->rank, &r->rule.part);
	if (rc == 0 && r->pattern->direct)
		rc = load_describe_direct(r, err);
	if (rc == 0)
		rc = load_open_store(r, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc == 0)
		rc = load_modelled(ctx->phase, r->described)
			     ? load_open_modelled(r, err)
			     : load_names_find(&r->names, &r->side, o->folder, ctx->group, err);
	if (rc == 0)
		rc = load_known(r, err);
	if (rc == 0 && o->readers == LOAD_READERS_FIRST)
		rc = load_hand_open(&r->hand, ctx, r->sharers, (uint32_t)o->threads, o->chunk, err);
	if (rc < 0)
		return rc;
	rc = load_open_crew(r, err);
	rc = group_agree(ctx->group, rc, err);
	return rc == 0 ? cold_open(&r->cold, &o->cold, ctx, err) : rc;
}

static void load_close_store(struct load_run *r)
{
	load_readers_close(r);
	repeat_close(&r->repeat);
	queue_close(&r->side);
	store_close(&r->store);
}

static void load_close(void *run)
{
	struct load_run *r = run;

	cold_close(&r->cold);
	load_close_store(r);
	load_headers_free(r);
	load_hand_close(&r->hand);
	arena_free(&r->arena);
	load_names_free(&r->names);
}

static void load_count(struct load_run *r, const struct repeat_took *took, uint64_t header_ns)
{
	uint64_t *row = r->ctx->tally->rank_row, *own, handed = 0;

	for (uint32_t i = 0; i < r->crew.threads; i++)
		handed += r->members[i].handed_bytes;
	row[LOAD_HANDED_BYTES] += handed;
	row[LOAD_MODEL_BYTES] += crew_count(&r->crew, LOAD_COUNT_MODEL_BYTES);
	row[LOAD_NEEDED_BYTES] += crew_count(&r->crew, LOAD_COUNT_NEEDED_BYTES);
	row[LOAD_STORE_BYTES] += crew_count(&r->crew, LOAD_COUNT_STORE_BYTES);
	row[LOAD_MAJOR_FAULTS] += crew_count(&r->crew, LOAD_COUNT_FAULTS);
	if (row[LOAD_NEEDED_BYTES])
		row[LOAD_READ_PPM] = (uint64_t)((double)row[LOAD_STORE_BYTES] * 1e6 /
						(double)row[LOAD_NEEDED_BYTES]);
	row[LOAD_LOADED]++;
	repeat_count(took, crew_count(&r->crew, LOAD_COUNT_BYTES), &row[LOAD_LOAD_NS]);
	row[LOAD_HEADER_NS] += header_ns;
	own = table_numbered(&r->ctx->tally->tables[LOAD_TABLE_ROWS], r->number + 1);
	if (!own)
		return;
	own[LOAD_ROW_START_NS] = r->repeat.start_ns - r->repeat.origin_ns;
	own[LOAD_ROW_LOAD_NS] = took->own_ns;
	own[LOAD_ROW_FIRST_NS] = took->first_ns;
	own[LOAD_ROW_FIRST_BYTES] = took->first_bytes;
	own[LOAD_ROW_HEADER_NS] = header_ns;
	own[LOAD_ROW_BYTES] = crew_count(&r->crew, LOAD_COUNT_BYTES);
	own[LOAD_ROW_HANDED_BYTES] = handed;
}

/* Charges the time of the thread that ended last. A rank that reads waits for the store whenever it
 * neither takes headers apart nor hands on; one that does not read waits for the one that does. */
static void load_account(struct load_run *r, const struct repeat_took *took)
{
	const struct load_member *last = &r->members[took->last - r->crew.members];
	uint64_t asked_ns = last->cost.request_ns + last->request_ns;
	uint64_t other_ns = asked_ns + last->cost.parse_ns + last->hand_ns;
	uint64_t blamed[ACCOUNTS] = {[ACCOUNT_OPEN] = asked_ns, [ACCOUNT_RANKS] = last->hand_ns};

	if (r->hand.group && !r->hand.reads)
		blamed[ACCOUNT_RANKS] = took->own_ns;
	else if (took->own_ns > other_ns)
		blamed[ACCOUNT_TRANSFER] = took->own_ns - other_ns;
	repeat_account(&r->repeat, blamed, took->end_ns);
}

static void load_cold_key(const void *argument, uint64_t number, uint32_t part,
			  char key[OBJECT_KEY_BYTES])
{
	const struct load_run *r = argument;

	(void)part;
	load_names_key(&r->names, r->options->folder, number, key);
}

/* Opens the file by requests that count nowhere. The reader reports one that is missing. */
static void load_look(struct load_run *r, struct residency *residency, uint64_t i)
{
	struct object o = {.size = 0};
	struct request req = {.op = REQ_OPEN, .object = &o};

	load_names_key(&r->names, r->options->folder, i, o.key);
	if (queue_do(&r->side, &req) < 0)
		return;
	residency_look(residency, &r->store, &o, 0, o.size);
	req = (struct request){.op = REQ_CLOSE, .object = &o};
	queue_do(&r->side, &req);
}

/* Cold loads: the ranks of each node share the files to drop, and to look at. This happens before
 * any rank reads, since what the kernel reads ahead would be mistaken for an old copy. */
static void load_look_all(struct load_run *r)
{
	const struct rank_place *place = r->ctx->place;
	uint64_t *row = r->ctx->tally->rank_row;
	struct residency residency;

	residency_init(&residency, r->options->cold.evidence_bytes);
	for (uint64_t i = place->local_rank; i < r->names.count && !cold_ends(&r->cold);
	     i += place->local_ranks)
		load_look(r, &residency, i);
	row[LOAD_RESIDENT_SAMPLED_BYTES] += residency.sampled_bytes;
	row[LOAD_RESIDENT_BYTES] += residency.resident_bytes;
}

static int load_cold_before(struct load_run *r, struct err *err)
{
	const struct cold_options *o = &r->options->cold;
	const struct cold_objects objects = {.store = &r->store,
					     .count = r->names.count,
					     .parts = 1,
					     .key = load_cold_key,
					     .argument = r};
	uint64_t *row = r->ctx->tally->rank_row, began_ns = clock_now(r->store.clock);
	int rc = 0;

	if (o->drop != DROP_NONE && (o->when != COLD_PHASE || !r->dropped))
		rc = cold_drop_all(&r->cold, &objects, err);
	r->dropped = true;
	row[LOAD_DROP_NS] += clock_now(r->store.clock) - began_ns;
	row[LOAD_STAYED_BYTES] = r->cold.stayed_bytes;
	if (rc == 0 && o->evidence_bytes && store_can(&r->store, BACKEND_CACHED))
		load_look_all(r);
	return rc;
}

/* What the kernel counts of this process. */
struct load_kernel {
	uint64_t minor, major, device;
};

static struct load_kernel load_kernel(void)
{
	struct rusage usage = {0};
	char text[32];

	getrusage(RUSAGE_SELF, &usage);
	proc_value("/proc/self/io", "read_bytes", text, sizeof(text));
	return (struct load_kernel){(uint64_t)usage.ru_minflt, (uint64_t)usage.ru_majflt,
				    strtoull(text, NULL, 10)};
}

static void load_kernel_count(uint64_t *row, const struct load_kernel *before)
{
	struct load_kernel now = load_kernel();

	row[LOAD_MINOR_FAULTS] += now.minor - before->minor;
	row[LOAD_MAJOR_FAULTS] += now.major - before->major;
	row[LOAD_DEVICE_BYTES] += now.device - before->device;
	row[LOAD_MEMORY_BYTES] = proc_bytes("/proc/self/status", "VmHWM");
}

/* Loads the model once. Collective. */
static int load_once(struct load_run *r, enum stop_reason *stopped, struct err *err)
{
	uint64_t *row = r->ctx->tally->rank_row, headers_ns;
	struct load_kernel before;
	struct repeat_took took;
	int rc = load_cold_before(r, err);

	if (rc < 0)
		return rc;
	load_readers_reset(r);
	rc = repeat_begin(&r->repeat);
	if (rc < 0)
		return rc;
	before = load_kernel();
	rc = repeat_run(&r->repeat, load_thread, &took, stopped, err);
	load_kernel_count(row, &before);
	load_account(r, &took);
	row[LOAD_HEADER_BYTES] += crew_count(&r->crew, LOAD_COUNT_HEADER_BYTES);
	for (uint32_t i = 0; i < r->crew.threads; i++) {
		row[LOAD_PARSE_NS] += r->members[i].cost.parse_ns;
		row[LOAD_HAND_NS] += r->members[i].hand_ns;
	}
	headers_ns = r->meeting.headers_ns > r->repeat.start_ns
			     ? r->meeting.headers_ns - r->repeat.start_ns
			     : 0;
	if (rc == 0 && *stopped == STOP_NONE)
		load_count(r, &took, headers_ns);
	return rc;
}

static int load_all(struct load_run *r, enum stop_reason *stopped, struct err *err)
{
	const struct load_options *o = r->options;
	int rc = 0;

	for (r->number = 0; rc == 0 && *stopped == STOP_NONE && r->number < o->count; r->number++) {
		if (r->number)
			rc = repeat_pause(&r->repeat, o->pause_ns, stopped, err);
		if (rc == 0 && *stopped == STOP_NONE)
			rc = load_once(r, stopped, err);
	}
	return rc;
}

/* The null rate: loads the model again, as the headers say that it is, on a store that takes no
 * time. That can only be after the last load, because reading the headers before the first one
 * would warm up caches. The run then ends. */
static int load_null(struct load_run *r, struct err *err)
{
	const struct load_options *options = r->options;
	struct phase_context *ctx = r->ctx;
	struct load_options o = *options;
	uint64_t *row = ctx->tally->rank_row;
	enum stop_reason stopped = STOP_NONE;
	struct null_pass n;
	int rc;

	o.count = o.null_passes;
	o.pause_ns = 0;
	o.cold = (struct cold_options){.drop = DROP_NONE};
	rc = null_pass_open(&n, ctx, &load_schema, NULL, err);
	load_close_store(r);
	r->ctx = &n.ctx;
	r->options = &o;
	r->described = &n.store;
	r->known = true;
	r->modelled = false;
	r->cached = NULL;
	if (rc == 0) {
		rc = load_open_store(r, err);
		if (rc == 0)
			rc = load_open_crew(r, err);
		rc = group_agree(ctx->group, rc, err);
	}
	r->repeat.at_once = true;
	if (rc == 0)
		rc = load_all(r, &stopped, err);
	load_close_store(r);
	if (rc == 0 && stopped == STOP_NONE) {
		row[LOAD_NULL_NS] = n.tally.rank_row[LOAD_LOAD_SLOWEST_NS];
		row[LOAD_NULL_BYTES] = n.tally.rank_row[LOAD_LOAD_DONE_BYTES];
	}
	r->ctx = ctx;
	r->options = options;
	null_pass_close(&n);
	return rc;
}

/* The null pass is last, and closes the store: what was loaded is measured and told before. */
static int load_work(void *run, enum stop_reason *stopped, struct err *err)
{
	struct load_run *r = run;
	struct phase_context *ctx = r->ctx;
	uint64_t *row = ctx->tally->rank_row;
	char files[UNITS_COUNTED_BYTES], times[UNITS_COUNTED_BYTES];
	int rc = load_all(r, stopped, err);

	if (r->crew.members && r->repeat.begun) {
		crew_merge(&r->crew, ctx->tally);
		row[LOAD_FILES] = r->names.count;
		repeat_measure(&r->repeat, ctx->tally);
	}
	if (rc == 0) {
		workload_say(ctx, "%s, loaded %s", units_counted(files, r->names.count, "file"),
			     units_counted(times, row[LOAD_LOADED], "time"));
		cold_say(ctx, &r->options->cold, &r->store, row[LOAD_RESIDENT_SAMPLED_BYTES],
			 row[LOAD_RESIDENT_BYTES], row[TALLY_BYTES_READ]);
		load_servers_say(r);
	}
	if (rc == 0 && *stopped == STOP_NONE && r->options->null_passes)
		rc = load_null(r, err);
	return rc;
}

/* A row for each load. */
static void load_rows_max(const struct job_phase *phase, uint32_t rows_max[TALLY_TABLES_MAX])
{
	const struct load_options *o = phase->options;

	rows_max[LOAD_TABLE_ROWS] = (uint32_t)o->count;
}

const struct workload load_workload = {
	.section = SECTION_OF(load, "loads a model for serving from its safetensors files",
			      load_targets, load_options_table),
	.schema = &load_schema,
	.snapshots = true,
	.rows = load_rows_max,
	.stores = load_stores,
	.check = load_check,
	.size = load_size,
	.run_bytes = sizeof(struct load_run),
	.open = load_open,
	.work = load_work,
	.close = load_close,
};
