/* SPDX-License-Identifier: Apache-2.0 */
/* The options of checkpoints, and what is refused. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/key.h"
#include "core/numbers.h"
#include "core/units.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/common/piece_reader.h"
#include "workloads/common/repeat.h"

enum {
	CHECKPOINT_COUNT = 10,
	CHECKPOINT_PIECES_MIN = 2, /* one is filled while another is written */
	/* Regions of a shared file that is written in place begin at such multiples, so that no two
	 * ranks write into one page, and direct I/O finds its blocks. */
	CHECKPOINT_REGION_BYTES = 4096,
	CHECKPOINT_PATH_BYTES = 96
};
static const uint64_t hf_shard_usual = 5000000000;
static const uint64_t ranks_max = 1ull << 31;
static const double bytes_max = 0x1p62;

static const char *const operation_names[] = {"write", "read", "both", NULL};
const char *const checkpoint_behind_names[] = {"none", "drop", NULL};
const char *const checkpoint_fill_names[] = {"stream", "whole", NULL};
const char *const checkpoint_collectives_names[] = {"all", "cached", "none", NULL};
const char *const checkpoint_purge_names[] = {"ranks", "thread", NULL};
const char *const checkpoint_snapshot_names[] = {"none", "copy", "hold", NULL};

/* How other programs read checkpoints, as presets: X(name, readers per rank, MiB of a read). Each
 * reader has one read in flight. Sources: mlpstorage's streaming checkpoints (num_parallel_readers,
 * and four of its chunks per read); PyDAOS's (64 MiB chunks over 4 processes). */
/* clang-format off */
#define READ_AS(X) \
	X("haul",       0, 0) \
	X("mlpstorage", 8, 128) \
	X("pydaos",     4, 64)
/* clang-format on */

#define READ_AS_NAME(name, readers, mib)   name,
#define READ_AS_NUMBER(name, readers, mib) {readers, mib},
static const char *const read_as_names[] = {READ_AS(READ_AS_NAME) NULL};
static const struct {
	uint64_t readers, mib;
} read_as[] = {READ_AS(READ_AS_NUMBER)};

/* Sets the options at into to those of its read_as. */
static void options_preset_read_as(void *into)
{
	struct checkpoint_options *o = into;

	if (!read_as[o->read_as].readers)
		return;
	o->readers = read_as[o->read_as].readers;
	o->chunk = read_as[o->read_as].mib << 20;
	o->buffers = o->readers * o->chunk;
}

#define OPTIONS_FIELD(member) member
const struct option checkpoint_options_table[] = {
	CHECKPOINT_WRITE_OPTIONS(struct checkpoint_options, OPTIONS_FIELD),
	OPT_CHOICE(
		"operation", struct checkpoint_options, operation, .def = CHECKPOINT_BOTH,
		.choices = operation_names,
		.help = "write or read checkpoints; both: all are written, and then all are read"),
	OPT_U64("count", struct checkpoint_options, count, .def = CHECKPOINT_COUNT, .min = 1,
		.max = CHECKPOINT_COUNT_MAX, .help = "checkpoints written, and read"),
	OPT_TIME("pause", struct checkpoint_options, pause_ns, .def = 0, .usual = 3600000000000,
		 .help = "time between two checkpoints; it is in no figure"),
	OPTION_NULL_PASSES(struct checkpoint_options, null_passes),
	OPT_U64("readers", struct checkpoint_options, readers, .def = 1, .min = 1,
		.max = CHECKPOINT_WRITERS_MAX, .help = "threads per rank that share the reads"),
	OPT_CHOICE(
		"read_as", struct checkpoint_options, read_as, .choices = read_as_names,
		.preset = options_preset_read_as,
		.help = "readers, chunk and buffers of another program, unless they are given, too"),
	OPT_TABLE(
		"read_mesh", struct checkpoint_options, read_mesh, .table = mesh_options,
		.help = "the mesh of those who read, which has a zero of its own; left out: the mesh that wrote"),
	OPT_CHOICE(
		"replicas", struct checkpoint_options, replicas, .def = CHECKPOINT_REPLICAS_ALL,
		.choices = checkpoint_replicas_names,
		.help = "who reads weights that several data ranks hold: all of them, as real restores do, or the first, as DLIO"),
	OPTION_SHIFT(struct checkpoint_options, shift),
	OPTION_VERIFY(struct checkpoint_options, verify),
	OPTION_ON_ERROR(struct checkpoint_options, on_error),
	OPTION_COLD(struct checkpoint_options, cold),
	OPT_END,
};

static bool options_updates(const struct job_store *store)
{
	const struct backend_ops *ops = store->section->owner;

	return ops->capabilities & BACKEND_UPDATE;
}

void checkpoint_shape(const struct job *job, const struct checkpoint_options *o, uint32_t ranks,
		      const struct job_store *store, struct checkpoint_shape *out)
{
	*out = (struct checkpoint_shape){
		.model = o->model, .mesh = o->mesh, .layout = o->layout, .framing = o->framing};
	mesh_complete(&out->mesh, job->cluster.tensor, job->cluster.pipeline, ranks);
	out->rank_metadata = checkpoint_has_state_dict(out) && o->layout != CHECKPOINT_HF &&
			     o->collectives == CHECKPOINT_COLLECTIVES_NONE;
	out->consolidate = o->consolidate;
	if (o->layout == CHECKPOINT_HF)
		out->part = o->shard ? o->shard : hf_shard_usual;
	if (o->layout == CHECKPOINT_SHARED)
		out->part = options_updates(store) ? CHECKPOINT_REGION_BYTES : o->chunk;
}

static bool options_reader_mesh_given(const struct checkpoint_options *o)
{
	const struct mesh *m = &o->read_mesh;

	return m->tensor || m->pipeline || m->data || m->zero;
}

void checkpoint_reader_mesh(const struct checkpoint_options *o, const struct checkpoint_shape *s,
			    uint32_t ranks, struct mesh *out)
{
	*out = s->mesh;
	if (!options_reader_mesh_given(o))
		return;
	*out = o->read_mesh;
	mesh_complete(out, s->mesh.tensor, s->mesh.pipeline, ranks);
}

void checkpoint_settle_use(const struct job *job, struct checkpoint_options *o, uint32_t ranks)
{
	mesh_complete(&o->mesh, job->cluster.tensor, job->cluster.pipeline, ranks);
	if (options_reader_mesh_given(o))
		mesh_complete(&o->read_mesh, o->mesh.tensor, o->mesh.pipeline, ranks);
}

void checkpoint_settle(const struct job *job, struct job_phase *phase, uint32_t ranks)
{
	checkpoint_settle_use(job, phase->options, ranks);
}

bool checkpoint_reads_ranges(const struct checkpoint_options *o, const struct mesh *writers)
{
	const struct checkpoint_shape shape = {.layout = o->layout};

	return checkpoint_has_state_dict(&shape) || options_reader_mesh_given(o) ||
	       (o->replicas == CHECKPOINT_REPLICAS_ALL && writers->zero < MESH_ZERO_MAX &&
		writers->data > 1);
}

/* More than all tensors of the model have together, without the limits of whole numbers. */
static double options_bytes_most(const struct model *m, const struct mesh *mesh)
{
	double h = (double)m->hidden, ranks = (double)mesh_ranks(mesh);

	if (m->bytes)
		return (double)m->bytes * (double)mesh->data;
	/* A weight and three states of the optimizer, of 8 bytes at most, and the optimizer's rest
	 * of each rank. */
	return model_parameters_most(m) * 4 * 8 + ranks * 3 * 5 * h * 8;
}

static int options_check_model(const struct checkpoint_options *o, const struct checkpoint_shape *s,
			       const char *path, struct err *err)
{
	char where[CHECKPOINT_PATH_BYTES];
	int rc;

	snprintf(where, sizeof(where), "%s/model", path);
	rc = model_check(&o->model, where, err);
	if (rc < 0)
		return rc;
	if (mesh_ranks(&s->mesh) > ranks_max)
		return err_set(err, -EINVAL, "%s/mesh: has more ranks than any run", path);
	if (options_bytes_most(&s->model, &s->mesh) > bytes_max)
		return err_set(err, -EINVAL, "%s/model: is larger than any store", path);
	snprintf(where, sizeof(where), "%s/mesh", path);
	return mesh_check(&s->mesh, &o->model, where, err);
}

/* The ranks of the phase are the first ones of the mesh, or all. */
static int options_check_ranks(const struct checkpoint_options *o, const struct checkpoint_shape *s,
			       uint32_t ranks, const char *path, struct err *err)
{
	const struct mesh *m = &s->mesh;
	char counted[UNITS_COUNTED_BYTES];

	if (ranks <= mesh_ranks(m) || (!checkpoint_writes(o) && options_reader_mesh_given(o)))
		return 0;
	return err_set(err, -EINVAL,
		       "%s/mesh: tensor %" PRIu64 " x pipeline %" PRIu64 " x data %" PRIu64
		       " is a mesh of %s, and the phase has %" PRIu32 "; start at most %" PRIu64,
		       path, m->tensor, m->pipeline, m->data,
		       units_counted(counted, mesh_ranks(m), "rank"), ranks, mesh_ranks(m));
}

static int options_check_reader_mesh(const struct checkpoint_options *o,
				     const struct checkpoint_shape *s, uint32_t ranks,
				     const char *path, struct err *err)
{
	char where[CHECKPOINT_PATH_BYTES], counted[UNITS_COUNTED_BYTES];
	struct mesh reader;
	int rc;

	if (!options_reader_mesh_given(o))
		return 0;
	if (!checkpoint_reads(o))
		return err_set(err, -EINVAL, "%s/read_mesh: \"write\" reads nothing", path);
	checkpoint_reader_mesh(o, s, ranks, &reader);
	snprintf(where, sizeof(where), "%s/read_mesh", path);
	if (mesh_ranks(&reader) != ranks)
		return err_set(err, -EINVAL, "%s: is a mesh of %s, and the phase has %" PRIu32,
			       where, units_counted(counted, mesh_ranks(&reader), "rank"), ranks);
	rc = mesh_check(&reader, &o->model, where, err);
	if (rc < 0 || !checkpoint_writes(o) || ranks == mesh_ranks(&s->mesh))
		return rc;
	return err_set(err, -EINVAL,
		       "%s: the readers need the whole checkpoint, and %" PRIu32 " of the %" PRIu64
		       " ranks of \"mesh\" write only their part of it",
		       where, ranks, mesh_ranks(&s->mesh));
}

/* What has no effect, or none that is meant, in a phase that only reads, or only writes. */
static int options_check_operation(const struct checkpoint_options *o, const char *path,
				   struct err *err)
{
	const struct checkpoint_shape shape = {.layout = o->layout};
	bool hf = o->layout == CHECKPOINT_HF;
	const struct {
		bool refused;
		const char *key, *why;
	} rows[] = {
		{!checkpoint_writes(o) && o->keep, "keep",
		 "\"read\" removes no checkpoints; leave it out, or give it to the phase that writes"},
		{o->purge && !o->keep, "purge", "nothing is removed without \"keep\""},
		{o->interval_ns && !o->mtbf_ns, "interval",
		 "what is lost by an interval needs \"mtbf\", the mean time between failures"},
		{!checkpoint_writes(o) && o->mtbf_ns, "mtbf",
		 "\"read\" writes nothing, so that the cost of a checkpoint is not known"},
		{!checkpoint_reads(o) && o->on_error == ON_ERROR_COUNT, "on_error",
		 "a checkpoint of which something is missing is none; only reads are counted"},
		{!checkpoint_reads(o) && o->read_as, "read_as", "\"write\" reads nothing"},
		{!checkpoint_writes(o) && o->behind != CHECKPOINT_BEHIND_NONE, "behind",
		 "\"read\" writes nothing"},
		{hf && o->framing != ARCHIVE_SAFETENSORS, "framing",
		 "Hugging Face's files are safetensors; set \"framing\": \"safetensors\""},
		{hf && shard_optimizer_tensors(&o->model), "model/optimizer",
		 "Hugging Face's files have weights only; set \"optimizer\": \"none\""},
		{hf && o->model.weights == MODEL_INT4, "model/weights",
		 "torch's writer for Hugging Face has no numbers of four bits"},
		{!hf && o->consolidate, "consolidate", "only the layout \"hf\" is consolidated"},
		{!hf && o->shard, "shard", "only the layout \"hf\" has files of the model"},
		{o->consolidators > 1 && !checkpoint_consolidators(o), "consolidators",
		 "nothing is consolidated"},
		{checkpoint_has_state_dict(&shape) && o->framing == ARCHIVE_RAW, "framing",
		 "a distributed checkpoint has files of torch.save, or safetensors"},
		{!checkpoint_has_state_dict(&shape) && o->collectives, "collectives",
		 "only the layouts \"dcp\", \"megatron\" and \"hf\" have any"},
		{!checkpoint_has_state_dict(&shape) &&
			 (o->mesh.replicate > 1 || o->mesh.expert > 1),
		 "mesh",
		 "only the layouts \"dcp\", \"megatron\" and \"hf\" know replicate and expert"},
		{o->layout == CHECKPOINT_SHARED && o->framing != ARCHIVE_RAW, "framing",
		 "a shared file holds regions, not archives; set \"framing\": \"raw\""},
	};

	for (unsigned i = 0; i < COUNT(rows); i++)
		if (rows[i].refused)
			return err_set(err, -EINVAL, "%s/%s: %s", path, rows[i].key, rows[i].why);
	if (o->operation == CHECKPOINT_BOTH && o->keep && o->keep < o->count)
		return err_set(err, -EINVAL,
			       "%s/keep: %" PRIu64 " of %" PRIu64
			       " checkpoints stay, but \"both\" reads all of them; write and read "
			       "in two phases",
			       path, o->keep, o->count);
	return 0;
}

/* "whole" has an effect only where a phase writes, the store keeps bytes, and no snapshot has said
 * what is in memory. */
static int options_check_fill(const struct checkpoint_use *use, struct err *err)
{
	const struct checkpoint_options *o = use->options;
	const struct backend_ops *ops = use->store->section->owner;

	if (o->fill != CHECKPOINT_FILL_WHOLE)
		return 0;
	if (!checkpoint_writes(o))
		return err_set(err, -EINVAL, "%s/fill: \"read\" writes nothing", use->path);
	if (use->snapshot != CHECKPOINT_SNAPSHOT_NONE)
		return err_set(
			err, -EINVAL,
			"%s/fill: with \"async\", the snapshot says what is in memory; leave out \"fill\", or "
			"set \"async\": \"hold\"",
			use->path);
	if (!(ops->capabilities & BACKEND_CONTENT))
		return err_set(err, -EINVAL,
			       "%s/fill: store \"%s\" (%s://) keeps no bytes, so none are made; "
			       "leave it out",
			       use->path, use->store->name, ops->scheme);
	return 0;
}

/* The ring: chunks that are filled while others are written. */
static int options_check_ring(const struct checkpoint_options *o, const char *path, struct err *err)
{
	const struct {
		const char *key;
		uint64_t threads;
		bool used;
	} rows[] = {
		{"writers", o->writers, checkpoint_writes(o)},
		{"readers", o->readers, checkpoint_reads(o)},
		{"consolidators", o->consolidators, checkpoint_consolidators(o) > 0},
	};
	int rc = piece_check_memory(o->buffers, o->chunk, CHECKPOINT_PIECES_MIN, path, err);

	for (unsigned i = 0; rc == 0 && i < COUNT(rows); i++)
		if (rows[i].used)
			rc = piece_check_threads(o->buffers, o->chunk, rows[i].threads, rows[i].key,
						 path, err);
	return rc;
}

/* The largest file or, where it is shared, all of it. */
static int options_largest(const struct checkpoint_shape *s, uint32_t ranks, uint64_t *bytes,
			   struct err *err)
{
	*bytes = 0;
	if (s->layout == CHECKPOINT_SHARED) {
		*bytes = checkpoint_shared_bytes(s, ranks);
		return 0;
	}
	/* Of the ranks of a stage, those of the first data rank have the largest files. */
	for (uint64_t stage = 0; stage < s->mesh.pipeline; stage++) {
		uint64_t rank = stage * s->mesh.tensor, size;
		uint32_t files = checkpoint_file_count(s, rank);

		for (uint32_t i = 0; i < files; i++) {
			int rc = checkpoint_file_bytes(s, rank, i, &size, err);

			if (rc < 0)
				return rc;
			*bytes = max_u64(*bytes, size);
		}
	}
	return 0;
}

/* A store that makes objects in parts takes chunks as parts. */
static int options_check_parts(const struct checkpoint_options *o, const struct checkpoint_shape *s,
			       uint32_t ranks, const struct job_store *store, const char *path,
			       struct err *err)
{
	char where[CHECKPOINT_PATH_BYTES];
	uint64_t largest;
	int rc;

	if (!checkpoint_writes(o) || options_updates(store))
		return 0;
	if (o->consolidate)
		return err_set(
			err, -EINVAL,
			"%s/consolidate: store \"%s\" cannot be written in place, as torch does it",
			path, store->name);
	rc = options_largest(s, ranks, &largest, err);
	snprintf(where, sizeof(where), "%s/chunk", path);
	return rc < 0 ? rc : backend_check_parts(store, largest, o->chunk, where, err);
}

static int options_check_cache(const struct checkpoint_options *o, const struct job_store *store,
			       const char *path, struct err *err)
{
	const struct backend_ops *ops = store->section->owner;

	if (o->behind != CHECKPOINT_BEHIND_NONE && !(ops->capabilities & BACKEND_CACHED))
		return err_set(err, -EINVAL,
			       "%s/behind: store \"%s\" (%s://) has no page cache on this side; "
			       "leave it out",
			       path, store->name, ops->scheme);
	if (o->cold.drop != DROP_NONE && !checkpoint_reads(o))
		return err_set(err, -EINVAL, "%s/cold/drop: \"write\" reads nothing; leave it out",
			       path);
	return cold_check(&o->cold, store, path, err);
}

int checkpoint_check_use(const struct checkpoint_use *use, uint32_t ranks, struct err *err)
{
	const struct checkpoint_options *o = use->options;
	const char *path = use->path;
	struct checkpoint_shape shape;
	int rc;

	checkpoint_shape(use->job, o, ranks, use->store, &shape);
	rc = options_check_model(o, &shape, path, err);
	if (rc == 0)
		rc = options_check_ranks(o, &shape, ranks, path, err);
	if (rc == 0)
		rc = options_check_reader_mesh(o, &shape, ranks, path, err);
	if (rc == 0)
		rc = options_check_operation(o, path, err);
	if (rc == 0)
		rc = options_check_fill(use, err);
	if (rc == 0) {
		rc = key_check_folder(o->folder, err);
		if (rc < 0)
			err_wrap(err, rc, "%s/folder", path);
	}
	if (rc == 0)
		rc = options_check_ring(o, path, err);
	if (rc == 0)
		rc = options_check_cache(o, use->store, path, err);
	return rc < 0 ? rc : options_check_parts(o, &shape, ranks, use->store, path, err);
}

int checkpoint_use_of(const struct job *job, const struct job_phase *phase,
		      struct checkpoint_use *out, struct err *err)
{
	*out = (struct checkpoint_use){.job = job, .options = phase->options, .path = phase->path};
	return phase_store_find(job, phase, &out->store, err);
}

int checkpoint_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     struct err *err)
{
	struct checkpoint_use use;
	int rc = checkpoint_use_of(job, phase, &use, err);

	return rc < 0 ? rc : checkpoint_check_use(&use, ranks, err);
}
