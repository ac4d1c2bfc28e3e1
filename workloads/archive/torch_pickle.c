/* SPDX-License-Identifier: Apache-2.0 */
/* The pickle that torch.save writes, byte by byte as Python's pickler does at protocol 2. Source: Python's pickletools,
 * and torch/serialization.py, torch/_tensor.py, torch/_utils.py.
 *
 *	OrderedDict()
 *	MARK, then name, tensor for each tensor, 1,000 of them at a time, SETITEMS
 *
 *	tensor: _rebuild_tensor_v2(persistent id, 0, shape, strides, False, OrderedDict())
 *	persistent id: ("storage", torch.HalfStorage, "7", "cpu", numbers)
 *
 * Types that are younger than torch's storage classes have an UntypedStorage, counted in bytes, and their type as a last
 * argument of _rebuild_tensor_v3. A file of a single tensor has it in place of the dictionary. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "workloads/archive/archive.h"
#include "workloads/archive/kind.h"
#include "workloads/formats/pickle.h"

enum { BATCH = 1000 }; /* items of a SETITEMS */

/* Objects that come several times. */
enum pickle_object {
	ORDERED_DICT,
	REBUILD_V2,
	REBUILD_V3,
	UNTYPED_STORAGE,
	FLOAT8,
	STORAGE,
	CPU,
	TYPED_STORAGE, /* and one more for each type */
	OBJECTS = TYPED_STORAGE + MODEL_TYPE_COUNT
};

/* Globals as "module\nname\n"; constants. */
static const char *const texts[OBJECTS] = {
	[ORDERED_DICT] = "collections\nOrderedDict\n",
	[REBUILD_V2] = "torch._utils\n_rebuild_tensor_v2\n",
	[REBUILD_V3] = "torch._utils\n_rebuild_tensor_v3\n",
	[UNTYPED_STORAGE] = "torch.storage\nUntypedStorage\n",
	[FLOAT8] = "torch\nfloat8_e4m3fn\n",
	[STORAGE] = "storage",
	[CPU] = "cpu",
	[TYPED_STORAGE + MODEL_FP64] = "torch\nDoubleStorage\n",
	[TYPED_STORAGE + MODEL_FP32] = "torch\nFloatStorage\n",
	[TYPED_STORAGE + MODEL_FP16] = "torch\nHalfStorage\n",
	[TYPED_STORAGE + MODEL_BF16] = "torch\nBFloat16Storage\n",
	[TYPED_STORAGE + MODEL_INT8] = "torch\nCharStorage\n",
	[TYPED_STORAGE + MODEL_UINT8] = "torch\nByteStorage\n",
};

static void pickle_empty_ordered_dict(struct pickle *p)
{
	pickle_object(p, ORDERED_DICT);
	pickle_op(p, PICKLE_EMPTY_TUPLE);
	pickle_kept(p, PICKLE_REDUCE);
}

/* The persistent id of tensor i's bytes: PREFIX/data/i. */
static void pickle_storage(struct pickle *p, const struct tensor *t, uint64_t i, bool typed,
			   uint64_t numbers)
{
	char key[24];

	snprintf(key, sizeof(key), "%llu", (unsigned long long)i);
	pickle_op(p, PICKLE_MARK);
	pickle_object(p, STORAGE);
	pickle_object(p, typed ? TYPED_STORAGE + (unsigned)t->type : UNTYPED_STORAGE);
	pickle_text(p, key);
	pickle_object(p, CPU);
	pickle_whole(p, typed ? numbers : t->bytes);
	pickle_kept(p, PICKLE_TUPLE);
	pickle_op(p, PICKLE_BINPERSID);
}

static void pickle_tensor(struct pickle *p, const struct tensor *t, uint64_t i)
{
	bool typed = texts[TYPED_STORAGE + t->type] != NULL;
	uint64_t strides[TENSOR_DIMENSIONS_MAX], numbers = 1, stride = 1;

	for (uint32_t d = t->dimensions; d-- > 0;) {
		strides[d] = stride;
		numbers *= t->shape[d];
		stride *= t->shape[d] ? t->shape[d] : 1;
	}
	pickle_object(p, typed ? REBUILD_V2 : REBUILD_V3);
	pickle_op(p, PICKLE_MARK);
	pickle_storage(p, t, i, typed, numbers);
	pickle_whole(p, 0); /* where the tensor begins in its storage */
	pickle_wholes(p, t->shape, t->dimensions);
	pickle_wholes(p, strides, t->dimensions);
	pickle_op(p, PICKLE_FALSE); /* it needs no gradient */
	pickle_empty_ordered_dict(p);
	if (!typed)
		pickle_object(p, FLOAT8);
	pickle_kept(p, PICKLE_TUPLE);
	pickle_kept(p, PICKLE_REDUCE);
}

uint64_t torch_pickle(const struct archive *a, uint8_t *out)
{
	struct pickle p = {.out = out, .texts = texts, .protocol = 2};
	uint64_t count = a->tensors.count;

	struct tensor t;

	pickle_begin(&p);
	if (a->single) {
		archive_stored(a, 0, &t);
		pickle_tensor(&p, &t, 0);
		pickle_op(&p, PICKLE_STOP);
		return p.bytes;
	}
	pickle_empty_ordered_dict(&p);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t first = i - i % BATCH,
			 batch = count - first < BATCH ? count - first : BATCH;

		archive_stored(a, i, &t);
		if (i == first && batch > 1)
			pickle_op(&p, PICKLE_MARK);
		pickle_text(&p, t.name);
		pickle_tensor(&p, &t, i);
		if (batch == 1)
			pickle_op(&p, PICKLE_SETITEM);
		else if (i == first + batch - 1)
			pickle_op(&p, PICKLE_SETITEMS);
	}
	pickle_op(&p, PICKLE_STOP);
	return p.bytes;
}
