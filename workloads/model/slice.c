/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/model/slice.h"

/* The part of a tensor rank: the slice of a rank that has all of the part. */
static void slice_part(const struct shard_matrix *x, const struct shard_cut *cut, uint64_t tensor,
		       struct slice *out)
{
	uint64_t part = x->whole ? 0 : tensor;

	/* A run. All columns of a matrix are a run, too. */
	*out = (struct slice){
		.pitch = x->rows * (x->columns ? x->columns : 1),
		.width = cut->part,
		.offset = part * cut->part,
		.count = cut->part,
	};
	if (!cut->by_columns)
		return;
	out->pitch = x->columns;
	out->width = x->columns / cut->parts;
	out->offset = part * out->width;
}

void slice_make(const struct mesh *mesh, const struct shard_matrix *x, const struct mesh_place *p,
		struct slice *out)
{
	struct shard_cut cut;

	shard_matrix_cut(mesh, x, &cut);
	slice_part(x, &cut, p->tensor, out);
	if (cut.pieces > 1)
		out->begin = p->data * cut.piece;
	out->count = cut.piece;
}

uint64_t slice_element(const struct slice *s, uint64_t i)
{
	uint64_t at = s->begin + i;

	return at / s->width * s->pitch + s->offset + at % s->width;
}

static uint64_t slice_clamp(uint64_t value, uint64_t low, uint64_t high)
{
	if (value < low)
		return low;
	return value < high ? value : high;
}

uint64_t slice_before(const struct slice *s, uint64_t element)
{
	uint64_t row = element / s->pitch, column = element % s->pitch;
	uint64_t in_row = slice_clamp(column, s->offset, s->offset + s->width) - s->offset;

	return slice_clamp(row * s->width + in_row, s->begin, s->begin + s->count) - s->begin;
}

void slice_common_begin(struct slice_common *c, const struct slice *held,
			const struct slice *wanted)
{
	*c = (struct slice_common){.held = held, .wanted = wanted};
	if (!held->count || !wanted->count)
		return;
	/* The same rows, but other columns. */
	if (held->pitch == wanted->pitch && (held->offset + held->width <= wanted->offset ||
					     wanted->offset + wanted->width <= held->offset))
		return;
	c->next = slice_before(wanted, slice_element(held, 0));
	c->end = slice_before(wanted, slice_element(held, held->count - 1) + 1);
}

/* Whether wanted has all columns that held has. Then what they have in common is a run of held. */
static bool slice_covers(const struct slice *wanted, const struct slice *held)
{
	return wanted->pitch == held->pitch && wanted->offset <= held->offset &&
	       wanted->offset + wanted->width >= held->offset + held->width;
}

bool slice_common_next(struct slice_common *c, uint64_t *first, uint64_t *count)
{
	const struct slice *wanted = c->wanted;

	while (c->next < c->end) {
		uint64_t begin = slice_element(wanted, c->next), end, run = c->end - c->next;

		if (slice_covers(wanted, c->held)) {
			end = slice_element(wanted, c->end - 1) + 1;
		} else {
			uint64_t row = wanted->width - (wanted->begin + c->next) % wanted->width;

			if (run > row)
				run = row;
			end = begin + run;
		}
		c->next += run;
		*first = slice_before(c->held, begin);
		*count = slice_before(c->held, end) - *first;
		if (*count)
			return true;
	}
	return false;
}

/* Tensor ranks that may hold elements low ... high of the matrix, of which wanted is a part. */
static void slice_holding_tensors(const struct shard_matrix *x, const struct shard_cut *cut,
				  const struct slice *wanted, uint64_t low, uint64_t high,
				  struct slice_holders *out)
{
	if (!cut->by_columns) {
		out->tensor = low / cut->part;
		out->tensor_end = high / cut->part + 1;
	} else {
		uint64_t width = x->columns / cut->parts, first = 0, last = x->columns - 1;

		if (low / x->columns == high / x->columns) {
			first = low % x->columns;
			last = high % x->columns;
		} else if (wanted->pitch == x->columns) {
			first = wanted->offset;
			last = wanted->offset + wanted->width - 1;
		}
		out->tensor = first / width;
		out->tensor_end = last / width + 1;
	}
	if (out->tensor_end > cut->parts)
		out->tensor_end = cut->parts;
}

bool slice_holders_find(const struct mesh *mesh, const struct shard_matrix *x,
			const struct slice *wanted, struct slice_holders *out)
{
	uint64_t low, high, ends[2];
	struct shard_cut cut;

	shard_matrix_cut(mesh, x, &cut);
	*out = (struct slice_holders){.tensor_end = mesh->tensor, .data_end = mesh->data};
	if (!wanted->count || !cut.piece)
		return false;
	low = slice_element(wanted, 0);
	high = slice_element(wanted, wanted->count - 1);
	if (cut.parts > 1)
		slice_holding_tensors(x, &cut, wanted, low, high, out);
	if (out->tensor >= out->tensor_end)
		return false;
	if (cut.pieces == 1)
		return true;
	/* The first and the last tensor rank need the lowest and the highest data ranks of all. */
	out->data = mesh->data;
	out->data_end = 0;
	ends[0] = out->tensor;
	ends[1] = out->tensor_end - 1;
	for (unsigned i = 0; i < 2; i++) {
		struct slice part;
		uint64_t first, end;

		slice_part(x, &cut, ends[i], &part);
		first = slice_before(&part, low);
		end = slice_before(&part, high + 1);
		if (first == end)
			continue;
		if (first / cut.piece < out->data)
			out->data = first / cut.piece;
		if ((end - 1) / cut.piece + 1 > out->data_end)
			out->data_end = (end - 1) / cut.piece + 1;
	}
	if (out->data_end > mesh->data)
		out->data_end = mesh->data;
	return out->data < out->data_end;
}
