/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/io/set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "core/option/option.h"
#include "workloads/common/description.h"
#include "workloads/common/open_uploads.h"
#include "workloads/common/small_object.h"

enum { RANK_DIGITS = 7, OBJECT_DIGITS = 10 };

static const struct option set_options[] = {
	OPT_TEXT("folder", struct io_set, folder, .def_text = "", .help = ""),
	OPT_CHOICE("layout", struct io_set, layout, .choices = io_layout_names, .help = ""),
	OPT_BOOL("folder_per_rank", struct io_set, folder_per_rank, .help = ""),
	OPT_U64("ranks", struct io_set, ranks, .required = true, .min = 1, .max = UINT32_MAX,
		.help = ""),
	OPT_U64("objects", struct io_set, objects, .required = true, .min = 1, .max = 9999999999,
		.help = ""),
	OPT_BYTES("size", struct io_set, size, .required = true, .max = 1ull << 50, .help = ""),
	OPT_LIST("sizes", struct io_set, sizes, size_count, .table = io_size_options, .help = ""),
	OPT_U64("seed", struct io_set, seed, .required = true, .help = ""),
	OPT_REAL("compress", struct io_set, compress, .help = ""),
	OPT_REAL("dedup", struct io_set, dedup, .help = ""),
	OPT_BYTES("dedup_distance", struct io_set, dedup_distance, .help = ""),
	OPT_BOOL("complete", struct io_set, complete, .required = true, .help = ""),
	OPT_U64("written", struct io_set, written, .required = true, .help = ""),
	OPT_U64("threads", struct io_set, threads, .required = true, .help = ""),
	OPT_BYTES("block", struct io_set, block, .required = true, .help = ""),
	OPT_CHOICE("order", struct io_set, order, .choices = io_order_names, .help = ""),
	OPT_END,
};
static const struct option *const set_tables[] = {set_options, NULL};

/* What defines the set has changed. */
static void io_set_ready(struct io_set *s)
{
	io_sizes_init(&s->drawn, s->sizes, s->size_count, s->size, s->objects * s->ranks, s->seed);
}

void io_set_of(struct io_set *s, const struct io_options *o, uint64_t seed, uint64_t ranks)
{
	bool creates = o->operation == IO_DO_CREATE;

	*s = (struct io_set){
		.layout = o->layout,
		.folder_per_rank = o->folder_per_rank,
		.ranks = ranks,
		.objects = o->objects,
		.size = creates ? 0 : io_size_of(o),
		.size_count = creates ? 0 : o->size_count,
		.seed = seed,
		.compress = o->compress,
		.dedup = o->dedup,
		.dedup_distance = o->dedup_distance,
		.threads = o->threads,
		.block = o->block,
		.order = o->order,
	};
	snprintf(s->folder, sizeof(s->folder), "%s", o->folder);
	memcpy(s->sizes, o->sizes, s->size_count * sizeof(s->sizes[0]));
	io_set_ready(s);
}

uint64_t io_set_bytes(const struct io_set *s, uint64_t rank, uint64_t object)
{
	if (s->layout != IO_OBJECTS)
		return s->size * s->ranks;
	return io_sizes_at(&s->drawn, rank * s->objects + object);
}

static char *io_set_put_digits(char *at, uint64_t value, unsigned digits)
{
	for (unsigned i = digits; i-- > 0; value /= 10)
		at[i] = (char)('0' + value % 10);
	return at + digits;
}

static char *io_set_put_folder(const struct io_set *s, uint64_t rank, char *at)
{
	at = stpcpy(at, s->folder);
	if (s->folder[0])
		*at++ = '/';
	if (s->folder_per_rank) {
		at = io_set_put_digits(at, rank, RANK_DIGITS);
		*at++ = '/';
	}
	return at;
}

void io_set_folder(const struct io_set *s, uint64_t rank, char key[OBJECT_KEY_BYTES])
{
	*io_set_put_folder(s, rank, key) = '\0';
}

void io_set_key(const struct io_set *s, uint64_t rank, uint64_t object, char key[OBJECT_KEY_BYTES])
{
	char *at = io_set_put_folder(s, rank, key);

	if (s->layout != IO_OBJECTS) {
		strcpy(at, "shared");
		return;
	}
	at = io_set_put_digits(at, rank, RANK_DIGITS);
	*at++ = '.';
	at = io_set_put_digits(at, object, OBJECT_DIGITS);
	*at = '\0';
}

void io_set_renamed(char key[OBJECT_KEY_BYTES])
{
	strcat(key, ".renamed");
}

static int io_set_check(void *set, struct err *err)
{
	struct io_set *s = set;
	int rc = io_sizes_check(s->sizes, s->size_count, "/sizes", err);

	if (rc == 0)
		io_set_ready(s);
	return rc;
}

static struct description io_set_description(const char *folder)
{
	return (struct description){.folder = folder,
				    .file = ".haul-io.json",
				    .what = "objects",
				    .tables = set_tables,
				    .check = io_set_check,
				    .size = sizeof(struct io_set)};
}

static int io_set_save(const struct io_set *s, struct queue *q, struct err *err)
{
	const struct description d = io_set_description(s->folder);

	return description_save(&d, s, q, err);
}

/* Whether what exists is what the phase describes. Names matter to all operations, bytes to those
 * that move some. */
static int io_set_check_same(const struct io_set *have, const struct io_set *s,
			     const struct io_options *o, const char *where, const char *advice,
			     struct err *err)
{
	bool moves = io_moves(o) || o->operation == IO_DO_CREATE;
	/* What a rank's part of one object is, each phase may say for itself. */
	bool shared = have->layout != IO_OBJECTS && s->layout != IO_OBJECTS;
	const struct {
		const char *name;
		uint64_t was, is;
		bool matters;
	} counts[] = {
		{"ranks", have->ranks, s->ranks, !shared},
		{"layout", have->layout, s->layout, !shared},
		{"folder_per_rank", have->folder_per_rank, s->folder_per_rank, true},
		{"objects", have->objects, s->objects, true},
		{"size", have->size, s->size, moves && !shared},
		{"bytes in all", have->size * have->ranks, s->size * s->ranks, moves && shared},
		{"seed", have->seed, s->seed, moves},
		{"dedup_distance", have->dedup_distance, s->dedup_distance, moves && s->dedup > 1},
	};
	const struct {
		const char *name;
		double was, is;
	} ratios[] = {{"compress", have->compress, s->compress}, {"dedup", have->dedup, s->dedup}};

	for (size_t i = 0; i < COUNT(counts); i++)
		if (counts[i].matters && counts[i].was != counts[i].is)
			return err_set(err, -EEXIST,
				       "%s/%s: its objects were made with %s %" PRIu64
				       ", this phase says %" PRIu64 "%s",
				       where, s->folder, counts[i].name, counts[i].was,
				       counts[i].is, advice);
	if (moves && !shared &&
	    (have->size_count != s->size_count ||
	     memcmp(have->sizes, s->sizes, s->size_count * sizeof(s->sizes[0])) != 0))
		return err_set(err, -EEXIST, "%s/%s: its objects were made with other sizes%s",
			       where, s->folder, advice);
	for (size_t i = 0; moves && i < COUNT(ratios); i++)
		if (ratios[i].was != ratios[i].is)
			return err_set(
				err, -EEXIST,
				"%s/%s: its objects were made with %s %g, this phase says %g%s",
				where, s->folder, ratios[i].name, ratios[i].was, ratios[i].is,
				advice);
	return 0;
}

/* Whether both phases work on the same objects. */
static bool io_set_shared(const struct job *job, const struct job_phase *a,
			  const struct job_phase *b)
{
	const struct io_options *x = a->options, *y = b->options;
	const struct job_store *here, *there;

	return a->section == b->section && !a->together && !b->together &&
	       strcmp(x->folder, y->folder) == 0 && phase_store_find(job, a, &here, NULL) == 0 &&
	       phase_store_find(job, b, &there, NULL) == 0 && here == there;
}

static bool io_set_makes(const struct io_options *o)
{
	return (o->operation == IO_DO_WRITE && o->order != IO_REPLACEMENT) ||
	       o->operation == IO_DO_CREATE;
}

/* The first phase before this one that makes its objects; NULL: none, or they are deleted again. */
static const struct job_phase *io_set_maker(const struct job *job, const struct job_phase *phase)
{
	const struct job_phase *made = NULL;

	for (const struct job_phase *p = job->phases; p < phase; p++) {
		const struct io_options *o = p->options;

		if (!io_set_shared(job, p, phase))
			continue;
		if (io_set_makes(o) && !made)
			made = p;
		else if (o->operation == IO_DO_DELETE)
			made = NULL;
	}
	return made;
}

int io_set_check_job(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     struct err *err)
{
	const struct job_phase *made = io_set_maker(job, phase);
	char where[sizeof(phase->path) + 8], advice[JOB_NAME_BYTES + 96];
	const struct job_store *store;
	struct io_set have, s;
	int rc = phase_store_find(job, phase, &store, err);

	if (rc < 0 || !made ||
	    !(((const struct backend_ops *)store->section->owner)->capabilities & BACKEND_CONTENT))
		return rc;
	io_set_of(&have, made->options, job->seed, ranks);
	io_set_of(&s, phase->options, job->seed, ranks);
	snprintf(where, sizeof(where), "%s: folder", phase->path);
	snprintf(advice, sizeof(advice),
		 "; give both the same, or this one another folder (phase %.64s makes them)",
		 made->name);
	rc = io_set_check_same(&have, &s, phase->options, where, advice, err);
	return rc < 0 ? -EINVAL : 0;
}

/* What an unfinished set can be used for. */
static int io_set_check_complete(const struct io_set *have, const struct io_set *s,
				 const struct io_options *o, const char *where, struct err *err)
{
	bool whole = o->operation == IO_DO_MIXED || o->operation == IO_DO_RENAME ||
		     (o->operation == IO_DO_WRITE && o->order == IO_REPLACEMENT);

	if (have->complete && o->operation == IO_DO_CREATE)
		return err_set(err, -EEXIST,
			       "%s/%s: its objects are there already; delete them first", where,
			       s->folder);
	if (have->complete)
		return 0;
	if (whole)
		return err_set(err, -EINVAL,
			       "%s/%s: not all objects were written, and this phase needs all",
			       where, s->folder);
	if (o->operation != IO_DO_READ)
		return 0;
	if (!have->written)
		return err_set(
			err, -EINVAL,
			"%s/%s: nothing was written by every thread, so there is nothing to read",
			where, s->folder);
	if (have->ranks != s->ranks || have->layout != s->layout)
		return err_set(err, -EINVAL,
			       "%s/%s: not all was written; what was can be read by the same ranks "
			       "(%llu), in the same layout",
			       where, s->folder, (unsigned long long)have->ranks);
	if (have->threads != s->threads || have->block != s->block)
		return err_set(
			err, -EINVAL,
			"%s/%s: not all was written; what was can be read with the same threads "
			"(%llu) and block (%llu)",
			where, s->folder, (unsigned long long)have->threads,
			(unsigned long long)have->block);
	return 0;
}

static bool io_set_removes(const struct io_options *o)
{
	return o->operation == IO_DO_DELETE || (o->operation == IO_DO_MIXED && o->mix.remove > 0);
}

static void io_clean_key(const void *set, uint64_t i, uint32_t name, char key[OBJECT_KEY_BYTES])
{
	const struct io_set *s = set;

	io_set_key(s, i / s->objects, i % s->objects, key);
	/* An object at which a rename was interrupted has its other name. */
	if (name)
		io_set_renamed(key);
}

static uint64_t io_set_objects(const struct io_set *s)
{
	return s->objects * (s->layout == IO_OBJECTS ? s->ranks : 1);
}

/* Rank 0's part. */
static int io_set_begin_one(struct io_set *s, const struct io_options *o, struct queue *q,
			    struct err *err)
{
	const char *where = q->channel.store->uri;
	const struct description d = io_set_description(s->folder);
	struct io_set have = {0};
	struct err none = {0};
	int rc = description_load(&d, &have, q, &none);

	if (rc == -ENOENT && !io_set_makes(o))
		return err_set(
			err, rc,
			"%s/%s: no io phase has written objects there; write or create them first",
			where, s->folder);
	if (rc == -ENOENT) {
		rc = description_refuse_others(&d, q, err);
		return rc < 0 ? rc : io_set_save(s, q, err);
	}
	if (rc < 0) {
		*err = none;
		return rc;
	}
	rc = io_set_check_same(&have, s, o, where,
			       "; delete them with the old options or use another folder", err);
	if (rc == 0)
		rc = io_set_check_complete(&have, s, o, where, err);
	if (rc < 0)
		return rc;
	if (io_set_makes(o) && !have.complete)
		open_uploads_drop_left(q, have.folder, io_set_objects(&have), io_clean_key, &have);
	s->complete = have.complete;
	s->written = have.written;
	/* Of one object for all, ranks that move it have parts of their own. */
	if (s->layout == IO_OBJECTS || !io_moves(o)) {
		s->size = have.size;
		s->size_count = have.size_count;
		memcpy(s->sizes, have.sizes, sizeof(s->sizes));
		s->ranks = have.ranks;
		io_set_ready(s);
	}
	if (!io_set_removes(o) && !(io_set_makes(o) && !have.complete)) {
		s->threads = have.threads;
		s->block = have.block;
		s->order = have.order;
		return 0;
	}
	/* From here on nothing is known to exist, until the end of the phase records it. */
	have = *s;
	have.complete = false;
	have.written = 0;
	return io_set_save(&have, q, err);
}

int io_set_begin(struct io_set *s, const struct io_options *o, struct queue *q, struct group *group,
		 struct err *err)
{
	int rc = 0;

	if (!store_can(q->channel.store, BACKEND_CONTENT)) {
		s->complete = true;
		return 0;
	}
	if (group->rank == 0)
		rc = io_set_begin_one(s, o, q, err);
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, s, sizeof(*s));
	return rc;
}

/* Folders that hold something else stay: removing them fails. */
static void io_set_remove_folder(const struct io_set *s, uint64_t rank, struct queue *q)
{
	char key[OBJECT_KEY_BYTES];

	io_set_folder(s, rank, key);
	if (store_can(q->channel.store, BACKEND_PERSISTENT) && key[0])
		small_object_remove(q, key);
}

/* The description, and the folder of the set where it is empty. */
static void io_set_remove(const struct io_set *s, struct queue *q)
{
	const struct description d = io_set_description(s->folder);
	char key[OBJECT_KEY_BYTES];

	description_key(&d, key);
	small_object_leave(q, key);
}

static int io_set_end_deleted(const struct io_set *s, struct queue *q, struct group *group)
{
	int rc;

	if (s->folder_per_rank)
		io_set_remove_folder(s, group->rank, q);
	rc = group_barrier(group);
	if (rc == 0 && group->rank == 0)
		io_set_remove(s, q);
	return rc;
}

int io_set_end(struct io_set *s, const struct io_options *o, uint64_t done, bool all,
	       struct queue *q, struct group *group, struct err *err)
{
	int rc = 0;

	if (!store_can(q->channel.store, BACKEND_CONTENT))
		return 0;
	if (o->operation == IO_DO_DELETE && all)
		return io_set_end_deleted(s, q, group);
	/* Where objects were written over with the same bytes, what existed still exists. */
	if (io_set_makes(o) ? s->complete : !io_set_removes(o) || o->operation == IO_DO_DELETE)
		return 0;
	s->complete = all;
	s->written = io_set_makes(o) ? done : 0;
	if (group->rank == 0)
		rc = io_set_save(s, q, err);
	return group_agree(group, rc, err);
}

static bool io_clean_made(const void *set, uint64_t i, uint64_t bytes)
{
	const struct io_set *s = set;
	uint64_t whole = io_set_bytes(s, i / s->objects, i % s->objects);

	return s->complete ? bytes == whole : bytes <= whole;
}

static int io_clean_set(struct clean *c, const struct description *d, const void *set, bool *stays,
			struct err *err)
{
	const struct group *g = c->crew.group;
	const struct io_set *s = set;
	const struct clean_objects objects = {
		.count = io_set_objects(s),
		.key = io_clean_key,
		.names = 2,
		.made = io_clean_made,
		.argument = s,
		.folder = s->folder,
	};
	uint64_t kept = 0;
	int rc;

	if (strcmp(s->folder, d->folder) != 0)
		return err_set(err, -EINVAL,
			       "%s/%s: says its objects are in folder \"%s\"; all of them stay",
			       c->store.uri, d->folder, s->folder);
	rc = clean_objects(c, &objects, err);
	for (uint64_t rank = g->rank; rc != -EINTR && s->folder_per_rank && rank < s->ranks;
	     rank += g->size)
		io_set_remove_folder(s, rank, clean_queue(c));
	if (rc == 0)
		rc = clean_kept(c, &kept);
	*stays = kept > 0;
	return rc;
}

static struct description io_clean_of(const struct phase_context *ctx,
				      const struct job_phase *phase, void *described)
{
	const struct io_options *o = phase->options;

	io_set_of(described, o, ctx->job->seed, ctx->group->size);
	return io_set_description(o->folder);
}

/* `haul clean` for the objects of io phases: removes exactly what the description in a phase's
 * folder says that haul made there, whatever run and number of ranks left it. Objects of another
 * size than they were given stay and are counted; while there are any, so does the description.
 * Without a description nothing is touched. */
int io_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	struct io_set described;
	const struct description_phases phases = {
		.owner = &io_workload,
		.of = io_clean_of,
		.how = {.objects = io_clean_set, .described = &described}};

	return description_clean(&phases, ctx, counts, err);
}
