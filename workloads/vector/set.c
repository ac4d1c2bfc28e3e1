/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "workloads/common/description.h"

static const struct option set_options[] = {
	OPT_TEXT("folder", struct vector_set, folder, .def_text = "", .help = ""),
	OPT_CHOICE("index", struct vector_set, shape.index, .choices = vector_kind_names,
		   .required = true, .help = ""),
	OPT_CHOICE("type", struct vector_set, shape.type, .choices = vector_type_names,
		   .required = true, .help = ""),
	OPT_CHOICE("layout", struct vector_set, shape.layout, .choices = vector_layout_names,
		   .help = ""),
	OPT_U64("vectors", struct vector_set, shape.vectors, .required = true, .min = 1,
		.max = (uint64_t)VECTOR_VECTORS_MAX * VECTOR_SEGMENTS_MAX, .help = ""),
	OPT_U64("segments", struct vector_set, shape.segments, .required = true, .min = 1,
		.max = VECTOR_SEGMENTS_MAX, .help = ""),
	OPT_U64("dimension", struct vector_set, shape.dimension, .required = true, .min = 1,
		.max = VECTOR_DIMENSION_MAX, .help = ""),
	OPT_U64("degree", struct vector_set, shape.degree, .required = true, .min = 2,
		.max = GRAPH_DEGREE_MAX, .help = ""),
	OPT_U64("pq_bytes", struct vector_set, shape.pq_bytes, .required = true, .help = ""),
	OPT_U64("lists", struct vector_set, shape.lists, .max = VECTOR_VECTORS_MAX, .help = ""),
	OPT_U64("list_pages", struct vector_set, shape.list_pages, .min = 1,
		.max = VECTOR_LIST_PAGES_MAX, .def = 3, .help = ""),
	OPT_U64("seed", struct vector_set, seed, .required = true, .help = ""),
	OPT_BOOL("complete", struct vector_set, complete, .required = true, .help = ""),
	OPT_END,
};
static const struct option *const set_tables[] = {set_options, NULL};

void vector_set_of(struct vector_set *s, const struct vector_options *o, uint64_t seed)
{
	*s = (struct vector_set){.shape = o->shape, .seed = seed};
	memcpy(s->folder, o->folder, sizeof(s->folder));
	memcpy(s->file, o->file, sizeof(s->file));
}

/* The names under which each of them is known. */
static const char *const file_names[] = {
	[VECTOR_DISKANN] = "disk.index",      [VECTOR_AISAQ] = "aisaq_disk.index",
	[VECTOR_SPANN] = "SPTAGFullList.bin", [VECTOR_IVF] = "ivf.index",
	[VECTOR_HNSW] = "hnsw.bin",
};

void vector_set_key(const struct vector_set *s, uint64_t segment, char key[OBJECT_KEY_BYTES])
{
	if (s->file[0])
		snprintf(key, OBJECT_KEY_BYTES, "%s%s%s", s->folder, s->folder[0] ? "/" : "",
			 s->file);
	else
		snprintf(key, OBJECT_KEY_BYTES, "%s%s%06" PRIu64 "_%s", s->folder,
			 s->folder[0] ? "/" : "", segment, file_names[s->shape.index]);
}

/* Lists of another number, size or content have other bytes. */
static int vector_set_check(void *set, struct err *err)
{
	const struct vector_set *s = set;

	if (s->shape.vectors % s->shape.segments == 0)
		return 0;
	return err_set(err, -EINVAL, "/segments: %" PRIu64 " vectors are not divided equally",
		       s->shape.vectors);
}

static struct description vector_set_description(const char *folder)
{
	return (struct description){.folder = folder,
				    .file = ".haul-vector.json",
				    .what = "index files",
				    .tables = set_tables,
				    .check = vector_set_check,
				    .size = sizeof(struct vector_set)};
}

static bool vector_set_same(const struct vector_shape *a, const struct vector_shape *b)
{
	return a->index == b->index && a->type == b->type && a->layout == b->layout &&
	       a->vectors == b->vectors && a->segments == b->segments &&
	       a->dimension == b->dimension &&
	       (vector_is_graph(a->index) ? a->degree == b->degree && a->pq_bytes == b->pq_bytes
					  : a->lists == b->lists && a->list_pages == b->list_pages);
}

static int vector_set_refuse(const struct vector_set *have, const struct queue *q, struct err *err)
{
	const struct vector_shape *s = &have->shape;

	return err_set(err, -EINVAL,
		       "%s/%s: has another index than the job: %s of %" PRIu64
		       " vectors of %" PRIu64 " %s in %" PRIu64 " segments, degree %" PRIu64
		       ", %" PRIu64 " lists of %" PRIu64 " pages",
		       q->channel.store->uri, have->folder, vector_kind_names[s->index], s->vectors,
		       s->dimension, vector_type_names[s->type], s->segments, s->degree, s->lists,
		       s->list_pages);
}

static int vector_set_load(struct vector_set *s, struct queue *q, struct err *err)
{
	const struct description d = vector_set_description(s->folder);
	struct vector_set have;
	int rc = description_load(&d, &have, q, err);

	if (rc == -ENOENT)
		return err_set(err, rc,
			       "%s/%s: has no index; build it first, by a phase \"vector\" with "
			       "\"operation\": \"build\"",
			       q->channel.store->uri, s->folder);
	if (rc < 0)
		return rc;
	if (!vector_set_same(&have.shape, &s->shape))
		return vector_set_refuse(&have, q, err);
	if (!have.complete)
		return err_set(
			err, -ENODATA,
			"%s/%s: the index was not built to its end; build it, or load it, again",
			q->channel.store->uri, s->folder);
	s->seed = have.seed;
	return 0;
}

/* An index of haul's that is there is replaced by one of the same files only: those of another would
 * stay. */
static int vector_set_new(struct vector_set *s, struct queue *q, struct err *err)
{
	const struct description d = vector_set_description(s->folder);
	struct vector_set have;
	int rc = description_load(&d, &have, q, err);

	if (rc == -ENOENT)
		rc = description_refuse_others(&d, q, err);
	else if (rc == 0 && !vector_set_same(&have.shape, &s->shape))
		rc = vector_set_refuse(&have, q, err);
	s->complete = false;
	return rc < 0 ? rc : description_save(&d, s, q, err);
}

int vector_set_begin(struct vector_set *s, bool builds, struct queue *q, struct group *group,
		     struct err *err)
{
	int rc = 0;

	if (!description_wanted(q))
		return 0;
	if (group->rank == 0)
		rc = builds ? vector_set_new(s, q, err) : vector_set_load(s, q, err);
	rc = group_agree(group, rc, err);
	return rc == 0 ? group_broadcast(group, s, sizeof(*s)) : rc;
}

int vector_set_end(struct vector_set *s, struct queue *q, struct group *group, struct err *err)
{
	const struct description d = vector_set_description(s->folder);
	int rc = 0;

	s->complete = true;
	if (description_wanted(q) && group->rank == 0)
		rc = description_save(&d, s, q, err);
	return group_agree(group, rc, err);
}

static void vector_clean_key(const void *set, uint64_t i, uint32_t name, char key[OBJECT_KEY_BYTES])
{
	(void)name;
	vector_set_key(set, i, key);
}

static bool vector_clean_made(const void *set, uint64_t i, uint64_t bytes)
{
	const struct vector_set *s = set;
	struct vector_index x;

	vector_index_of(&x, &s->shape, s->seed, i);
	return s->complete ? bytes == x.size : bytes <= x.size;
}

static int vector_clean_objects(struct clean *c, const struct description *d, const void *described,
				bool *stays, struct err *err)
{
	const struct vector_set *s = described;
	const struct clean_objects objects = {
		.count = s->shape.segments,
		.key = vector_clean_key,
		.names = 1,
		.made = vector_clean_made,
		.argument = s,
		.folder = s->folder,
	};
	uint64_t kept = 0;
	int rc;

	if (strcmp(s->folder, d->folder) != 0)
		return err_set(err, -EINVAL,
			       "%s/%s: says its files are in folder \"%s\"; all of them stay",
			       c->store.uri, d->folder, s->folder);
	rc = clean_objects(c, &objects, err);
	if (rc == 0)
		rc = clean_kept(c, &kept);
	*stays = kept > 0;
	return rc;
}

static struct description vector_clean_of(const struct phase_context *ctx,
					  const struct job_phase *phase, void *described)
{
	const struct vector_options *o = phase->options;

	vector_set_of(described, o, ctx->job->seed);
	return vector_set_description(o->folder);
}

/* A load leaves a copy in another store. */
static int vector_clean_stores(const struct job *job, const struct job_phase *phase,
			       const struct job_store *out[PHASE_STORES_MAX], uint32_t *count,
			       struct err *err)
{
	int rc = phase_store_find(job, phase, &out[0], err);

	*count = 1;
	if (rc == 0)
		rc = vector_load_to(job, phase, &out[1], err);
	*count += rc == 0 && out[1];
	return rc;
}

int vector_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	struct vector_set described;
	const struct description_phases phases = {
		.owner = &vector_workload,
		.of = vector_clean_of,
		.stores = vector_clean_stores,
		.how = {.objects = vector_clean_objects, .described = &described}};

	return description_clean(&phases, ctx, counts, err);
}
