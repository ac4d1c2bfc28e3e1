/* SPDX-License-Identifier: Apache-2.0 */
/* Generation in two passes over the files. The first looks at what is there: without a manifest
 * nothing may be, and then none of haul's names can be someone else's. If the manifest says that
 * all files are there, it finds those that are missing all the same. Where the folder is empty or
 * not there yet, there is nothing to look at. The second pass makes what is missing. Where a
 * manifest says that the data set was begun, this is the only pass, and looks at each file first:
 * one of the right size is whole, since a file appears only by its commit. The manifest is written
 * before the second pass, and again at the end as complete. */
#include "workloads/generate/generate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/queue.h"
#include "core/option/option.h"
#include "core/units.h"
#include "workloads/common/crew.h"
#include "workloads/common/description.h"
#include "workloads/common/open_uploads.h"
#include "workloads/common/options.h"
#include "workloads/common/small_object.h"
#include "workloads/common/writer.h"
#include "workloads/dataset/manifest.h"

static const char *const fill_names[] = {"full", "sparse", NULL};

static const struct option generate_options_table[] = {
	OPT_TEXT("dataset", struct generate_options, dataset, .def_text = "",
		 .help = "which data set; may be left out where there is only one"),
	OPT_TABLE("model", struct generate_options, model, .table = model_options,
		  .help = "a model in place of a data set: its files are made as it is published"),
	OPT_TEXT("folder", struct generate_options, folder, .def_text = "",
		 .help = "of a model: where its files lie in the store"),
	OPT_BYTES(
		"shard", struct generate_options, shard, .def = 0, .max = 1ull << 50,
		.help = "of a model: the most bytes of tensors in a file; 0: as it is published, mostly 5 GB"),
	OPT_CHOICE(
		"fill", struct generate_options, fill, .choices = fill_names,
		.help = "of a model: full: random bytes; sparse: headers and holes, which take no space, and which no storage reads"),
	OPTION_THREADS(struct generate_options, threads, 256,
		       "threads per rank, each of which makes one file at a time"),
	OPT_U64("fillers", struct generate_options, fillers, .def = 1, .max = 256,
		.help = "further threads per rank, which make the next bytes of large files while others are "
			"written; 0: none"),
	OPT_END,
};

/* What is found in the folder of a data set before anything is made. */
struct begun {
	bool resumes;  /* the manifest of this data set, or of a set that contains it, is there */
	bool complete; /* and says that all of its files are */
	bool empty;    /* nothing is there, so that no file needs a closer look */
};

struct generate {
	struct phase_context *ctx;
	const struct generate_options *options;
	struct dataset dataset; /* or, where one is made, the model */
	struct generate_model model;
	bool makes_model;
	struct store store;
	struct generate_buffers buffers;
	struct crew crew;
	struct snapshot snapshot;
	uint64_t start_ns;
	struct fillers fillers;
	struct writer *writers; /* [crew.threads] */
	bool content;           /* the store keeps what is written */
	bool looks;             /* the store can tell whether a file is there */
	bool keeps_manifest;
	struct place place;
	struct begun begun;
	bool something; /* files may be there: each is looked at before it is made */
};

/* What a thread counts. */
enum generate_count {
	COUNT_WHOLE,
	COUNT_WHOLE_BYTES,
	COUNT_OTHER,
	COUNT_MADE,
	COUNT_MADE_BYTES,
	COUNT_COMMIT_NS
};

/* A set that is larger than the job's data set is complete, or another job has to finish it
 * first. */
static int begun_matches(struct begun *b, const struct manifest *m, const struct dataset *d,
			 const struct store *store, struct err *err)
{
	int rc = manifest_matches(m, d, store->uri, err);

	b->resumes = true;
	b->complete = m->complete;
	if (rc == 0 && m->dataset.files > d->options.files && !m->complete)
		rc = err_set(err, -EEXIST,
			     "%s%s%s: has a data set of %" PRIu64
			     " files that is not complete; finish it with the job that began it",
			     store->uri, d->options.folder[0] ? "/" : "", d->options.folder,
			     m->dataset.files);
	return rc;
}

/* What is there already is not the phase's work, and that nothing is there is not an error: the
 * queue is not counted. */
static int begun_read(struct begun *b, uint64_t *set_files, const struct dataset *d,
		      struct store *store, struct err *err)
{
	const char *folder = d->options.folder;
	char name[OBJECT_KEY_BYTES], key[OBJECT_KEY_BYTES];
	struct manifest m;
	struct queue q;
	int rc = queue_open(&q, store, 1, err);

	if (rc < 0)
		return rc;
	queue_unlogged(&q);
	rc = manifest_load(&m, &q, folder, err);
	if (rc == 0) {
		*set_files = m.dataset.files;
		rc = begun_matches(b, &m, d, store, err);
		/* Of the run that was killed, which would stay beside the files that are made
		 * now. */
		snprintf(name, sizeof(name), "%s%s", folder, folder[0] ? "/" : "");
		if (rc == 0 && !b->complete) {
			open_uploads_drop_parts(&q, name);
			open_uploads_drop_left(&q, folder, dataset_objects(d), generate_clean_key,
					       d);
		}
		manifest_free(&m);
	} else if (rc == -ENOENT) {
		rc = 0;
		manifest_key(folder, key);
		b->empty = store_can(store, BACKEND_LIST) &&
			   folder_first_whole(&q, folder, key, name, NULL) == 0 && !name[0];
	}
	queue_close(&q);
	return rc;
}

/* Rank 0 looks, with a queue that nobody counts, and all ranks learn what it found; collective. d
 * becomes a part of the set that is there, where that has more files. -EEXIST: another data set is
 * there, or a larger one that is not complete. */
static int begun_look(struct begun *b, struct dataset *d, struct store *store, struct group *group,
		      struct err *err)
{
	struct {
		struct begun begun;
		uint64_t set_files;
	} found = {.set_files = d->options.files};
	int rc = 0;

	if (group->rank == 0)
		rc = begun_read(&found.begun, &found.set_files, d, store, err);
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, &found, sizeof(found));
	if (rc < 0)
		return rc;
	*b = found.begun;
	dataset_in_set(d, found.set_files);
	return 0;
}

static int generate_save_manifest(struct generate *g, struct group *group, bool complete,
				  struct err *err)
{
	struct manifest m;
	int rc = 0;

	if (group->rank == 0) {
		manifest_of(&m, &g->dataset, complete);
		rc = manifest_save(&m, &g->crew.members[0].queue, err);
	}
	return group_agree(group, rc, err);
}

/* Object i of all. Of a model, only the size is laid out. */
static void generate_lay_out(const struct generate *g, uint64_t i, struct object *o,
			     struct layout *l)
{
	uint64_t file;
	uint32_t object;

	if (g->makes_model) {
		generate_model_file(&g->model, i, o->key, &l->size);
		return;
	}
	dataset_object(&g->dataset, i, &file, &object);
	dataset_object_key(&g->dataset, file, object, o->key);
	dataset_object_layout(&g->dataset, file, object, l);
}

/* Asks for a file, and counts one that is there. *whole: it is, with the right size. */
static int generate_ask(struct crew_thread *w, struct object *o, const struct layout *l,
			bool *whole)
{
	struct generate *g = w->crew->argument;
	struct request req = {.op = REQ_STAT, .object = o, .own = true};
	int rc = crew_do(w, &req);

	*whole = false;
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	if (!g->begun.resumes || req.answer.done_bytes == OBJECT_OF_OTHERS)
		return crew_fail(
			w, &req, -EEXIST,
			"is there already, and no manifest says that haul made it: it stays; "
			"use another folder");
	*whole = req.answer.done_bytes == l->size;
	if (*whole) {
		w->counts[COUNT_WHOLE]++;
		w->counts[COUNT_WHOLE_BYTES] += l->size;
	} else {
		w->counts[COUNT_OTHER]++;
	}
	return 0;
}

static int generate_look(struct crew_thread *w, uint64_t i)
{
	struct object o = {0};
	struct layout l;
	bool whole;

	generate_lay_out(w->crew->argument, i, &o, &l);
	return generate_ask(w, &o, &l, &whole);
}

static void generate_image(const void *layout, uint64_t at, void *to, uint64_t bytes)
{
	layout_image(layout, at, to, bytes);
}

/* The object is open for writing, and is then complete or an error. */
static int generate_write(struct crew_thread *w, struct object *o, const struct layout *l,
			  uint64_t piece, uint64_t i)
{
	struct generate *g = w->crew->argument;
	struct request req = {.op = REQ_COMMIT, .object = o, .length = l->size};
	const struct generate_model_piece of_model = {&g->model, i};
	const struct writer_object what = {
		.object = o,
		.size = l->size,
		.piece = piece,
		.image = g->makes_model ? generate_model_image : generate_image,
		.argument = g->makes_model ? (const void *)&of_model : l};
	char text[FAILURE_TEXT_BYTES];
	int rc;

	if (g->makes_model && g->options->fill == GENERATE_SPARSE)
		rc = generate_model_holes(&g->model, w, o, i);
	else
		rc = writer_put(&g->writers[w - g->crew.members], &what);
	if (rc < 0)
		return rc;
	rc = crew_do(w, &req);
	w->counts[COUNT_COMMIT_NS] += req.answer.done_ns - req.answer.submit_ns;
	if (rc == 0 && g->content && !answer_text_committed(text, &req, l->size)) {
		meter_error(&w->meter);
		return crew_fail(w, &req, -EIO, text);
	}
	return rc;
}

static int generate_make(struct crew_thread *w, uint64_t i)
{
	struct generate *g = w->crew->argument;
	struct object o = {0};
	struct request req;
	struct layout l;
	uint64_t piece;
	bool whole;
	int rc;

	generate_lay_out(g, i, &o, &l);
	if (g->something) {
		rc = generate_ask(w, &o, &l, &whole);
		if (rc < 0 || whole)
			return rc;
	}
	piece = generate_piece(g->store.ops, store_part(&g->store, l.size));
	req = (struct request){
		.op = REQ_BEGIN, .object = &o, .length = l.size, .begin.part = piece};
	rc = crew_do(w, &req);
	if (rc < 0)
		return rc;
	rc = generate_write(w, &o, &l, piece, i);
	if (rc < 0) {
		queue_do(&w->queue, &(struct request){.op = REQ_ABORT, .object = &o});
		return rc;
	}
	w->counts[COUNT_MADE]++;
	w->counts[COUNT_MADE_BYTES] += l.size;
	return 0;
}

/* A model has one pass: what says that it is haul's is there before its files. */
static int generate_pass_model(struct generate *g, enum stop_reason *stopped, struct err *err)
{
	struct phase_context *ctx = g->ctx;
	struct queue *q = &g->crew.members[0].queue;
	int rc = 0;

	if (g->keeps_manifest)
		rc = place_wait(&g->place, &g->store, g->options->folder, ctx, stopped, err);
	if (rc < 0 || *stopped != STOP_NONE)
		return rc;
	rc = generate_model_begin(&g->model, q, ctx->group, &g->begun.resumes, err);
	if (rc < 0)
		return rc;
	g->something = g->looks && g->begun.resumes;
	rc = crew_run(&g->crew, generate_make, stopped, err);
	return rc < 0 || *stopped ? rc : generate_model_end(&g->model, q, ctx->group, err);
}

/* Both passes. Collective, as is all that it calls. */
static int generate_passes(struct generate *g, enum stop_reason *stopped, struct err *err)
{
	struct phase_context *ctx = g->ctx;
	uint64_t whole;
	int rc;

	if (g->keeps_manifest) {
		/* A run that generates the same set is waited for, and then it is found made. */
		rc = place_wait(&g->place, &g->store, g->dataset.options.folder, ctx, stopped, err);
		if (rc < 0 || *stopped != STOP_NONE)
			return rc;
		rc = begun_look(&g->begun, &g->dataset, &g->store, ctx->group, err);
		if (rc < 0)
			return rc;
	}
	if (g->looks && !g->begun.empty && (g->begun.complete || !g->begun.resumes)) {
		g->crew.kind = "generate, looking at what is there";
		rc = crew_run(&g->crew, generate_look, stopped, err);
		if (rc < 0 || *stopped)
			return rc;
	}
	whole = crew_count(&g->crew, COUNT_WHOLE);
	rc = group_allreduce(ctx->group, MERGE_SUM, &whole, 1);
	if (rc < 0)
		return rc;
	g->something = g->looks && g->begun.resumes;
	if (whole == g->crew.files && g->begun.complete)
		return 0; /* nothing is written: the store may be read-only */
	/* The second pass counts everything anew, so the counts of the first are dropped. */
	crew_clear_counts(&g->crew);
	if (g->keeps_manifest) {
		rc = generate_save_manifest(g, ctx->group, false, err);
		if (rc < 0)
			return rc;
	}
	g->crew.kind = "generate";
	rc = crew_run(&g->crew, generate_make, stopped, err);
	if (rc < 0 || *stopped || !g->keeps_manifest)
		return rc;
	return generate_save_manifest(g, ctx->group, true, err);
}

static int generate_work(void *run, enum stop_reason *stopped, struct err *err)
{
	struct generate *g = run;

	g->start_ns = workload_begin(g->ctx);
	crew_start(&g->crew, g->start_ns);
	snapshot_start(&g->snapshot, g->start_ns);
	return g->makes_model ? generate_pass_model(g, stopped, err)
			      : generate_passes(g, stopped, err);
}

static void generate_measure(void *run)
{
	struct generate *g = run;
	struct tally *t = g->ctx->tally;

	crew_merge(&g->crew, t);
	t->rank_row[TALLY_WALL_NS] = clock_now(g->ctx->clock) - g->start_ns;
}

static int generate_write_failed(void *member, const struct request *req, int rc)
{
	return crew_fail(member, req, rc, request_text(req));
}

/* A large file takes long: its thread looks after each write. */
static void generate_written(void *member, struct object *object, uint64_t at, uint64_t length)
{
	(void)object;
	(void)at;
	(void)length;
	crew_look(member);
}

/* A writer for each thread, and the fillers of all. */
static int generate_open_writers(struct generate *g, struct err *err)
{
	uint32_t fillers = g->content && g->buffers.filled ? (uint32_t)g->options->fillers : 0;
	int rc = fillers_open(&g->fillers, fillers, g->crew.threads, g->store.clock, err);

	g->writers = calloc(g->crew.threads, sizeof(*g->writers));
	if (!g->writers)
		return err_set(err, -ENOMEM, "no memory for %u threads", g->crew.threads);
	for (uint32_t i = 0; rc == 0 && i < g->crew.threads; i++) {
		struct crew_thread *member = &g->crew.members[i];

		g->writers[i] = (struct writer){.queue = &member->queue,
						.fillers = fillers ? &g->fillers : NULL,
						.memory = g->content ? member->buffer : NULL,
						.buffer_bytes = g->buffers.bytes,
						.buffers = g->buffers.count,
						.depth = g->buffers.depth,
						.halt = &g->crew.halt,
						.failed = generate_write_failed,
						.written = generate_written,
						.argument = member};
		rc = writer_open(&g->writers[i], err);
	}
	return rc;
}

static void generate_name(const struct crew *p, uint64_t i, char key[OBJECT_KEY_BYTES])
{
	const struct generate *g = p->argument;
	uint64_t size;

	if (g->makes_model)
		generate_model_file(&g->model, i, key, &size);
	else
		dataset_numbered_key(&g->dataset, i, key);
}

/* What a thread has counted beside its meter. */
static void generate_count(const struct crew_thread *w, struct tally *t)
{
	const struct generate *g = w->crew->argument;
	const struct writer *writer = g->writers ? &g->writers[w - w->crew->members] : NULL;
	uint64_t *row = t->rank_row;

	row[GENERATE_FILES_MADE] += w->counts[COUNT_MADE];
	row[GENERATE_FILES_KEPT] += w->counts[COUNT_WHOLE];
	row[GENERATE_BYTES_KEPT] += w->counts[COUNT_WHOLE_BYTES];
	row[GENERATE_WRITE_NS] += w->counts[COUNT_COMMIT_NS];
	if (!writer)
		return;
	row[GENERATE_FILL_NS] += writer->fill_ns;
	row[GENERATE_WRITE_NS] += writer->write_ns;
}

static void generate_so_far(void *generate, struct tally *t)
{
	const struct generate *g = generate;

	t->rank_row[TALLY_WALL_NS] = clock_now(g->store.clock) - g->start_ns;
}

/* The data set or the model. */
static int generate_open_source(struct generate *g, struct phase_context *ctx,
				const struct job_store **described, struct err *err)
{
	int rc;

	g->makes_model = generate_makes_model(ctx->phase->options);
	if (!g->makes_model)
		return generate_dataset(ctx->job, ctx->phase, described, &g->dataset, err);
	rc = generate_model_open(&g->model, ctx->phase->options, ctx->job->seed, err);
	return rc == 0 ? phase_store_find(ctx->job, ctx->phase, described, err) : rc;
}

static int generate_open(void *run, struct phase_context *ctx, struct err *err)
{
	struct generate *g = run;
	const struct generate_options *o = ctx->phase->options;
	const struct job_store *described;
	uint64_t mean;
	int rc = generate_open_source(g, ctx, &described, err);

	g->ctx = ctx;
	g->options = o;
	g->start_ns = clock_now(ctx->clock);
	if (rc == 0)
		rc = workload_store_open(ctx, described, &g->store, err);
	if (rc < 0)
		return group_agree(ctx->group, rc, err);
	g->content = store_can(&g->store, BACKEND_CONTENT);
	g->looks = store_can(&g->store, BACKEND_MISSING_IS_ERROR);
	mean = g->makes_model ? g->model.files.bytes / g->model.files.files
			      : generate_mean(&g->dataset);
	g->buffers = generate_buffers(o, mean, g->store.ops, store_part(&g->store, 0),
				      backend_in_flight(described));
	g->keeps_manifest = g->content && store_can(&g->store, BACKEND_PERSISTENT);
	g->crew =
		crew_of(ctx, &g->store, &generate_meter, o->threads, g->buffers.depth, "generate");
	g->crew.files = g->makes_model ? g->model.files.files : dataset_objects(&g->dataset);
	g->crew.buffer_bytes = g->content ? g->buffers.count * g->buffers.bytes : 0;
	g->crew.items = "files";
	g->crew.stall_limit_ns = ctx->job->stall_limit_ns;
	g->crew.name = generate_name;
	g->crew.count = generate_count;
	g->crew.snapshot = &g->snapshot;
	g->crew.argument = g;
	rc = snapshot_open(&g->snapshot, ctx, (struct snapshot_hooks){.complete = generate_so_far},
			   g, err);
	if (rc == 0)
		rc = crew_open(&g->crew, err);
	if (rc == 0)
		rc = generate_open_writers(g, err);
	return group_agree(ctx->group, rc, err);
}

static void generate_close(void *run)
{
	struct generate *g = run;

	fillers_close(&g->fillers);
	for (uint32_t i = 0; g->writers && i < g->crew.threads; i++)
		writer_close(&g->writers[i]);
	free(g->writers);
	crew_close(&g->crew);
	snapshot_close(&g->snapshot);
	place_give(&g->place);
	store_close(&g->store);
	generate_model_close(&g->model);
}

/* What was done, for the report and for whoever waits for the command. */
static void generate_say(void *run)
{
	const struct generate *g = run;
	struct phase_context *ctx = g->ctx;
	uint64_t words[4] = {crew_count(&g->crew, COUNT_WHOLE), crew_count(&g->crew, COUNT_OTHER),
			     crew_count(&g->crew, COUNT_MADE),
			     crew_count(&g->crew, COUNT_MADE_BYTES)};
	char count[UNITS_COUNTED_BYTES], all[UNITS_COUNTED_BYTES], bytes[UNITS_TEXT_BYTES];

	if (group_allreduce(ctx->group, MERGE_SUM, words, 4) < 0)
		return;
	units_counted(all, g->crew.files, "file");
	ctx->message[0] = '\0';
	if (words[2] || !words[0]) {
		units_bytes_decimal(bytes, (double)words[3]);
		if (words[0] + words[2] == g->crew.files)
			workload_say(ctx, "made %s, %s", units_counted(count, words[2], "file"),
				     bytes);
		else
			workload_say(ctx, "made %s of %s, %s", units_count(count, words[2]), all,
				     bytes);
	}
	if (words[0])
		workload_say(ctx, "%s of %s %s whole already", units_count(count, words[0]), all,
			     words[0] == 1 ? "was" : "were");
	if (!g->makes_model && g->dataset.set_files > g->dataset.options.files)
		workload_say(ctx, "of a set of %s", units_count(count, g->dataset.set_files));
	if (words[1])
		workload_say(ctx, "%s had another size and %s made again",
			     units_count(count, words[1]), words[1] == 1 ? "was" : "were");
}

const struct workload generate_workload = {
	.section = SECTION_OF(generate, "makes a data set, or the files of a model", NULL,
			      generate_options_table),
	.schema = &generate_schema,
	.purpose = PURPOSE_DATA,
	.generating = true,
	.snapshots = true,
	.check = generate_check,
	.stores = generate_stores,
	.size = generate_size,
	.run_bytes = sizeof(struct generate),
	.open = generate_open,
	.work = generate_work,
	.measure = generate_measure,
	.say = generate_say,
	.close = generate_close,
	.clean = generate_clean,
};
