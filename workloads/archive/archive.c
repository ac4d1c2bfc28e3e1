/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/archive/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/content/fill.h"
#include "core/json.h"
#include "workloads/archive/kind.h"

/* Payloads are smaller than 2^PAYLOAD_BITS bytes, so that no sum in a layout overflows. */
enum { PAYLOAD_BITS = 60, ELEMENT_BITS = 57 };

const char *const archive_kind_names[] = {"torch", "safetensors", "raw", NULL};

static int raw_lay_out(struct archive *a, struct err *err);

const struct archive_ops archive_raw = {.lay_out = raw_lay_out};

static const struct archive_ops *const kinds[ARCHIVE_KINDS + 1] = {
	[ARCHIVE_TORCH] = &archive_torch,
	[ARCHIVE_SAFETENSORS] = &archive_safetensors,
	[ARCHIVE_RAW] = &archive_raw,
	[ARCHIVE_ITEMS] = &archive_items,
};

static uint64_t archive_smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int archive_check_name(const struct tensor *t, uint64_t i, struct err *err)
{
	if (memchr(t->name, '\0', sizeof(t->name)) && json_text_plain(t->name) &&
	    !strpbrk(t->name, "\"\\"))
		return 0;
	return err_set(
		err, -EINVAL,
		"the name of tensor %" PRIu64 " has a character that JSON would have to escape", i);
}

static int archive_check_shape(const struct tensor *t, struct err *err)
{
	uint64_t elements = 1;

	if (t->dimensions > TENSOR_DIMENSIONS_MAX)
		return err_set(err, -EINVAL,
			       "tensor %s has %" PRIu32 " dimensions, at most %d can be", t->name,
			       t->dimensions, TENSOR_DIMENSIONS_MAX);
	for (uint32_t i = 0; i < t->dimensions; i++)
		if (__builtin_mul_overflow(elements, t->shape[i], &elements) ||
		    elements >> ELEMENT_BITS)
			return err_set(err, -EINVAL, "tensor %s has more numbers than fit a file",
				       t->name);
	if (model_type_bytes(t->type, elements) == t->bytes)
		return 0;
	return err_set(err, -EINVAL,
		       "tensor %s: %" PRIu64 " numbers of type %s make %" PRIu64
		       " bytes, not %" PRIu64,
		       t->name, elements, model_type_name(t->type),
		       model_type_bytes(t->type, elements), t->bytes);
}

/* Looks at all tensors, and sets the sum of their bytes. */
static int archive_check(struct archive *a, struct err *err)
{
	struct tensor t;
	int rc;

	if (a->tensors.count > ARCHIVE_TENSORS_MAX)
		return err_set(err, -EINVAL, "an archive has at most %d tensors, not %" PRIu64,
			       ARCHIVE_TENSORS_MAX, a->tensors.count);
	for (uint64_t i = 0; i < a->tensors.count; i++) {
		a->tensors.tensor(a->tensors.argument, i, &t);
		rc = archive_check_name(&t, i, err);
		if (rc == 0)
			rc = archive_check_shape(&t, err);
		if (rc < 0)
			return rc;
		a->payload += t.bytes;
		if (a->payload >> PAYLOAD_BITS)
			return err_set(err, -EINVAL,
				       "the tensors have more bytes than a file can have");
	}
	return 0;
}

static int archive_measure(struct archive *a, enum archive_kind kind,
			   const struct archive_tensors *tensors, struct err *err)
{
	int rc;

	*a = (struct archive){.kind = kind, .tensors = *tensors};
	rc = archive_check(a, err);
	return rc < 0 ? rc : kinds[kind]->lay_out(a, err);
}

int archive_size(enum archive_kind kind, const struct archive_tensors *tensors, uint64_t *size,
		 uint64_t *payload, struct err *err)
{
	struct archive a;
	int rc = archive_measure(&a, kind, tensors, err);

	*size = a.size;
	*payload = a.payload;
	return rc;
}

int archive_make(struct archive *a, enum archive_kind kind, const struct archive_tensors *tensors,
		 struct arena *arena, struct err *err)
{
	const struct archive_ops *ops = kinds[kind];
	uint8_t *header;
	int rc = archive_measure(a, kind, tensors, err);

	if (rc < 0)
		return rc;
	a->offsets = arena_alloc(arena, (tensors->count + 1) * sizeof(*a->offsets));
	a->ends = arena_alloc(arena, (tensors->count + 1) * sizeof(*a->ends));
	a->state = arena_alloc(arena, ops->state_bytes ? ops->state_bytes(a) : 1);
	header = arena_alloc(arena, a->header_bytes + 1);
	if (!a->offsets || !a->ends || !a->state || !header)
		return err_set(err, -ENOMEM,
			       "no memory for the header of an archive of %" PRIu64 " tensors",
			       tensors->count);
	rc = ops->lay_out(a, err);
	if (rc == 0 && ops->header)
		ops->header(a, header);
	a->header = header;
	return rc;
}

static int raw_lay_out(struct archive *a, struct err *err)
{
	(void)err;
	archive_contiguous(a, 0);
	return 0;
}

void archive_contiguous(struct archive *a, uint64_t header_bytes)
{
	uint64_t at = header_bytes;

	a->header_bytes = header_bytes;
	a->trailer_bytes = 0;
	a->size = header_bytes + a->payload;
	if (!a->offsets)
		return;
	for (uint64_t i = 0; i < a->tensors.count; i++) {
		struct tensor t;

		a->tensors.tensor(a->tensors.argument, i, &t);
		a->offsets[i] = at;
		at += t.bytes;
		a->ends[i] = at;
	}
	a->offsets[a->tensors.count] = at;
}

void archive_stored(const struct archive *a, uint64_t i, struct tensor *out)
{
	uint64_t *last;

	a->tensors.tensor(a->tensors.argument, i, out);
	if (out->type != MODEL_INT4)
		return;
	out->type = MODEL_UINT8;
	last = out->dimensions ? &out->shape[out->dimensions - 1] : NULL;
	if (last && *last % 2 == 0) {
		*last /= 2;
		return;
	}
	/* A byte would have numbers of two rows, so that there are no rows of bytes. */
	out->dimensions = 1;
	out->shape[0] = out->bytes;
}

uint64_t archive_last_begun(const struct archive *a, uint64_t at)
{
	uint64_t low = 0, high = a->tensors.count;

	/* Tensor low begins at or before at, tensor high behind it. */
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (a->offsets[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t archive_tensor_at(const struct archive *a, uint64_t at)
{
	uint64_t i;

	if (at < a->header_bytes || at >= a->size - a->trailer_bytes)
		return a->tensors.count;
	i = archive_last_begun(a, at);
	return at >= a->offsets[i] && at < a->ends[i] ? i : a->tensors.count;
}

/* Bytes [at, at + length) of the payload, where there is no framing between tensors. */
static void archive_payload(const struct archive *a, uint64_t key, uint64_t at, uint8_t *out,
			    uint64_t length)
{
	const struct archive_tensors *t = &a->tensors;
	struct archive_part p;

	if (!t->part) {
		fill(key, at - a->header_bytes, out, length);
		return;
	}
	while (length) {
		uint64_t i = archive_last_begun(a, at), in = at - a->offsets[i], n;
		uint64_t left = archive_smaller(length, a->ends[i] - at);

		t->part(t->argument, i, &p);
		for (; left; left -= n, length -= n, in += n, at += n, out += n) {
			n = archive_smaller(left, p.run - in % p.run);
			fill(key, p.from + in / p.run * p.pitch + in % p.run, out, n);
		}
	}
}

void archive_image(const struct archive *a, uint64_t key, uint64_t at, void *to, uint64_t length)
{
	const struct archive_ops *ops = kinds[a->kind];
	uint64_t trailer = a->size - a->trailer_bytes, n;
	uint8_t *out = to;

	if (at < a->header_bytes) {
		n = archive_smaller(length, a->header_bytes - at);
		memcpy(out, a->header + at, n);
		out += n;
		at += n;
		length -= n;
	}
	if (length && at < trailer) {
		n = archive_smaller(length, trailer - at);
		if (ops->data)
			ops->data(a, key, at, out, n);
		else
			archive_payload(a, key, at, out, n);
		out += n;
		at += n;
		length -= n;
	}
	if (length)
		ops->trailer(a, key, at - trailer, out, length);
}

static uint64_t archive_difference(const uint8_t *a, const uint8_t *b, uint64_t length)
{
	uint64_t i = 0;

	if (memcmp(a, b, length) == 0)
		return length;
	while (a[i] == b[i])
		i++;
	return i;
}

/* Verifies some of the bytes [at, at + length), *n of them; returns how many agree. */
static uint64_t archive_verify_piece(const struct archive *a, uint64_t key, uint64_t at,
				     const uint8_t *data, uint64_t length, void *scratch,
				     uint64_t *n)
{
	const struct archive_ops *ops = kinds[a->kind];
	uint64_t trailer = a->size - a->trailer_bytes;

	if (at < a->header_bytes) {
		*n = archive_smaller(length, a->header_bytes - at);
		return archive_difference(data, a->header + at, *n);
	}
	if (at < trailer && !ops->data && !a->tensors.part) {
		*n = archive_smaller(length, trailer - at);
		return fill_verify(key, at - a->header_bytes, data, *n);
	}
	*n = archive_smaller(length, ARCHIVE_SCRATCH_BYTES);
	if (at < trailer)
		*n = archive_smaller(*n, (ops->data ? ops->piece_end(a, at) : trailer) - at);
	archive_image(a, key, at, scratch, *n);
	return archive_difference(data, scratch, *n);
}

uint64_t archive_verify(const struct archive *a, uint64_t key, uint64_t at, const void *data,
			uint64_t length, void *scratch)
{
	uint64_t done = 0, n;

	while (done < length) {
		uint64_t same =
			archive_verify_piece(a, key, at + done, (const uint8_t *)data + done,
					     length - done, scratch, &n);

		if (same < n)
			return done + same;
		done += n;
	}
	return length;
}
