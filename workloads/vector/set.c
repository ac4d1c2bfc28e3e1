/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/common/description.h"
#include "workloads/common/open_uploads.h"
#include "workloads/common/small_object.h"

enum { FILE_BYTES = 40 };
static const uint64_t number_max = 1u << 30, vectors_max = UINT32_MAX;

static const struct option generation_options[] = {
	OPT_U64("generation", struct vector_generation, number, .required = true, .min = 1,
		.max = number_max, .help = ""),
	OPT_U64("vectors", struct vector_generation, vectors, .required = true, .min = 2,
		.max = vectors_max, .help = ""),
	OPT_END,
};
static const struct option *const generation_tables[] = {generation_options, NULL};

static struct description generation_description(const char *folder, uint64_t segment,
						 char file[FILE_BYTES])
{
	snprintf(file, FILE_BYTES, "%06" PRIu64 "_generation.json", segment);
	return (struct description){.folder = folder,
				    .file = file,
				    .what = "a segment",
				    .tables = generation_tables,
				    .size = sizeof(struct vector_generation)};
}

int vector_generation_parse(struct vector_generation *g, const char *text, size_t length,
			    struct err *err)
{
	char file[FILE_BYTES];
	const struct description d = generation_description("", 0, file);

	return description_parse(&d, g, text, length, err);
}

/* folder: of the index. -ENOENT: the segment is as it was built. */
static int vector_generation_load(struct vector_generation *g, const char *folder, uint64_t segment,
				  struct queue *q, struct err *err)
{
	char file[FILE_BYTES];
	const struct description d = generation_description(folder, segment, file);

	return description_load(&d, g, q, err);
}

int vector_generation_save(const struct vector_generation *g, const char *folder, uint64_t segment,
			   struct queue *q, struct err *err)
{
	char file[FILE_BYTES];
	const struct description d = generation_description(folder, segment, file);

	return description_wanted(q) ? description_save(&d, g, q, err) : 0;
}

static void vector_generation_key(const char *folder, uint64_t segment, char key[OBJECT_KEY_BYTES])
{
	char file[FILE_BYTES];
	const struct description d = generation_description(folder, segment, file);

	description_key(&d, key);
}

static void vector_generation_remove(const char *folder, uint64_t segment, struct queue *q)
{
	char key[OBJECT_KEY_BYTES];

	vector_generation_key(folder, segment, key);
	small_object_remove(q, key);
}

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
	OPT_BOOL("merged", struct vector_set, merged, .def = false, .help = ""),
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

void vector_set_key_at(const struct vector_set *s, uint64_t segment, uint64_t version,
		       char key[OBJECT_KEY_BYTES])
{
	char number[24] = "";

	if (version)
		snprintf(number, sizeof(number), ".%" PRIu64, version);
	snprintf(key, OBJECT_KEY_BYTES, "%s%s%06" PRIu64 "%s_%s", s->folder,
		 s->folder[0] ? "/" : "", segment, number, file_names[s->shape.index]);
}

struct vector_generation vector_set_generation(const struct vector_set *s, uint64_t segment)
{
	if (s->generations)
		return s->generations[segment];
	return (struct vector_generation){.vectors = vector_segment_vectors(&s->shape)};
}

void vector_set_key(const struct vector_set *s, uint64_t segment, char key[OBJECT_KEY_BYTES])
{
	const struct vector_generation g = vector_set_generation(s, segment);

	if (s->file[0])
		snprintf(key, OBJECT_KEY_BYTES, "%s%s%s", s->folder, s->folder[0] ? "/" : "",
			 s->file);
	else
		vector_set_key_at(s, segment, vector_version(&g), key);
}

void vector_set_index(const struct vector_set *s, uint64_t segment, struct vector_index *x)
{
	const struct vector_generation g = vector_set_generation(s, segment);

	vector_index_at(x, &s->shape, s->seed, segment, vector_version(&g), g.vectors);
}

void vector_set_free(struct vector_set *s)
{
	free(s->generations);
	s->generations = NULL;
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
	struct vector_set have = {.complete = false};
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
	s->merged = have.merged;
	s->complete = true;
	return 0;
}

/* Which generation each segment is. For rank 0. */
static int vector_set_load_generations(struct vector_set *s, struct queue *q, struct err *err)
{
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < s->shape.segments; i++) {
		struct vector_generation *g = &s->generations[i];

		rc = vector_generation_load(g, s->folder, i, q, err);
		if (rc != -ENOENT)
			continue;
		*g = (struct vector_generation){.vectors = vector_segment_vectors(&s->shape)};
		rc = 0;
	}
	return rc;
}

static int vector_set_find_generations(struct vector_set *s, struct queue *q, struct group *group,
				       struct err *err)
{
	size_t bytes = s->shape.segments * sizeof(*s->generations);
	int rc = 0;

	s->generations = malloc(bytes);
	if (!s->generations)
		rc = err_set(err, -ENOMEM, "no memory for %" PRIu64 " segments", s->shape.segments);
	else if (group->rank == 0)
		rc = vector_set_load_generations(s, q, err);
	rc = group_agree(group, rc, err);
	return rc == 0 ? group_broadcast(group, s->generations, bytes) : rc;
}

/* Files that may be there beside the one that is searched: on the way to the next generation, or not
 * yet removed. */
enum { VERSIONS_BESIDE = 4 };

/* Version number i of a segment: that of the generation, one or two before it, one or two behind it. */
static bool vector_set_version(const struct vector_generation *g, uint32_t i, uint64_t *version)
{
	*version = vector_version(g) + i - 2;
	return vector_version(g) + i >= 2;
}

/* Removes what merges have left of the segments, before they are built again. */
static void vector_set_forget(const struct vector_set *have, struct queue *q)
{
	struct err ignored;

	for (uint64_t i = 0; i < have->shape.segments; i++) {
		struct vector_generation g = {.number = 0};
		char key[OBJECT_KEY_BYTES];
		uint64_t version;

		if (vector_generation_load(&g, have->folder, i, q, &ignored) < 0)
			g.number = 0;
		for (uint32_t k = 0; k <= VERSIONS_BESIDE; k++) {
			if (!vector_set_version(&g, k, &version) || !version)
				continue;
			vector_set_key_at(have, i, version, key);
			small_object_remove(q, key);
		}
		vector_generation_remove(have->folder, i, q);
	}
}

/* A segment that was merged may have several files. */
static uint64_t vector_clean_files(const struct vector_set *s)
{
	return s->generations ? VERSIONS_BESIDE + 1 : 1;
}

static uint64_t vector_clean_version(const struct vector_set *s, uint64_t i)
{
	uint64_t files = vector_clean_files(s), version;
	const struct vector_generation g = vector_set_generation(s, i / files);

	/* Before the first there is none: a name that no file has. */
	if (files > 1 && !vector_set_version(&g, (uint32_t)(i % files), &version))
		return UINT64_MAX;
	return files > 1 ? version : vector_version(&g);
}

static void vector_clean_key(const void *set, uint64_t i, uint32_t name, char key[OBJECT_KEY_BYTES])
{
	const struct vector_set *s = set;

	(void)name;
	vector_set_key_at(s, i / vector_clean_files(s), vector_clean_version(s, i), key);
}

/* Drops unfinished files of a build, and of merges: what is built anew knows nothing of their versions. */
static void vector_set_drop_left(struct vector_set *have, struct queue *q)
{
	char folder[OBJECT_KEY_BYTES];
	struct err ignored;

	snprintf(folder, sizeof(folder), "%s%s", have->folder, have->folder[0] ? "/" : "");
	open_uploads_drop_parts(q, folder);
	have->generations =
		have->merged ? calloc(have->shape.segments, sizeof(*have->generations)) : NULL;
	if (have->generations)
		vector_set_load_generations(have, q, &ignored);
	open_uploads_drop_left(q, have->folder, have->shape.segments * vector_clean_files(have),
			       vector_clean_key, have);
	vector_set_free(have);
}

/* An index of haul's that is there is replaced by one of the same files only: those of another would
 * stay. */
static int vector_set_new(struct vector_set *s, struct queue *q, struct err *err)
{
	const struct description d = vector_set_description(s->folder);
	struct vector_set have = {.merged = false};
	int rc = description_load(&d, &have, q, err);

	if (rc == -ENOENT)
		rc = description_refuse_others(&d, q, err);
	else if (rc == 0 && !vector_set_same(&have.shape, &s->shape))
		rc = vector_set_refuse(&have, q, err);
	else if (rc == 0 && (have.merged || !have.complete))
		vector_set_drop_left(&have, q);
	if (rc == 0 && have.merged)
		vector_set_forget(&have, q);
	s->complete = false;
	return rc < 0 ? rc : description_save(&d, s, q, err);
}

int vector_set_begin(struct vector_set *s, bool builds, struct queue *q, struct group *group,
		     struct err *err)
{
	struct vector_generation *own = s->generations;
	int rc = 0;

	if (!description_wanted(q))
		return 0;
	if (group->rank == 0)
		rc = builds ? vector_set_new(s, q, err) : vector_set_load(s, q, err);
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, s, sizeof(*s));
	s->generations = own;
	return rc == 0 && s->merged && !builds ? vector_set_find_generations(s, q, group, err) : rc;
}

int vector_set_changes(struct vector_set *s, struct queue *q, struct group *group, struct err *err)
{
	const struct description d = vector_set_description(s->folder);
	int rc = 0;

	s->merged = true;
	if (description_wanted(q) && group->rank == 0)
		rc = description_save(&d, s, q, err);
	return group_agree(group, rc, err);
}

int vector_set_end(struct vector_set *s, struct queue *q, struct group *group, struct err *err)
{
	const struct description d = vector_set_description(s->folder);
	int rc = 0;

	s->complete = true;
	if (description_wanted(q) && group->rank == 0) {
		for (uint64_t i = 0; rc == 0 && s->generations && i < s->shape.segments; i++)
			if (s->generations[i].number)
				rc = vector_generation_save(&s->generations[i], s->folder, i, q,
							    err);
		if (rc == 0)
			rc = description_save(&d, s, q, err);
	}
	return group_agree(group, rc, err);
}

/* How many vectors the other versions of a segment have is not known: a file has whole sectors. */
static bool vector_clean_made(const void *set, uint64_t i, uint64_t bytes)
{
	const struct vector_set *s = set;
	uint64_t segment = i / vector_clean_files(s), version = vector_clean_version(s, i);
	const struct vector_generation g = vector_set_generation(s, segment);
	struct vector_index x;

	if (version && version != vector_version(&g))
		return bytes % VECTOR_SECTOR == 0;
	vector_index_at(&x, &s->shape, s->seed, segment, version,
			version ? g.vectors : vector_segment_vectors(&s->shape));
	return s->complete ? bytes == x.size : bytes <= x.size;
}

/* Also of segments that are as they were built: a run may have been killed while it wrote their first. */
static void vector_clean_generations(struct clean *c, const struct vector_set *s)
{
	char key[OBJECT_KEY_BYTES];

	for (uint64_t i = 0; i < s->shape.segments; i++) {
		vector_generation_key(s->folder, i, key);
		clean_key(c, key);
	}
}

static int vector_clean_objects(struct clean *c, const struct description *d, const void *described,
				bool *stays, struct err *err)
{
	struct vector_set set = *(const struct vector_set *)described;
	struct vector_set *s = &set;
	struct clean_objects objects = {
		.key = vector_clean_key,
		.names = 1,
		.made = vector_clean_made,
		.argument = s,
		.folder = s->folder,
	};
	uint64_t kept = 0;
	int rc = 0;

	if (strcmp(s->folder, d->folder) != 0)
		return err_set(err, -EINVAL,
			       "%s/%s: says its files are in folder \"%s\"; all of them stay",
			       c->store.uri, d->folder, s->folder);
	s->generations = NULL;
	if (s->merged)
		rc = vector_set_find_generations(s, clean_queue(c), c->crew.group, err);
	objects.count = s->shape.segments * vector_clean_files(s);
	if (rc == 0)
		rc = clean_objects(c, &objects, err);
	if (rc == 0)
		rc = clean_kept(c, &kept);
	if (rc == 0 && !kept && s->merged && c->crew.group->rank == 0)
		vector_clean_generations(c, s);
	*stays = kept > 0;
	vector_set_free(s);
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
