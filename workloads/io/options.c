/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/key.h"
#include "core/units.h"
#include "workloads/io/io.h"
#include "workloads/io/mix.h"

static const char *const operation_names[] = {"write",  "read", "mixed",  "stat", "create",
					      "rename", "list", "delete", NULL};
const char *const io_layout_names[] = {"objects", "segmented", "strided", NULL};
const char *const io_order_names[] = {"sequential", "random", "replacement", NULL};

static const uint64_t size_default = 64 << 20, block_default = 1 << 20;
static const double read_share_default = 0.5;

static const struct option mix_options[] = {
	OPT_REAL(
		"get", struct io_mix_options, get, .min_real = 0, .max_real = 1e9,
		.help = "share of operations that read a whole object, in proportion to the other shares"),
	OPT_REAL(
		"put", struct io_mix_options, put, .min_real = 0, .max_real = 1e9,
		.help = "share of those that write a whole object: one that was deleted, or else one over itself"),
	OPT_REAL("stat", struct io_mix_options, stat, .min_real = 0, .max_real = 1e9,
		 .help = "share of those that ask for the size of an object"),
	OPT_REAL("delete", struct io_mix_options, remove, .min_real = 0, .max_real = 1e9,
		 .help = "share of those that delete an object; at most that of put"),
	OPT_REAL("list", struct io_mix_options, list, .min_real = 0, .max_real = 1e9,
		 .help = "share of those that list one page of the folder"),
	OPT_END,
};

const struct option io_options_table[] = {
	OPT_CHOICE("operation", struct io_options, operation, .choices = operation_names,
		   .required = true, .help = "what is done to each block or object"),
	OPT_REAL("read_share", struct io_options, read_share, .def_real = 0.5, .min_real = 0,
		 .max_real = 1,
		 .help = "mixed: the share of operations that read; the others write"),
	OPT_TABLE("mix", struct io_options, mix, .table = mix_options,
		  .help = "mixed: operations on whole objects, by shares"),
	OPT_TEXT("folder", struct io_options, folder, .def_text = "io",
		 .help = "where the objects lie; phases of one folder work on the same objects"),
	OPT_CHOICE(
		"layout", struct io_options, layout, .choices = io_layout_names,
		.help = "objects: each rank has its own; segmented, strided: one object for all ranks, a part each, or block by block in turn"),
	OPT_BOOL("folder_per_rank", struct io_options, folder_per_rank, .def = false,
		 .help = "each rank's objects lie in a folder of their own"),
	OPT_U64("objects", struct io_options, objects, .def = 1, .min = 1, .max = 9999999999,
		.help = "number of objects per rank"),
	OPT_BYTES(
		"size", struct io_options, size, .def = 0, .min = 1, .max = 1ull << 50,
		.help = "bytes of an object, 64 MiB if neither this nor sizes is given; of a shared one, a rank's part on average"),
	OPT_LIST(
		"sizes", struct io_options, sizes, size_count, .table = io_size_options,
		.help = "sizes of objects that differ, by shares; an operation then reads or writes a whole object"),
	OPT_BYTES(
		"block", struct io_options, block, .def = 0, .usual = 512, .max = 1 << 30,
		.help = "bytes of a read or write; where objects are made in parts, of a part; 0: 1 MiB, "
			"or as much as a part of the store must have"),
	OPT_CHOICE("order", struct io_options, order, .choices = io_order_names,
		   .help = "random: each block or object once; replacement: drawn anew each time"),
	OPTION_DEPTH(struct io_options, depth),
	OPTION_THREADS(struct io_options, threads, 1024,
		       "threads per rank, among which its work is divided"),
	OPT_U64("batch", struct io_options, batch, .def = 1, .min = 1, .max = REQ_KEYS_MAX,
		.help = "delete: keys that one request removes, where a store takes several (s3); depth counts requests"),
	OPT_U64("parts", struct io_options, parts, .def = 1, .min = 1, .max = 1 << 20,
		.help = "list: parts of a folder that are listed side by side, by the threads of all ranks that share it"),
	OPT_U64("passes", struct io_options, passes, .def = IO_PASSES_ABSENT, .max = 1ull << 40,
		.def_text = "1; of a mixed phase that has seconds: 0",
		.help = "how often a thread goes through its work; 0: until another limit ends it"),
	OPTION_LIMITS(struct io_options, limits),
	OPT_BOOL(
		"wear_out", struct io_options, stonewall, .def = false,
		.help = "after \"seconds\" all threads go on until each has done as much as the first"),
	OPTION_SHIFT(struct io_options, shift),
	OPT_CHOICE(
		"verify", struct io_options, verify, .def = VERIFY_SAMPLED,
		.choices = options_verify,
		.help = "bytes compared with what was written: 4 KiB of each request, or all; writes with "
			"full: the store is asked for the size of each object, also of one that was "
			"written by one request"),
	OPT_BOOL(
		"discard", struct io_options, discard, .def = false,
		.help = "bytes that are read are dropped where they arrive, and nothing looks at them; for object stores, with verify none"),
	OPTION_ON_ERROR(struct io_options, on_error),
	OPTION_CONTENT(struct io_options, "that are written", 16 << 20),
	OPTION_PACE(struct io_options, pace),
	OPTION_COLD(struct io_options, cold),
	OPT_END,
};

uint64_t io_size_of(const struct io_options *o)
{
	return o->size ? o->size : size_default;
}

double io_size_mean(const struct io_options *o)
{
	return io_sizes_mean(o->sizes, o->size_count, io_size_of(o));
}

bool io_whole(const struct io_options *o, uint32_t capabilities)
{
	if (!io_moves(o) || o->layout != IO_OBJECTS)
		return false;
	return o->size_count || (o->operation == IO_DO_MIXED &&
				 (io_mix_given(o) || !(capabilities & BACKEND_UPDATE)));
}

double io_operation_bytes(const struct io_options *o, bool whole)
{
	double shares[IO_KINDS], size = io_size_mean(o);

	if (!whole)
		return size < (double)o->block ? size : (double)o->block;
	if (o->operation != IO_DO_MIXED)
		return size;
	io_mix_shares(o, shares);
	return size * (shares[IO_GET] + shares[IO_PUT]);
}

uint64_t io_items(const struct io_options *o, bool whole)
{
	if (io_moves(o) && !whole)
		return o->objects * ((io_size_of(o) - 1) / o->block + 1);
	if (o->operation == IO_DO_LIST)
		return o->parts > 1 ? o->parts : o->threads;
	return o->objects;
}

uint64_t io_limit(const struct io_options *o, uint64_t items, bool whole)
{
	uint64_t limit = UINT64_MAX;

	if (o->passes && items <= UINT64_MAX / o->passes)
		limit = items * o->passes;
	if (o->limits.count && o->limits.count < limit)
		limit = o->limits.count;
	if (o->limits.bytes && !whole && o->limits.bytes / o->block < limit)
		limit = o->limits.bytes / o->block;
	return limit;
}

uint32_t io_needs(const void *options)
{
	const struct io_options *o = options;

	switch (o->operation) {
	case IO_DO_READ:
		return BACKEND_RANGES | (o->discard ? BACKEND_DISCARD : 0);
	case IO_DO_MIXED:
		return BACKEND_RANGES | (o->layout == IO_OBJECTS ? 0 : BACKEND_UPDATE) |
		       (o->mix.list > 0 ? BACKEND_LIST : 0);
	case IO_DO_RENAME:
		return BACKEND_RENAME;
	case IO_DO_LIST:
		return BACKEND_LIST | (o->parts > 1 ? BACKEND_LIST_PARTS : 0);
	case IO_DO_WRITE:
		if (o->size_count)
			return 0;
		/* Some blocks twice, others never. */
		if (o->order == IO_REPLACEMENT)
			return BACKEND_UPDATE;
		if (o->layout != IO_OBJECTS)
			return BACKEND_SHARED;
		/* What is written whole is written by one thread, from its begin to its end. */
		return o->order != IO_SEQUENTIAL || o->threads > o->objects ? BACKEND_UPDATE : 0;
	case IO_DO_DELETE:
		return o->batch > 1 ? BACKEND_BATCH : 0;
	default:
		return 0;
	}
}

static int io_check_shared(const struct io_options *o, const char *path, struct err *err)
{
	const char *key = o->size_count ? "sizes" : io_mix_given(o) ? "mix" : NULL;

	if (o->layout == IO_OBJECTS)
		return 0;
	if (o->operation >= IO_DO_CREATE && o->operation <= IO_DO_LIST)
		return err_set(err, -EINVAL,
			       "%s/layout: \"%s\" is one object for all, nothing to %s", path,
			       io_layout_names[o->layout], operation_names[o->operation]);
	if (o->objects != 1)
		return err_set(err, -EINVAL,
			       "%s/objects: \"%s\" is one object for all, not %llu of each rank",
			       path, io_layout_names[o->layout], (unsigned long long)o->objects);
	if (key)
		return err_set(err, -EINVAL, "%s/%s: \"%s\" is one object for all ranks", path, key,
			       io_layout_names[o->layout]);
	if (o->folder_per_rank)
		return err_set(err, -EINVAL,
			       "%s/folder_per_rank: \"%s\" is one object for all ranks", path,
			       io_layout_names[o->layout]);
	return 0;
}

static int io_check_sizes(const struct io_options *o, const char *path, uint32_t ranks,
			  struct err *err)
{
	char where[JOB_NAME_BYTES + 16], counted[UNITS_COUNTED_BYTES];

	if (o->size_count && o->size)
		return err_set(err, -EINVAL, "%s/size: \"sizes\" says it; leave one of them out",
			       path);
	if (io_size_mean(o) * (double)o->objects * ranks > 0x1p62)
		return err_set(err, -EINVAL, "%s/size: the objects of %s are larger than any store",
			       path, units_counted(counted, ranks, "rank"));
	if (o->size_count && o->dedup > 1)
		return err_set(err, -EINVAL,
			       "%s/dedup: repeats need objects of one size, not sizes", path);
	snprintf(where, sizeof(where), "%s/sizes", path);
	return io_sizes_check(o->sizes, o->size_count, where, err);
}

static int io_check_work(const struct io_options *o, bool whole, const char *path, struct err *err)
{
	char threads[UNITS_COUNTED_BYTES], shared[UNITS_COUNTED_BYTES];
	uint64_t items = io_items(o, whole);

	if (o->batch > 1 && o->operation != IO_DO_DELETE)
		return err_set(err, -EINVAL, "%s/batch: is of deletes, not of \"%s\"", path,
			       operation_names[o->operation]);
	if (o->parts > 1 && o->operation != IO_DO_LIST)
		return err_set(err, -EINVAL, "%s/parts: is of listings, not of \"%s\"", path,
			       operation_names[o->operation]);
	if (o->threads > items)
		return err_set(err, -EINVAL, "%s/threads: %s share %s", path,
			       units_counted(threads, o->threads, "thread"),
			       units_counted(shared, items,
					     io_moves(o) && !whole        ? "block"
					     : o->operation == IO_DO_LIST ? "part"
									  : "object"));
	return 0;
}

static int io_check_mix(const struct io_options *o, bool whole, const char *path, struct err *err)
{
	uint64_t least = o->depth * MIX_OBJECTS_PER_OPERATION;

	if (io_mix_given(o) && o->operation != IO_DO_MIXED)
		return err_set(err, -EINVAL, "%s/mix: is of \"mixed\", not of \"%s\"", path,
			       operation_names[o->operation]);
	if (io_mix_given(o) &&
	    (o->read_share < read_share_default || o->read_share > read_share_default))
		return err_set(err, -EINVAL,
			       "%s/read_share: \"mix\" says it; leave one of them out", path);
	if (o->operation != IO_DO_MIXED || !whole)
		return 0;
	if (o->order == IO_RANDOM)
		return err_set(
			err, -EINVAL,
			"%s/order: whole objects of a mix are taken in turn (\"sequential\") or drawn "
			"anew each time (\"replacement\")",
			path);
	if (o->mix.remove > o->mix.put)
		return err_set(err, -EINVAL,
			       "%s/mix/delete: more objects would be deleted than are put", path);
	if (o->mix.remove > 0 && o->objects / o->threads < least)
		return err_set(
			err, -EINVAL,
			"%s/objects: a mix that deletes needs at least %llu objects for each "
			"thread (%d for each operation in flight), there are %llu",
			path, (unsigned long long)least, MIX_OBJECTS_PER_OPERATION,
			(unsigned long long)(o->objects / o->threads));
	return 0;
}

static int io_check_limits(const struct io_options *o, bool whole, const char *path,
			   struct err *err)
{
	const struct limit_options *l = &o->limits;

	if (!o->passes && !l->count && !l->bytes && !l->seconds_ns)
		return err_set(err, -EINVAL,
			       "%s/passes: 0 needs another limit: seconds, count or bytes", path);
	if (o->passes != 1 && (o->operation == IO_DO_DELETE || o->operation == IO_DO_CREATE))
		return err_set(err, -EINVAL, "%s/passes: %s goes over its objects once", path,
			       operation_names[o->operation]);
	if (o->order == IO_REPLACEMENT &&
	    (o->operation == IO_DO_DELETE || o->operation == IO_DO_CREATE))
		return err_set(err, -EINVAL, "%s/order: \"replacement\" would %s an object twice",
			       path, operation_names[o->operation]);
	if (o->order == IO_REPLACEMENT && o->operation == IO_DO_RENAME && o->depth * o->threads > 1)
		return err_set(
			err, -EINVAL,
			"%s/order: \"replacement\" would rename an object twice at once; say \"random\"",
			path);
	if (l->bytes && !io_moves(o))
		return err_set(err, -EINVAL, "%s/bytes: %s moves none; say count", path,
			       operation_names[o->operation]);
	if (l->bytes && l->bytes < o->block && !whole)
		return err_set(err, -EINVAL, "%s/bytes: is less than one block", path);
	if (o->stonewall && !l->seconds_ns)
		return err_set(err, -EINVAL, "%s/wear_out: needs \"seconds\"", path);
	return 0;
}

/* Bytes of the largest object that is made. */
static uint64_t io_largest(const struct io_options *o, uint64_t seed, uint32_t ranks)
{
	struct io_sizes sizes;

	if (o->layout != IO_OBJECTS)
		return io_size_of(o) * ranks;
	io_sizes_init(&sizes, o->sizes, o->size_count, io_size_of(o), o->objects * ranks, seed);
	return io_sizes_largest(&sizes);
}

void io_complete(const struct job *job, struct job_phase *phase)
{
	struct io_options *o = phase->options;
	const struct job_store *store;
	struct err none = {0};

	if (o->passes == IO_PASSES_ABSENT)
		o->passes = o->operation == IO_DO_MIXED && o->limits.seconds_ns ? 0 : 1;
	if (o->block)
		return;
	o->block = block_default;
	if (io_writes(o) && phase_store_find(job, phase, &store, &none) == 0)
		o->block = backend_part_least(store, io_size_of(o), o->block);
}

/* An object that is made in parts, which are blocks, exists once all of them have come. */
static int io_check_parts(const struct job *job, const struct job_phase *phase,
			  const struct job_store *store, uint32_t ranks, struct err *err)
{
	const struct io_options *o = phase->options;
	const struct backend_ops *ops = store->section->owner;
	bool whole = io_whole(o, ops->capabilities);
	uint64_t items = (io_items(o, whole) + o->threads - 1) / o->threads;
	char where[sizeof(phase->path) + 8];
	int rc;

	if (!io_writes(o) || ops->capabilities & BACKEND_UPDATE)
		return 0;
	snprintf(where, sizeof(where), "%s/block", phase->path);
	rc = backend_check_parts(store, io_largest(o, job->seed, ranks), o->block, where, err);
	if (rc < 0 || o->layout == IO_OBJECTS || io_limit(o, items, whole) >= items)
		return rc;
	return err_set(err, -EINVAL,
		       "%s/%s: ends before the object is whole, and %s:// keeps nothing of it then",
		       phase->path, o->limits.count ? "count" : "bytes", ops->scheme);
}

/* All caches hold what names are looked up by, too; a file's pages only its bytes. */
static int io_check_cold(const struct io_options *o, const struct job_store *store,
			 const char *path, struct err *err)
{
	if (o->cold.drop == DROP_FADVISE && !io_reads(o))
		return err_set(
			err, -EINVAL,
			"%s/cold/drop: %s reads no bytes; say \"drop_caches\", or leave it out",
			path, operation_names[o->operation]);
	return cold_check(&o->cold, store, path, err);
}

static int io_check_discard(const struct io_options *o, const char *path, struct err *err)
{
	if (!o->discard)
		return 0;
	if (o->operation != IO_DO_READ)
		return err_set(err, -EINVAL, "%s/discard: is of reads, not of \"%s\"", path,
			       operation_names[o->operation]);
	if (o->verify != VERIFY_NONE)
		return err_set(err, -EINVAL,
			       "%s/discard: what is dropped cannot be compared; set \"verify\": "
			       "\"none\"",
			       path);
	return 0;
}

int io_check(const struct job *job, const struct job_phase *phase, uint32_t ranks, struct err *err)
{
	const struct io_options *o = phase->options;
	const struct backend_ops *ops;
	const struct job_store *store;
	bool whole;
	int rc;

	rc = phase_store_find(job, phase, &store, err);
	if (rc < 0)
		return rc;
	ops = store->section->owner;
	whole = io_whole(o, ops->capabilities);
	rc = key_check_folder(o->folder, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s/folder", phase->path);
	rc = io_check_shared(o, phase->path, err);
	if (rc == 0)
		rc = io_check_sizes(o, phase->path, ranks, err);
	if (rc == 0)
		rc = io_check_limits(o, whole, phase->path, err);
	if (rc == 0)
		rc = pace_check(&o->pace, io_moves(o), operation_names[o->operation], phase->path,
				err);
	if (rc == 0)
		rc = io_check_work(o, whole, phase->path, err);
	if (rc == 0)
		rc = io_check_mix(o, whole, phase->path, err);
	if (rc == 0)
		rc = io_check_parts(job, phase, store, ranks, err);
	if (rc == 0)
		rc = io_check_cold(o, store, phase->path, err);
	if (rc == 0)
		rc = io_check_discard(o, phase->path, err);
	return rc;
}
