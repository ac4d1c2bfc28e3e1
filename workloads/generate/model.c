/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a model, as it is published: names, sizes, headers and order of tensors are the model's, their bytes are random.
 * .haul-model.json says what is made, and is there before any file; the index comes last. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/store.h"
#include "core/content/fill.h"
#include "core/key.h"
#include "workloads/common/clean.h"
#include "workloads/common/description.h"
#include "workloads/common/open_uploads.h"
#include "workloads/common/small_object.h"
#include "workloads/generate/generate.h"

enum { MODEL_MADE_VERSION = 1, MODEL_PATH_BYTES = 96 };

/* What .haul-model.json says. */
struct model_made {
	uint64_t version, shard, seed;
	bool sparse;
	struct model model;
};

static const struct option model_made_options[] = {
	OPT_U64("version", struct model_made, version, .required = true, .help = "of the names"),
	OPT_BYTES("shard", struct model_made, shard, .def = 0, .max = UINT64_MAX,
		  .help = "bytes of tensors in a file"),
	OPT_U64("seed", struct model_made, seed, .def = 0, .max = UINT64_MAX,
		.help = "of the bytes"),
	OPT_BOOL("sparse", struct model_made, sparse, .def = false, .help = "tensors are holes"),
	OPT_TABLE("model", struct model_made, model, .table = model_options, .help = "its shape"),
	OPT_END,
};
static const struct option *const model_made_tables[] = {model_made_options, NULL};

static int model_made_check(void *into, struct err *err)
{
	const struct model_made *m = into;

	return model_check(&m->model, "/model", err);
}

static struct description model_description(const char *folder)
{
	return (struct description){.folder = folder,
				    .file = ".haul-model.json",
				    .what = "files of a model",
				    .tables = model_made_tables,
				    .version = MODEL_MADE_VERSION,
				    .check = model_made_check,
				    .size = sizeof(struct model_made)};
}

static struct model_made model_made_of(const struct generate_options *o, uint64_t seed)
{
	return (struct model_made){.version = MODEL_MADE_VERSION,
				   .shard = o->shard,
				   .seed = seed,
				   .sparse = o->fill == GENERATE_SPARSE,
				   .model = o->model};
}

bool generate_makes_model(const struct generate_options *o)
{
	return o->model.layers || o->model.bytes;
}

int generate_model_check(const struct generate_options *o, const struct job_store *store,
			 const char *phase, struct err *err)
{
	const struct backend_ops *ops = store->section->owner;
	char path[MODEL_PATH_BYTES];
	int rc;

	snprintf(path, sizeof(path), "%s/model", phase);
	rc = model_check(&o->model, path, err);
	if (rc == 0 && o->dataset[0])
		rc = err_set(err, -EINVAL,
			     "%s/dataset: the phase makes a model; leave one of both out", phase);
	if (rc < 0)
		return rc;
	rc = key_check_folder(o->folder, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s/folder", phase);
	if (o->fill == GENERATE_SPARSE && !(ops->capabilities & BACKEND_MAPS))
		return err_set(
			err, -EINVAL,
			"%s/fill: store \"%s\" (%s://) has no files, so that none has holes; "
			"take \"full\"",
			phase, store->name, ops->scheme);
	return 0;
}

int generate_model_open(struct generate_model *x, const struct generate_options *o, uint64_t seed,
			struct err *err)
{
	*x = (struct generate_model){.options = o, .seed = seed};
	return published_make(&x->files, &o->model, o->shard, &x->arena, err);
}

void generate_model_close(struct generate_model *x)
{
	arena_free(&x->arena);
}

static void model_key(const char *folder, const char *name, char key[OBJECT_KEY_BYTES])
{
	snprintf(key, OBJECT_KEY_BYTES, "%s%s%s", folder, folder[0] ? "/" : "", name);
}

void generate_model_file(const struct generate_model *x, uint64_t i, char key[OBJECT_KEY_BYTES],
			 uint64_t *size)
{
	model_key(x->options->folder, x->files.file[i].name, key);
	*size = x->files.file[i].archive.size;
}

void generate_model_image(const void *piece, uint64_t at, void *to, uint64_t bytes)
{
	const struct generate_model_piece *p = piece;

	archive_image(&p->of->files.file[p->file].archive, fill_key(p->of->seed, p->file), at, to,
		      bytes);
}

int generate_model_holes(const struct generate_model *x, struct crew_thread *w, struct object *o,
			 uint64_t i)
{
	const struct archive *a = &x->files.file[i].archive;
	static const char end = 0;
	struct request req = {.op = REQ_WRITE, .object = o, .length = a->header_bytes};
	int rc;

	/* A request does not change what it writes. */
	memcpy(&req.data, &a->header, sizeof(req.data));
	rc = crew_do(w, &req);
	if (rc < 0 || a->size == a->header_bytes)
		return rc;
	req = (struct request){
		.op = REQ_WRITE, .object = o, .offset = a->size - 1, .length = sizeof(end)};
	req.data = (char *)(uintptr_t)&end;
	return crew_do(w, &req);
}

/* Whether what is there has the files that are to be made. */
static int model_same(const struct generate_model *x, const struct model_made *have,
		      const struct store *store, struct err *err)
{
	struct published files;
	struct arena arena = {NULL};
	int rc = published_make(&files, &have->model, have->shard, &arena, err);
	bool same = rc == 0 && files.files == x->files.files && files.bytes == x->files.bytes &&
		    have->seed == x->seed && have->sparse == (x->options->fill == GENERATE_SPARSE);

	arena_free(&arena);
	if (rc == 0 && !same)
		rc = err_set(
			err, -EEXIST,
			"%s/%s: has another model of haul's, or this one with other bytes; remove "
			"it (haul clean), or use another folder",
			store->uri, x->options->folder);
	return rc;
}

static void model_clean_key(const void *model, uint64_t i, uint32_t name,
			    char key[OBJECT_KEY_BYTES])
{
	uint64_t size;

	(void)name;
	generate_model_file(model, i, key, &size);
}

int generate_model_begin(struct generate_model *x, struct queue *q, struct group *group,
			 bool *resumes, struct err *err)
{
	const struct description d = model_description(x->options->folder);
	struct model_made have, made = model_made_of(x->options, x->seed);
	int rc = 0;

	*resumes = false;
	if (!description_wanted(q))
		return 0;
	if (group->rank == 0) {
		rc = description_load(&d, &have, q, err);
		*resumes = rc == 0;
		if (rc == -ENOENT) {
			rc = description_refuse_others(&d, q, err);
			rc = rc < 0 ? rc : description_save(&d, &made, q, err);
		} else if (rc == 0) {
			rc = model_same(x, &have, q->channel.store, err);
			if (rc == 0)
				open_uploads_drop_left(q, d.folder, x->files.files, model_clean_key,
						       x);
		}
	}
	rc = group_agree(group, rc, err);
	return rc < 0 ? rc : group_broadcast(group, resumes, sizeof(*resumes));
}

int generate_model_end(const struct generate_model *x, struct queue *q, struct group *group,
		       struct err *err)
{
	char key[OBJECT_KEY_BYTES], *text;
	int rc = 0;

	if (group->rank == 0 && x->files.files > 1) {
		text = published_index(&x->files);
		model_key(x->options->folder, published_index_name, key);
		rc = text ? small_object_save(q, key, text, err)
			  : err_set(err, -ENOMEM, "no memory for %s", key);
		free(text);
	}
	return group_agree(group, rc, err);
}

static bool model_clean_made(const void *model, uint64_t i, uint64_t bytes)
{
	const struct generate_model *x = model;

	return bytes == x->files.file[i].archive.size;
}

/* The files that have the size that they were made with, and the index. */
static int model_clean_objects(struct clean *c, const struct description *d, const void *described,
			       bool *stays, struct err *err)
{
	const struct model_made *made = described;
	struct generate_options o = {.model = made->model, .shard = made->shard};
	struct generate_model x;
	struct clean_objects objects = {.key = model_clean_key,
					.names = 1,
					.made = model_clean_made,
					.argument = &x,
					.folder = d->folder};
	char key[OBJECT_KEY_BYTES];
	uint64_t kept = 0;
	int rc;

	snprintf(o.folder, sizeof(o.folder), "%s", d->folder);
	rc = generate_model_open(&x, &o, made->seed, err);
	objects.count = x.files.files;
	if (rc == 0)
		rc = clean_objects(c, &objects, err);
	if (rc == 0)
		rc = clean_kept(c, &kept);
	*stays = kept > 0;
	if (rc == 0 && !kept && x.files.files > 1 && c->crew.group->rank == 0) {
		model_key(d->folder, published_index_name, key);
		clean_key(c, key);
	}
	generate_model_close(&x);
	return rc;
}

static struct description model_clean_of(const struct phase_context *ctx,
					 const struct job_phase *phase, void *described)
{
	const struct generate_options *o = phase->options;

	*(struct model_made *)described = model_made_of(o, ctx->job->seed);
	return model_description(o->folder);
}

/* Phases that make data sets have none. */
static int model_clean_stores(const struct job *job, const struct job_phase *phase,
			      const struct job_store *out[PHASE_STORES_MAX], uint32_t *count,
			      struct err *err)
{
	*count = generate_makes_model(phase->options);
	return *count ? phase_store_find(job, phase, &out[0], err) : 0;
}

int generate_model_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	struct model_made described;
	const struct description_phases phases = {
		.owner = &generate_workload,
		.of = model_clean_of,
		.stores = model_clean_stores,
		.how = {.objects = model_clean_objects, .described = &described}};

	return description_clean(&phases, ctx, counts, err);
}
