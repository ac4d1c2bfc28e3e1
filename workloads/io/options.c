#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/queue/queue.h"
#include "core/key.h"
#include "core/units.h"
#include "workloads/io/io.h"

static const char *const operation_names[] = {"write",  "read", "mixed",  "stat", "create",
					      "rename", "list", "delete", NULL};
static const char *const layout_names[] = {"objects", "segmented", "strided", NULL};
static const char *const order_names[] = {"sequential", "random", "replacement", NULL};

const struct option io_options_table[] = {
	OPT_CHOICE("operation", struct io_options, operation, .choices = operation_names,
		   .required = true, .help = "what is done to each block or object"),
	OPT_REAL("read_share", struct io_options, read_share, .def_real = 0.5, .min_real = 0,
		 .max_real = 1, .help = "mixed: the share of operations that read"),
	OPT_TEXT("folder", struct io_options, folder, .def_text = "io",
		 .help = "where the objects lie; phases of one folder work on the same objects"),
	OPT_CHOICE(
		"layout", struct io_options, layout, .choices = layout_names,
		.help = "objects: each rank has its own; segmented, strided: one object for all ranks, a part each, or block by block in turn"),
	OPT_BOOL("folder_per_rank", struct io_options, folder_per_rank, .def = false,
		 .help = "each rank's objects lie in a folder of their own"),
	OPT_U64("objects", struct io_options, objects, .def = 1, .min = 1, .max = 9999999999,
		.help = "objects a rank"),
	OPT_BYTES("size", struct io_options, size, .def = 64 << 20, .min = 1, .max = 1ull << 50,
		  .help = "bytes of an object; of a shared one, a rank's part on average"),
	OPT_BYTES("block", struct io_options, block, .def = 1 << 20, .min = 1, .max = 1 << 30,
		  .help = "bytes of a read or write; where objects are made in parts, of a part"),
	OPT_CHOICE("order", struct io_options, order, .choices = order_names,
		   .help = "random: each block or object once; replacement: drawn anew each time"),
	OPTION_DEPTH(struct io_options, depth),
	OPTION_THREADS(struct io_options, threads, 1024,
		       "threads of a rank, over which its work is shared out"),
	OPT_U64("batch", struct io_options, batch, .def = 1, .min = 1, .max = REQ_KEYS_MAX,
		.help = "delete: keys that one request removes, where a store takes several (s3); depth counts requests"),
	OPT_U64("passes", struct io_options, passes, .def = 1, .max = 1ull << 40,
		.help = "times over the work; 0: until another limit"),
	OPTION_LIMITS(struct io_options, limits),
	OPT_BOOL(
		"wear_out", struct io_options, stonewall, .def = false,
		.help = "after \"seconds\" all threads go on until each has done as much as the first"),
	OPTION_SHIFT(struct io_options, shift),
	OPTION_VERIFY(struct io_options, verify),
	OPT_BOOL(
		"discard", struct io_options, discard, .def = false,
		.help = "bytes read are dropped where they arrive, nobody sees them: with object stores and verify none"),
	OPTION_ON_ERROR(struct io_options, on_error),
	OPT_REAL("compress", struct io_options, compress, .def_real = 1, .min_real = 1,
		 .max_real = 512, .help = "ratio to which each 4 KiB written can be compressed"),
	OPT_REAL("dedup", struct io_options, dedup, .def_real = 1, .min_real = 1, .max_real = 1000,
		 .help = "ratio to which the 4 KiB blocks written can be deduplicated"),
	OPT_BYTES("dedup_distance", struct io_options, dedup_distance, .def = 16 << 20, .min = 4096,
		  .max = 1ull << 50, .help = "how far behind its original a repeat stands"),
	OPTION_PACE(struct io_options, pace),
	OPTION_COLD(struct io_options, cold),
	OPT_END,
};

int io_store(const struct job *job, const struct job_phase *phase, const struct job_store **store,
	     struct err *err)
{
	*store = phase->store[0]         ? job_find_store(job, phase->store)
		 : job->store_count == 1 ? &job->stores[0]
					 : NULL;
	return *store ? 0 : err_set(err, -EINVAL, "%s: needs a \"store\"", phase->path);
}

/* Blocks of an object, or of a rank's part of a shared one at most. */
static uint64_t blocks_of(const struct io_options *o)
{
	return (o->size - 1) / o->block + 1;
}

uint64_t io_items(const struct io_options *o)
{
	if (io_moves(o))
		return o->objects * blocks_of(o);
	return o->operation == IO_DO_LIST ? o->threads : o->objects;
}

uint64_t io_limit(const struct io_options *o, uint64_t items)
{
	uint64_t limit = UINT64_MAX;

	if (o->passes && items <= UINT64_MAX / o->passes)
		limit = items * o->passes;
	if (o->limits.count && o->limits.count < limit)
		limit = o->limits.count;
	if (o->limits.bytes && o->limits.bytes / o->block < limit)
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
		return BACKEND_RANGES | BACKEND_UPDATE;
	case IO_DO_CREATE:
		return BACKEND_UPDATE;
	case IO_DO_RENAME:
		return BACKEND_RENAME;
	case IO_DO_LIST:
		return BACKEND_LIST;
	case IO_DO_WRITE:
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

static int check_folder(const struct io_options *o, const char *path, struct err *err)
{
	int rc = key_check_folder(o->folder, err);

	return rc < 0 ? err_wrap(err, rc, "%s/folder", path) : 0;
}

static int check_shared(const struct io_options *o, const char *path, struct err *err)
{
	if (o->layout == IO_OBJECTS)
		return 0;
	if (o->operation >= IO_DO_CREATE && o->operation <= IO_DO_LIST)
		return err_set(err, -EINVAL,
			       "%s/layout: \"%s\" is one object for all, nothing to %s", path,
			       layout_names[o->layout], operation_names[o->operation]);
	if (o->objects != 1)
		return err_set(err, -EINVAL,
			       "%s/objects: \"%s\" is one object for all, not %llu a rank", path,
			       layout_names[o->layout], (unsigned long long)o->objects);
	if (o->folder_per_rank)
		return err_set(err, -EINVAL,
			       "%s/folder_per_rank: \"%s\" is one object for all ranks", path,
			       layout_names[o->layout]);
	return 0;
}

static int check_work(const struct io_options *o, const char *path, uint32_t ranks, struct err *err)
{
	char size[UNITS_TEXT_BYTES], block[UNITS_TEXT_BYTES];

	if (io_moves(o) && o->layout == IO_OBJECTS && o->size % o->block)
		return err_set(err, -EINVAL, "%s/size: %s is no multiple of block, %s", path,
			       units_bytes_binary(size, (double)o->size),
			       units_bytes_binary(block, (double)o->block));
	if ((double)o->size * (double)o->objects * ranks > 0x1p62)
		return err_set(err, -EINVAL, "%s/size: %llu objects on %u ranks are too large",
			       path, (unsigned long long)o->objects, ranks);
	if (o->batch > 1 && o->operation != IO_DO_DELETE)
		return err_set(err, -EINVAL, "%s/batch: is of deletes, not of \"%s\"", path,
			       operation_names[o->operation]);
	if (o->threads > io_items(o))
		return err_set(err, -EINVAL, "%s/threads: %llu threads share %llu %s", path,
			       (unsigned long long)o->threads, (unsigned long long)io_items(o),
			       io_moves(o) ? "blocks" : "objects");
	return 0;
}

static int check_limits(const struct io_options *o, const char *path, struct err *err)
{
	if (!o->passes && !o->limits.count && !o->limits.bytes && !o->limits.seconds_ns)
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
	if (o->limits.bytes && !io_moves(o))
		return err_set(err, -EINVAL, "%s/bytes: %s moves none; say count", path,
			       operation_names[o->operation]);
	if (o->limits.bytes && o->limits.bytes < o->block)
		return err_set(err, -EINVAL, "%s/bytes: is less than one block", path);
	if (o->stonewall && !o->limits.seconds_ns)
		return err_set(err, -EINVAL, "%s/wear_out: needs \"seconds\"", path);
	return 0;
}

/* What is made in parts, of blocks, stands once all of them have come. */
static int check_parts(const struct job_phase *phase, const struct job_store *store, uint32_t ranks,
		       struct err *err)
{
	const struct io_options *o = phase->options;
	const struct backend_ops *ops = store->section->owner;
	uint64_t items = (io_items(o) + o->threads - 1) / o->threads;
	char where[sizeof(phase->path) + 8];
	int rc;

	if (o->operation != IO_DO_WRITE || ops->capabilities & BACKEND_UPDATE)
		return 0;
	snprintf(where, sizeof(where), "%s/block", phase->path);
	rc = backend_check_parts(store, o->layout == IO_OBJECTS ? o->size : o->size * ranks,
				 o->block, where, err);
	if (rc < 0 || o->layout == IO_OBJECTS || io_limit(o, items) >= items)
		return rc;
	return err_set(err, -EINVAL,
		       "%s/%s: ends before the object is whole, and %s:// keeps nothing of it then",
		       phase->path, o->limits.count ? "count" : "bytes", ops->scheme);
}

/* All caches hold what names are looked up by, too; a file's pages only its bytes. */
static int check_cold(const struct io_options *o, const struct job_store *store, const char *path,
		      struct err *err)
{
	if (o->cold.drop == DROP_FADVISE && !io_reads(o))
		return err_set(
			err, -EINVAL,
			"%s/cold/drop: %s reads no bytes; say \"drop_caches\", or leave it out",
			path, operation_names[o->operation]);
	return cold_check(&o->cold, store, path, err);
}

static int check_discard(const struct io_options *o, const char *path, struct err *err)
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
	const struct job_store *store;
	int rc;

	rc = io_store(job, phase, &store, err);
	if (rc == 0)
		rc = check_folder(o, phase->path, err);
	if (rc == 0)
		rc = check_shared(o, phase->path, err);
	if (rc == 0)
		rc = check_limits(o, phase->path, err);
	if (rc == 0)
		rc = pace_check(&o->pace, io_moves(o), operation_names[o->operation], phase->path,
				err);
	if (rc == 0)
		rc = check_work(o, phase->path, ranks, err);
	if (rc == 0)
		rc = check_parts(phase, store, ranks, err);
	if (rc == 0)
		rc = check_cold(o, store, phase->path, err);
	if (rc == 0)
		rc = check_discard(o, phase->path, err);
	return rc;
}
