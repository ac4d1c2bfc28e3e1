/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan shows of checkpoints: totals, and what each rank writes. See checkpoint.h. */
#include <errno.h>
#include <string.h>

#include "workloads/checkpoint/checkpoint.h"
#include "workloads/checkpoint/size.h"

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

/* Totals are of the whole checkpoint; share: what of its tensors the ranks of the phase write. */
static int tell_totals(const struct checkpoint_shape *s, uint32_t ranks, struct plan_told *out,
		       struct err *err)
{
	struct checkpoint_written whole = {0}, part = {0};
	double tensors;
	int rc = checkpoint_written(s, mesh_ranks(&s->mesh), &whole, err);

	if (rc == 0)
		rc = checkpoint_written(s, ranks, &part, err);
	if (rc < 0)
		return rc;
	tensors = (double)(whole.weights + whole.optimizer);
	plan_total_add(out, "parameters", "", (double)model_parameters(&s->model));
	plan_total_add(out, "weight_bytes", "bytes", (double)whole.weights);
	plan_total_add(out, "optimizer_bytes", "bytes", (double)whole.optimizer);
	plan_total_add(out, "bytes", "bytes", tensors);
	plan_total_add(out, "file_bytes", "bytes", (double)whole.bytes);
	plan_total_add(out, "files", "", (double)whole.files);
	if (ranks < mesh_ranks(&s->mesh))
		plan_total_add(out, "share", "fraction",
			       (double)(part.weights + part.optimizer) / tensors);
	return 0;
}

/* Rows of ranks that are alike are computed once. */
static int tell_ranks(const struct checkpoint_shape *s, uint64_t ranks, uint64_t *cells,
		      struct err *err)
{
	struct checkpoint_written written;

	for (uint64_t rank = 0; rank < ranks; rank++) {
		uint64_t *row = cells + rank * TELL_COLUMNS;
		uint64_t like = checkpoint_rank_like(&s->mesh, rank);
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
	rc = tell_totals(&shape, (uint32_t)rows, out, err);
	if (rc == 0)
		rc = tell_ranks(&shape, rows, cells, err);
	if (rc < 0)
		return rc;
	out->table_count = 1;
	out->tables[0] = (struct plan_rows){"ranks", tell_columns, TELL_COLUMNS, rows, cells};
	return 0;
}
