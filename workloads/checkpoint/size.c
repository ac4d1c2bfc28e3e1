/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a mesh write, what checkpoints ask of the machine, and what a plan shows of them: see checkpoint.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/checkpoint/marker.h"
#include "workloads/common/crew.h"

enum {
	SIZE_TENSOR_BYTES = 512, /* of the layout of an archive */
	SIZE_WINDOWS = 2,        /* through which a snapshot is copied */
	SIZE_REPLICAS = 2 /* kinds of ranks in a stage: of the first data rank, and of the others */
};

int checkpoint_written_by(const struct checkpoint_shape *s, uint64_t rank,
			  struct checkpoint_written *out, struct err *err)
{
	uint32_t files = checkpoint_file_count(s, rank);
	uint32_t data_files = checkpoint_data_files(s, rank);

	*out = (struct checkpoint_written){0};
	checkpoint_rank_bytes(s, rank, &out->weights, &out->optimizer);
	for (uint32_t i = 0; i < files; i++) {
		uint64_t bytes;
		int rc = checkpoint_file_bytes(s, rank, i, &bytes, err);

		if (rc < 0)
			return rc;
		out->bytes += bytes;
		if (i < data_files)
			out->memory += checkpoint_whole_room(bytes, CHECKPOINT_WHOLE_ALIGNMENT);
	}
	out->files = s->layout == CHECKPOINT_SHARED ? 0 : files;
	return 0;
}

uint64_t checkpoint_rank_like(const struct mesh *mesh, uint64_t rank)
{
	struct mesh_place p;

	mesh_at(mesh, rank, &p);
	return (p.pipeline + (p.data ? mesh->pipeline : 0)) * mesh->tensor;
}

/* The same for what it writes. Of a state dict, each rank has a part of its own. */
static uint64_t size_rank_like(const struct checkpoint_shape *s, uint64_t rank)
{
	return checkpoint_has_state_dict(s) ? rank : checkpoint_rank_like(&s->mesh, rank);
}

/* Of the first ranks of the mesh: how many are like the first rank of that stage, among those of
 * the first data rank (replica 0) or of the others (1). */
static uint64_t size_like(const struct mesh *mesh, uint64_t ranks, uint64_t stage, unsigned replica)
{
	uint64_t model = mesh->tensor * mesh->pipeline, whole = ranks / model, rest = ranks % model;
	uint64_t part = min_u64(excess_u64(rest, stage * mesh->tensor), mesh->tensor);

	if (replica)
		return whole ? (whole - 1) * mesh->tensor + part : 0;
	return whole ? mesh->tensor : part;
}

/* Adds what `like` ranks like this one write. */
static int size_add(const struct checkpoint_shape *s, uint64_t rank, uint64_t like,
		    struct checkpoint_written *out, struct err *err)
{
	struct checkpoint_written one;
	int rc = checkpoint_written_by(s, rank, &one, err);

	out->weights += like * one.weights;
	out->optimizer += like * one.optimizer;
	out->bytes += like * one.bytes;
	out->files += like * one.files;
	out->memory = max_u64(out->memory, one.memory);
	return rc;
}

int checkpoint_written(const struct checkpoint_shape *s, uint64_t ranks,
		       struct checkpoint_written *out, struct err *err)
{
	const struct mesh *mesh = &s->mesh;
	int rc = 0;

	*out = (struct checkpoint_written){0};
	if (checkpoint_has_state_dict(s)) {
		for (uint64_t rank = 0; rc == 0 && rank < ranks; rank++)
			rc = size_add(s, rank, 1, out, err);
		return rc;
	}
	for (uint64_t i = 0; i < mesh->pipeline * SIZE_REPLICAS; i++) {
		uint64_t stage = i / SIZE_REPLICAS;
		unsigned replica = (unsigned)(i % SIZE_REPLICAS);
		uint64_t like = size_like(mesh, ranks, stage, replica);

		if (!like)
			continue;
		rc = size_add(s, (stage + replica * mesh->pipeline) * mesh->tensor, like, out, err);
		if (rc < 0)
			return rc;
	}
	if (s->layout == CHECKPOINT_SHARED)
		out->files = 1;
	return 0;
}

uint64_t checkpoint_restored_by(const struct checkpoint_options *o,
				const struct checkpoint_shape *s, const struct mesh *mesh,
				uint64_t rank)
{
	bool all = o->replicas == CHECKPOINT_REPLICAS_ALL;
	struct state_dict dict = checkpoint_state_dict(s);
	struct mesh_place p, first;
	uint64_t weights, states;

	mesh_at(mesh, rank, &p);
	if (checkpoint_has_state_dict(s)) {
		dict.mesh = mesh;
		state_bytes(&dict, &p, false, &weights, &states);
		return weights + states;
	}
	first = p;
	first.data = 0;
	return shard_weight_bytes(&o->model, mesh, all ? &first : &p) +
	       shard_optimizer_bytes(&o->model, mesh, all ? &first : &p);
}

/* Bytes that the first ranks of the readers' mesh read of a checkpoint. */
static double size_read(const struct checkpoint_options *o, const struct checkpoint_shape *s,
			const struct checkpoint_written *written, uint32_t ranks)
{
	uint64_t bytes = 0;
	struct mesh mesh;

	if (checkpoint_has_state_dict(s)) {
		checkpoint_reader_mesh(o, s, ranks, &mesh);
		for (uint64_t rank = 0; rank < ranks; rank++)
			bytes += checkpoint_restored_by(o, s, &mesh, rank);
		return (double)bytes;
	}
	/* Whole files have their framing, a shared file has its regions without what they are
	 * rounded up by. */
	if (!checkpoint_reads_ranges(o, &s->mesh))
		return (double)(s->layout == CHECKPOINT_SHARED
					? written->weights + written->optimizer
					: written->bytes);
	checkpoint_reader_mesh(o, s, ranks, &mesh);
	for (uint64_t i = 0; i < mesh.pipeline * SIZE_REPLICAS; i++) {
		uint64_t stage = i / SIZE_REPLICAS;
		unsigned replica = (unsigned)(i % SIZE_REPLICAS);
		uint64_t like = size_like(&mesh, ranks, stage, replica);

		if (like)
			bytes += like * checkpoint_restored_by(o, s, &mesh,
							       (stage + replica * mesh.pipeline) *
								       mesh.tensor);
	}
	return (double)bytes;
}

/* Layouts of archives: one for each writer, and one for each file that is in memory as a whole. */
static uint64_t size_layouts(const struct checkpoint_options *o, const struct checkpoint_shape *s,
			     bool whole)
{
	uint64_t writers = checkpoint_writes(o) ? o->writers : 1, most = 0, all = 0;
	uint32_t files = checkpoint_file_count(s, 0);

	for (uint32_t i = 0; i < files; i++) {
		struct checkpoint_file f;

		checkpoint_file(s, 0, i, &f);
		most = max_u64(most, f.tensors);
		all += f.tensors;
	}
	return (writers * most + (whole ? all : 0)) * SIZE_TENSOR_BYTES;
}

static uint64_t size_memory(const struct checkpoint_use *use, const struct checkpoint_shape *s,
			    const struct checkpoint_written *written)
{
	const struct checkpoint_options *o = use->options;
	const struct backend_ops *ops = use->store->section->owner;
	uint64_t writers = checkpoint_writes(o) ? o->writers : 0;
	uint64_t readers = checkpoint_reads(o) ? o->readers : 0;
	uint64_t threads = max_u64(writers, readers);
	bool whole = checkpoint_is_whole(o, use->snapshot);
	bool ring = ops->capabilities & BACKEND_CONTENT && checkpoint_has_ring(o, use->snapshot);

	return (ring ? o->buffers : 0) + (whole ? written->memory : 0) +
	       (use->snapshot == CHECKPOINT_SNAPSHOT_COPY ? SIZE_WINDOWS * o->chunk : 0) +
	       threads * (sizeof(struct crew_thread) + CHECKPOINT_HISTS * sizeof(struct hist)) +
	       size_layouts(o, s, whole);
}

/* By how many bytes the ranks of a node, whose shards are in memory as a whole, need less together
 * than if each needed as much as the one that needs most. Those of data rank 0 need most, and so do
 * the nodes that have them. */
static int size_uneven(const struct checkpoint_shape *s, uint64_t most, uint32_t ranks,
		       uint32_t ranks_per_node, uint64_t *uneven, struct err *err)
{
	uint64_t first = s->mesh.tensor * s->mesh.pipeline, node = 0, most_node = 0;
	uint64_t like = UINT64_MAX;
	struct checkpoint_written one = {0};

	for (uint64_t rank = 0; rank < ranks; rank++) {
		if (rank % ranks_per_node == 0)
			node = 0;
		if (rank % ranks_per_node == 0 && rank >= first)
			break;
		if (size_rank_like(s, rank) != like) {
			int rc;

			like = size_rank_like(s, rank);
			rc = checkpoint_written_by(s, like, &one, err);
			if (rc < 0)
				return rc;
		}
		node += one.memory;
		most_node = max_u64(most_node, node);
	}
	*uneven = most * ranks_per_node - most_node;
	return 0;
}

static void size_notes(const struct checkpoint_options *o, const struct checkpoint_shape *s,
		       uint32_t ranks, uint32_t ranks_per_node, struct demand *out)
{
	char counted[UNITS_COUNTED_BYTES];

	if (checkpoint_writes(o) && ranks < mesh_ranks(&s->mesh)) {
		demand_note(
			out,
			"the mesh has %s: the phase has the first %" PRIu32
			" of them, which write only their part%s",
			units_counted(counted, mesh_ranks(&s->mesh), "rank"), ranks,
			checkpoint_has_metadata(s)
				? "; a run needs all of them, for metadata of the whole checkpoint"
				: "");
	}
	if (o->operation == CHECKPOINT_BOTH && ranks_per_node >= ranks && o->cold.drop == DROP_NONE)
		demand_note(out,
			    "checkpoints on one node are read where they were written, perhaps "
			    "from its cache");
}

/* What a checked phase works with. */
struct size_source {
	struct checkpoint_shape shape;
	struct checkpoint_written written; /* a checkpoint, by the ranks that the phase has */
};

static int size_source(const struct checkpoint_use *use, uint32_t ranks, struct size_source *out,
		       struct err *err)
{
	int rc = checkpoint_check_use(use, ranks, err);

	if (rc < 0)
		return rc;
	checkpoint_shape(use->job, use->options, ranks, use->store, &out->shape);
	/* Readers may be more than the writers were. */
	if (ranks > mesh_ranks(&out->shape.mesh))
		ranks = (uint32_t)mesh_ranks(&out->shape.mesh);
	return checkpoint_written(&out->shape, ranks, &out->written, err);
}

/* Checkpoints that are there at once: an old one is removed when the new one is whole. */
static uint64_t size_at_once(const struct checkpoint_options *o)
{
	return o->keep && o->keep < o->count ? o->keep + 1 : o->count;
}

int checkpoint_size_use(const struct checkpoint_use *use, uint32_t ranks, uint32_t ranks_per_node,
			struct demand *out, struct err *err)
{
	const struct checkpoint_options *o = use->options;
	const struct backend_ops *ops = use->store->section->owner;
	struct size_source s;
	int rc = size_source(use, ranks, &s, err);

	if (rc < 0)
		return rc;
	out->bytes = 0;
	if (checkpoint_writes(o))
		out->bytes += (double)s.written.bytes * (double)o->count;
	if (checkpoint_reads(o))
		out->bytes += size_read(o, &s.shape, &s.written, ranks) * (double)o->count;
	out->bytes_per_rank = out->bytes / ranks;
	out->files = s.written.files * o->count;
	out->space_bytes = (double)s.written.bytes * (double)size_at_once(o);
	/* With the marker of each. */
	out->inodes = (s.written.files + 1) * size_at_once(o);
	/* Their folders, and the one around them. */
	if (ops->capabilities & BACKEND_PERSISTENT)
		out->inodes += size_at_once(o) + 1;
	out->memory_per_rank = size_memory(use, &s.shape, &s.written);
	if (checkpoint_is_whole(o, use->snapshot))
		rc = size_uneven(&s.shape, s.written.memory, ranks, ranks_per_node,
				 &out->memory_uneven, err);
	if (rc < 0)
		return rc;
	size_notes(o, &s.shape, ranks, ranks_per_node, out);
	cold_size(&o->cold, ranks_per_node, out);
	return 0;
}

int checkpoint_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		    uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	struct checkpoint_use use;
	int rc = checkpoint_use_of(job, phase, &use, err);

	return rc < 0 ? rc : checkpoint_size_use(&use, ranks, ranks_per_node, out, err);
}

int checkpoint_stores_use(const struct checkpoint_use *use, uint32_t ranks,
			  struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
			  struct err *err)
{
	const struct checkpoint_options *o = use->options;
	const struct backend_ops *ops;
	struct phase_store *s;
	int rc = checkpoint_check_use(use, ranks, err);

	if (rc < 0)
		return rc;
	ops = use->store->section->owner;
	s = phase_store_add(out, count, "checkpoint", use->store);
	if (checkpoint_reads(o))
		s->needs |= BACKEND_RANGES;
	if (checkpoint_writes(o))
		s->needs |= BACKEND_WRITES;
	/* Threads of a rank share its files. */
	if (checkpoint_writes(o) && (o->layout == CHECKPOINT_SHARED || o->writers > 1))
		s->needs |= BACKEND_SHARED;
	s->verifies = o->verify == VERIFY_FULL && checkpoint_reads(o);
	s->sized = checkpoint_writes(o) && ops->capabilities & BACKEND_CONTENT;
	if (s->sized)
		marker_key(o->folder, 0, s->begun);
	return 0;
}

int checkpoint_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	struct checkpoint_use use;
	int rc = checkpoint_use_of(job, phase, &use, err);

	return rc < 0 ? rc : checkpoint_stores_use(&use, ranks, out, count, err);
}

enum tell_column {
	TELL_WEIGHTS,
	TELL_OPTIMIZER,
	TELL_BYTES,
	TELL_FILE_BYTES,
	TELL_FILES,
	TELL_COLUMNS
};
static const struct plan_column tell_columns[TELL_COLUMNS] = {
	[TELL_WEIGHTS] = {"weights", "bytes"},       [TELL_OPTIMIZER] = {"optimizer", "bytes"},
	[TELL_BYTES] = {"bytes", "bytes"}, /* of all tensors */
	[TELL_FILE_BYTES] = {"file_bytes", "bytes"}, [TELL_FILES] = {"files", ""},
};

/* Rows of ranks that are alike are computed once. */
static int tell_ranks(const struct checkpoint_shape *s, uint64_t ranks, uint64_t *cells,
		      struct err *err)
{
	struct checkpoint_written written;

	for (uint64_t rank = 0; rank < ranks; rank++) {
		uint64_t *row = cells + rank * TELL_COLUMNS;
		uint64_t like = size_rank_like(s, rank);
		int rc;

		if (like < rank) {
			memcpy(row, cells + like * TELL_COLUMNS, TELL_COLUMNS * sizeof(*row));
			continue;
		}
		rc = checkpoint_written_by(s, rank, &written, err);
		if (rc < 0)
			return rc;
		row[TELL_WEIGHTS] = written.weights;
		row[TELL_OPTIMIZER] = written.optimizer;
		row[TELL_BYTES] = written.weights + written.optimizer;
		row[TELL_FILE_BYTES] = written.bytes;
		row[TELL_FILES] = written.files;
	}
	return 0;
}

/* Totals are of the whole checkpoint; share: what of its tensors the ranks of the phase write. */
static int tell_totals(const struct checkpoint_shape *s, uint64_t ranks, const uint64_t *cells,
		       struct plan_told *out, struct err *err)
{
	struct checkpoint_written part = {0}, whole;
	int rc = 0;

	for (const uint64_t *row = cells; row < cells + ranks * TELL_COLUMNS; row += TELL_COLUMNS) {
		part.weights += row[TELL_WEIGHTS];
		part.optimizer += row[TELL_OPTIMIZER];
		part.bytes += row[TELL_FILE_BYTES];
		part.files += row[TELL_FILES];
	}
	whole = part;
	if (ranks < mesh_ranks(&s->mesh) || s->layout == CHECKPOINT_SHARED)
		rc = checkpoint_written(s, mesh_ranks(&s->mesh), &whole, err);
	if (rc < 0)
		return rc;
	plan_total_add(out, "parameters", "", (double)model_parameters(&s->model));
	plan_total_add(out, "weight_bytes", "bytes", (double)whole.weights);
	plan_total_add(out, "optimizer_bytes", "bytes", (double)whole.optimizer);
	plan_total_add(out, "bytes", "bytes", (double)(whole.weights + whole.optimizer));
	plan_total_add(out, "file_bytes", "bytes", (double)whole.bytes);
	plan_total_add(out, "files", "", (double)whole.files);
	if (ranks < mesh_ranks(&s->mesh))
		plan_total_add(out, "share", "fraction",
			       (double)(part.weights + part.optimizer) /
				       (double)(whole.weights + whole.optimizer));
	return 0;
}

/* The shape is that of the writers also where the phase only reads; then its ranks may be more. */
int checkpoint_tell(const struct job *job, const struct job_phase *phase,
		    const struct rank_place *places, uint32_t ranks, struct arena *arena,
		    struct plan_told *out, struct err *err)
{
	const struct checkpoint_options *o = phase->options;
	const struct job_store *store = NULL;
	struct checkpoint_shape shape;
	uint64_t rows = ranks, *cells;
	int rc = checkpoint_check(job, phase, ranks, err);

	(void)places;
	if (rc == 0)
		rc = phase_store_find(job, phase, &store, err);
	if (rc < 0)
		return rc;
	checkpoint_shape(job, o, ranks, store, &shape);
	if (rows > mesh_ranks(&shape.mesh))
		rows = mesh_ranks(&shape.mesh);
	cells = arena_alloc(arena, (size_t)rows * TELL_COLUMNS * sizeof(*cells));
	if (!cells)
		return err_set(err, -ENOMEM, "no memory for the plan of %u ranks", ranks);
	rc = tell_ranks(&shape, rows, cells, err);
	if (rc == 0)
		rc = tell_totals(&shape, rows, cells, out, err);
	if (rc < 0)
		return rc;
	out->table_count = 1;
	out->tables[0] = (struct plan_rows){"ranks", tell_columns, TELL_COLUMNS, rows, cells};
	return 0;
}
