/* Generation in two passes over the files. The first looks at what is there: without a manifest
 * nothing may be, and then none of haul's names can be someone else's; with the manifest of the
 * same data set, files of the right size are whole, as a file appears only by its commit. The
 * second makes what is missing. The manifest is written between them, and again at the end as
 * complete. */
#include "workloads/generate/generate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/option/option.h"
#include "core/units.h"
#include "workloads/common/crew.h"
#include "workloads/common/writer.h"
#include "workloads/dataset/manifest.h"
#include "workloads/generate/columns.h"

/* A write that its window does not hold whole is made as it goes. */
enum {
	GENERATE_WINDOW_MAX = 16 << 20,
	GENERATE_WINDOW_MANY = 1 << 20, /* of each of several writes in flight */
	GENERATE_PIECE_WHOLE = 1 << 20
};

static int generate_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			  struct err *err);
static int generate_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			 uint32_t ranks_per_node, struct demand *out, struct err *err);
static int generate_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			   struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
			   struct err *err);
static int generate_run(struct phase_context *ctx, enum stop_reason *stopped, struct err *err);

static const struct option generate_options_table[] = {
	OPT_TEXT("dataset", struct generate_options, dataset, .def_text = "",
		 .help = "which data set; may be left out where there is only one"),
	OPT_U64("threads", struct generate_options, threads, .def = 1, .min = 1, .max = 256,
		.help = "threads a rank, each making a file at a time"),
	OPT_END,
};

static const struct meter_map generate_maps[] = {
	{REQ_WRITE, METER_NONE, GENERATE_HIST_WRITE, METER_NONE, GENERATE_HIST_WRITE_FIRST_ATTEMPT},
	{REQ_COMMIT, METER_NONE, GENERATE_HIST_COMMIT, METER_NONE, METER_NONE},
	{REQ_BEGIN, METER_NONE, GENERATE_HIST_BEGIN, METER_NONE, METER_NONE},
	{REQ_STAT, METER_NONE, GENERATE_HIST_STAT, METER_NONE, METER_NONE},
};

static const struct meter_layout generate_meter = {
	.schema = &generate_schema,
	.maps = generate_maps,
	.map_count = sizeof(generate_maps) / sizeof(generate_maps[0]),
	.late = METER_NONE,
	.short_transfers = METER_NONE,
	.sync = GENERATE_HIST_SYNC,
	.publish = GENERATE_HIST_PUBLISH,
	.live_op = REQ_WRITE,
};

const struct workload generate_workload = {
	.section =
		{
			.name = "generate",
			.help = "makes a data set",
			.tables = {generate_options_table, NULL},
			.size = sizeof(struct generate_options),
			.owner = &generate_workload,
		},
	.schema = &generate_schema,
	.generating = true,
	.check = generate_check,
	.stores = generate_stores,
	.size = generate_size,
	.run = generate_run,
};

static int find(const struct job *job, const struct job_phase *phase,
		const struct job_store **store, struct dataset *d, struct err *err)
{
	const struct generate_options *o = phase->options;
	const struct job_dataset *described;
	char path[JOB_NAME_BYTES + 16];
	int rc = workload_dataset(job, phase, o->dataset, &described, store, err);

	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "/dataset%s%s", described->name[0] ? "s/" : "",
		 described->name);
	rc = dataset_init(d, described->options, job->seed, path, err);
	if (rc == 0 && d->existing)
		rc = err_set(
			err, -EINVAL,
			"%s/%s: these files exist already and haul makes none under such names; "
			"leave the phase out (--skip generate)",
			path, d->naming == NAMING_LIST ? "list" : "names");
	return rc;
}

static int generate_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			  struct err *err)
{
	const struct job_store *store;
	struct dataset d;

	(void)ranks;
	return find(job, phase, &store, &d, err);
}

/* Bytes of a write, where the store has so many. */
static uint64_t piece_bytes(const struct backend_ops *ops, uint64_t part)
{
	if (part == UINT64_MAX)
		return GENERATE_PIECE_WHOLE;
	/* Only where parts are the store's own measure may they be larger than the window. */
	return ops->part || part < GENERATE_WINDOW_MAX ? part : GENERATE_WINDOW_MAX;
}

/* Of each write in flight. */
static uint64_t window_bytes(const struct backend_ops *ops, uint64_t part, uint32_t depth)
{
	uint64_t most = depth > 1 ? GENERATE_WINDOW_MANY : GENERATE_WINDOW_MAX;
	uint64_t piece = piece_bytes(ops, part);

	return piece < most ? piece : most;
}

static int generate_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			 uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct generate_options *o = phase->options;
	const struct backend_ops *ops;
	const struct job_store *store;
	struct dataset d;
	uint32_t depth;
	int rc = find(job, phase, &store, &d, err);

	(void)ranks_per_node;
	if (rc < 0)
		return rc;
	depth = backend_in_flight(store);
	ops = store->section->owner;
	out->files = d.options.files;
	out->samples = d.samples;
	out->bytes = dataset_bytes_expected(&d);
	out->bytes_per_rank = out->bytes / ranks;
	if (ops->capabilities & BACKEND_CONTENT) {
		out->memory_per_rank =
			o->threads * depth * window_bytes(ops, backend_part(store, 0), depth);
	}
	out->memory_per_rank +=
		o->threads * (sizeof(struct crew_thread) + meter_bytes(&generate_meter));
	return 0;
}

static int generate_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			   struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
			   struct err *err)
{
	const struct backend_ops *ops;
	const struct job_store *store;
	struct phase_store *s;
	struct dataset d;
	int rc = find(job, phase, &store, &d, err);

	(void)ranks;
	if (rc < 0)
		return rc;
	s = phase_store_add(out, count, "data", store);
	ops = store->section->owner;
	if (!(ops->capabilities & BACKEND_CONTENT))
		return 0;
	s->space_bytes = dataset_bytes_expected(&d);
	manifest_key(d.options.folder, s->begun);
	s->inodes = dataset_objects(&d);
	/* The manifest, and folders where the store has such. */
	if (ops->capabilities & BACKEND_PERSISTENT)
		s->inodes += 1 + d.options.subfolders;
	return 0;
}

/* What a worker counts. */
enum generate_count {
	COUNT_WHOLE,
	COUNT_WHOLE_BYTES,
	COUNT_OTHER,
	COUNT_MADE,
	COUNT_FILL_NS,
	COUNT_WRITE_NS
};

struct generate {
	struct dataset dataset;
	struct store store;
	uint64_t window; /* of each write in flight */
	struct crew crew;
	bool content; /* the store keeps what is written */
	bool looks;   /* the store can tell whether a file is there */
	bool keeps_manifest;
	bool resumes; /* the manifest of this data set is there */
	bool was_complete;
	bool something; /* the first pass found files on this rank */
};

static int open_all(struct generate *g, struct phase_context *ctx, uint64_t start_ns,
		    struct err *err);
static int find_manifest(struct generate *g, struct group *group, struct err *err);
static int look_at_file(struct crew_thread *w, uint64_t i);
static int make_file(struct crew_thread *w, uint64_t i);
static int save_manifest(struct generate *g, struct group *group, bool complete, struct err *err);
static void count_all(const struct generate *g, struct phase_context *ctx);
static int say(const struct generate *g, struct phase_context *ctx);

/* Both passes. Collective, as is all that it calls. */
static int make_all(struct generate *g, struct phase_context *ctx, enum stop_reason *stopped,
		    struct err *err)
{
	uint64_t whole;
	int rc;

	if (g->keeps_manifest) {
		rc = find_manifest(g, ctx->group, err);
		if (rc < 0)
			return rc;
	}
	if (g->looks) {
		rc = crew_run(&g->crew, look_at_file, stopped, err);
		if (rc < 0 || *stopped)
			return rc;
	}
	whole = crew_count(&g->crew, COUNT_WHOLE);
	g->something = whole > 0;
	rc = group_allreduce(ctx->group, MERGE_SUM, &whole, 1);
	if (rc < 0)
		return rc;
	if (whole == g->crew.files && g->was_complete)
		return 0; /* nothing is written: the store may be read-only */
	if (g->keeps_manifest) {
		rc = save_manifest(g, ctx->group, false, err);
		if (rc < 0)
			return rc;
	}
	g->crew.progress = ctx->progress;
	rc = crew_run(&g->crew, make_file, stopped, err);
	if (rc < 0 || *stopped || !g->keeps_manifest)
		return rc;
	return save_manifest(g, ctx->group, true, err);
}

static int generate_run(struct phase_context *ctx, enum stop_reason *stopped, struct err *err)
{
	uint64_t start_ns = clock_now(ctx->clock);
	struct generate g = {0};
	int rc;

	*stopped = STOP_NONE;
	timeline_init(ctx->tally->timeline, start_ns);
	rc = open_all(&g, ctx, start_ns, err);
	if (rc == 0)
		rc = make_all(&g, ctx, stopped, err);
	if (rc < 0)
		*stopped = STOP_ERROR;
	if (g.crew.members)
		count_all(&g, ctx);
	if (rc == 0)
		rc = say(&g, ctx);
	crew_close(&g.crew);
	if (g.store.ops)
		store_close(&g.store);
	ctx->tally->rank_row[TALLY_WALL_NS] = clock_now(ctx->clock) - start_ns;
	return rc;
}

static int open_all(struct generate *g, struct phase_context *ctx, uint64_t start_ns,
		    struct err *err)
{
	const struct generate_options *o = ctx->phase->options;
	const struct job_store *described;
	int rc = find(ctx->job, ctx->phase, &described, &g->dataset, err);
	uint32_t depth;

	if (rc == 0)
		rc = workload_store_open(ctx, described, &g->store, err);
	if (rc < 0) {
		g->store.ops = NULL;
		return group_agree(ctx->group, rc, err);
	}
	g->content = store_can(&g->store, BACKEND_CONTENT);
	g->looks = store_can(&g->store, BACKEND_MISSING_IS_ERROR);
	depth = backend_in_flight(described);
	g->window = window_bytes(g->store.ops, store_part(&g->store, 0), depth);
	g->keeps_manifest = g->content && store_can(&g->store, BACKEND_PERSISTENT);
	g->crew = (struct crew){
		.files = dataset_objects(&g->dataset),
		.store = &g->store,
		.group = ctx->group,
		.stop = ctx->stop,
		.deadline_ns = ctx->deadline_ns,
		.start_ns = start_ns,
		.layout = &generate_meter,
		.threads = (uint32_t)o->threads,
		.depth = depth,
		.buffer_bytes = g->content ? depth * g->window : 0,
		.progress_argument = ctx->progress_argument,
		.kind = "generate",
		.argument = g,
	};
	return group_agree(ctx->group, crew_open(&g->crew, err), err);
}

/* Rank 0 reads it, all learn what it means. */
static int find_manifest(struct generate *g, struct group *group, struct err *err)
{
	bool found[2] = {false, false};
	struct manifest m;
	int rc = 0;

	if (group->rank == 0) {
		rc = manifest_load(&m, &g->crew.members[0].queue, g->dataset.options.folder, err);
		if (rc == 0) {
			found[0] = true;
			found[1] = m.complete;
			rc = manifest_matches(&m, &g->dataset, g->store.uri, err);
			manifest_free(&m);
		} else if (rc == -ENOENT) {
			rc = 0;
		}
	}
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, found, sizeof(found));
	g->resumes = found[0];
	g->was_complete = found[1];
	return rc;
}

static int save_manifest(struct generate *g, struct group *group, bool complete, struct err *err)
{
	struct manifest m;
	int rc = 0;

	if (group->rank == 0) {
		manifest_of(&m, &g->dataset, complete);
		rc = manifest_save(&m, &g->crew.members[0].queue, err);
	}
	return group_agree(group, rc, err);
}

/* Object i of all. */
static void lay_out(const struct generate *g, uint64_t i, struct object *o, struct layout *l)
{
	uint64_t file;
	uint32_t object;

	dataset_object(&g->dataset, i, &file, &object);
	dataset_object_key(&g->dataset, file, object, o->key);
	dataset_object_layout(&g->dataset, file, object, l);
}

static int look_at_file(struct crew_thread *w, uint64_t i)
{
	struct generate *g = w->crew->argument;
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o};
	struct layout l;
	int rc;

	lay_out(g, i, &o, &l);
	rc = crew_do(w, &req);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	if (!g->resumes)
		return crew_fail(
			w, &req, -EEXIST,
			"is there already, and no manifest says that haul made it: it stays; "
			"use another folder");
	if (req.answer.done_bytes == l.size) {
		w->counts[COUNT_WHOLE]++;
		w->counts[COUNT_WHOLE_BYTES] += l.size;
	} else {
		w->counts[COUNT_OTHER]++;
	}
	return 0;
}

static int write_file(struct crew_thread *w, struct object *o, const struct layout *l);

static uint64_t piece_of(const struct generate *g, uint64_t length)
{
	return piece_bytes(g->store.ops, store_part(&g->store, length));
}

static int make_file(struct crew_thread *w, uint64_t i)
{
	struct generate *g = w->crew->argument;
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o};
	struct layout l;
	int rc;

	lay_out(g, i, &o, &l);
	if (g->something) {
		rc = crew_do(w, &req);
		if (rc < 0 && rc != -ENOENT)
			return rc;
		if (rc == 0 && req.answer.done_bytes == l.size)
			return 0;
	}
	req = (struct request){
		.op = REQ_BEGIN, .object = &o, .length = l.size, .begin.part = piece_of(g, l.size)};
	rc = crew_do(w, &req);
	if (rc < 0)
		return rc;
	rc = write_file(w, &o, &l);
	if (rc < 0) {
		queue_do(&w->queue, &(struct request){.op = REQ_ABORT, .object = &o});
		return rc;
	}
	w->counts[COUNT_MADE]++;
	return 0;
}

static int write_file(struct crew_thread *w, struct object *o, const struct layout *l)
{
	struct generate *g = w->crew->argument;
	struct request req = {.op = REQ_COMMIT, .object = o, .length = l->size};
	struct object_write write = {.w = w,
				     .object = o,
				     .layout = l,
				     .content = g->content,
				     .depth = g->crew.depth,
				     .window = g->window,
				     .piece = piece_of(g, l->size),
				     .fill_ns = &w->counts[COUNT_FILL_NS],
				     .wait_ns = &w->counts[COUNT_WRITE_NS]};
	char text[96];
	int rc = object_write(&write);

	if (rc < 0)
		return rc;
	rc = crew_do(w, &req);
	w->counts[COUNT_WRITE_NS] += req.answer.done_ns - req.answer.submit_ns;
	if (rc == 0 && g->content && req.answer.done_bytes != l->size) {
		snprintf(text, sizeof(text), "the store has %" PRIu64 " bytes of it, not %" PRIu64,
			 req.answer.done_bytes, l->size);
		meter_error(&w->meter);
		return crew_fail(w, &req, -EIO, text);
	}
	return rc;
}

/* This rank's results: from the workers into the tally. */
static void count_all(const struct generate *g, struct phase_context *ctx)
{
	uint64_t *row = ctx->tally->rank_row;

	row[GENERATE_FILES_MADE] = crew_count(&g->crew, COUNT_MADE);
	row[GENERATE_FILES_KEPT] = crew_count(&g->crew, COUNT_WHOLE);
	row[GENERATE_BYTES_KEPT] = crew_count(&g->crew, COUNT_WHOLE_BYTES);
	row[GENERATE_FILL_NS] = crew_count(&g->crew, COUNT_FILL_NS);
	row[GENERATE_WRITE_NS] = crew_count(&g->crew, COUNT_WRITE_NS);
	crew_merge(&g->crew, ctx->tally);
}

static int say(const struct generate *g, struct phase_context *ctx)
{
	uint64_t words[2] = {crew_count(&g->crew, COUNT_WHOLE), crew_count(&g->crew, COUNT_OTHER)};
	char kept[UNITS_TEXT_BYTES], files[UNITS_TEXT_BYTES], other[UNITS_TEXT_BYTES];
	int rc = group_allreduce(ctx->group, MERGE_SUM, words, 2);
	int used = 0;

	if (rc < 0)
		return rc;
	units_count(kept, words[0]);
	units_count(files, g->crew.files);
	units_count(other, words[1]);
	ctx->message[0] = '\0';
	if (words[0])
		used = snprintf(ctx->message, sizeof(ctx->message),
				"%s of %s files were whole already", kept, files);
	if (words[1])
		snprintf(ctx->message + used, sizeof(ctx->message) - (size_t)used,
			 "%s%s had another size and were made again", used ? "; " : "", other);
	return 0;
}
