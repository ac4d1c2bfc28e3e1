/* SPDX-License-Identifier: Apache-2.0 */
/* items: tensor after tensor, each a whole file of torch.save of its own, as torch's distributed checkpoints have them.
 *
 *	| zip of tensor 0 | zip of tensor 1 | …
 *	 ^ starts[0]       ^ starts[1]
 *
 * Nothing of a zip is kept: it is laid out again whenever bytes of it are made, which takes some microseconds. */
#include "core/content/fill.h"
#include "core/invariant.h"
#include "workloads/archive/archive.h"
#include "workloads/archive/kind.h"

enum { ITEM_HEADER_BYTES = 4096, ITEM_STATE_WORDS = 64 };

/* The zip of one tensor. */
struct item {
	struct tensor tensor;
	struct archive zip;
	uint64_t offsets[2], ends[2], state[ITEM_STATE_WORDS];
	uint8_t header[ITEM_HEADER_BYTES];
};

static void item_tensor(const void *item, uint64_t i, struct tensor *out)
{
	(void)i;
	*out = ((const struct item *)item)->tensor;
}

/* Its sizes; x->tensor is set. */
static void item_measure(struct item *x)
{
	x->zip = (struct archive){.kind = ARCHIVE_TORCH,
				  .tensors = {.count = 1, .tensor = item_tensor, .argument = x},
				  .payload = x->tensor.bytes,
				  .single = true};
	archive_torch.lay_out(&x->zip, NULL);
}

/* All of it. */
static void item_make(const struct archive *a, uint64_t i, struct item *x)
{
	a->tensors.tensor(a->tensors.argument, i, &x->tensor);
	item_measure(x);
	INVARIANT(x->zip.header_bytes <= sizeof(x->header) &&
			  archive_torch.state_bytes(&x->zip) <= sizeof(x->state),
		  "the zip of one tensor is laid out on the stack");
	x->zip.offsets = x->offsets;
	x->zip.ends = x->ends;
	x->zip.state = x->state;
	archive_torch.lay_out(&x->zip, NULL);
	archive_torch.header(&x->zip, x->header);
	x->zip.header = x->header;
}

static size_t items_state_bytes(const struct archive *a)
{
	return (a->tensors.count + 1) * sizeof(uint64_t);
}

static int items_lay_out(struct archive *a, struct err *err)
{
	uint64_t offsets[2], ends[2];
	struct item x;

	(void)err;
	a->size = a->header_bytes = a->trailer_bytes = 0;
	a->starts = a->state;
	for (uint64_t i = 0; i < a->tensors.count; i++) {
		a->tensors.tensor(a->tensors.argument, i, &x.tensor);
		item_measure(&x);
		if (a->offsets) {
			x.zip.offsets = offsets;
			x.zip.ends = ends;
			archive_torch.lay_out(&x.zip, NULL);
			a->starts[i] = a->size;
			a->offsets[i] = a->size + offsets[0];
			a->ends[i] = a->size + ends[0];
		}
		a->size += x.zip.size;
	}
	if (a->offsets)
		a->offsets[a->tensors.count] = a->starts[a->tensors.count] = a->size;
	return 0;
}

/* The item that holds byte at. */
static uint64_t items_at(const struct archive *a, uint64_t at)
{
	uint64_t i = archive_last_begun(a, at);

	return i + 1 < a->tensors.count && at >= a->starts[i + 1] ? i + 1 : i;
}

static void items_data(const struct archive *a, uint64_t key, uint64_t at, uint8_t *to,
		       uint64_t length)
{
	uint64_t end = at + length;
	struct item x;

	for (uint64_t i = items_at(a, at); at < end; i++) {
		uint64_t stop = a->starts[i + 1] < end ? a->starts[i + 1] : end;

		item_make(a, i, &x);
		archive_image(&x.zip, fill_key(key, i), at - a->starts[i], to, stop - at);
		to += stop - at;
		at = stop;
	}
}

static uint64_t items_piece_end(const struct archive *a, uint64_t at)
{
	uint64_t i = items_at(a, at), end;
	struct item x;

	if (at < a->offsets[i])
		return a->offsets[i];
	if (at >= a->ends[i])
		return a->starts[i + 1];
	item_make(a, i, &x);
	end = a->starts[i] + archive_torch.piece_end(&x.zip, at - a->starts[i]);
	return end < a->ends[i] ? end : a->ends[i];
}

const struct archive_ops archive_items = {
	.lay_out = items_lay_out,
	.state_bytes = items_state_bytes,
	.data = items_data,
	.piece_end = items_piece_end,
};
