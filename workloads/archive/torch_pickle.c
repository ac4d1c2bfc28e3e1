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
 * A pickler keeps whatever it wrote under a number (BINPUT), and refers to it (BINGET) when the same object comes again:
 * here classes, functions and constants. Types that are younger than torch's storage classes have an UntypedStorage,
 * counted in bytes, and their type as a last argument of _rebuild_tensor_v3. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "workloads/archive/archive.h"
#include "workloads/archive/kind.h"
#include "workloads/formats/payload.h"

enum { BATCH = 1000 }; /* items of a SETITEMS */

/* Opcodes of protocol 2. */
enum {
	OP_MARK = '(',
	OP_STOP = '.',
	OP_BININT = 'J',
	OP_BININT1 = 'K',
	OP_BININT2 = 'M',
	OP_BINPERSID = 'Q',
	OP_REDUCE = 'R',
	OP_BINUNICODE = 'X',
	OP_EMPTY_TUPLE = ')',
	OP_GLOBAL = 'c',
	OP_BINGET = 'h',
	OP_LONG_BINGET = 'j',
	OP_BINPUT = 'q',
	OP_LONG_BINPUT = 'r',
	OP_SETITEM = 's',
	OP_TUPLE = 't',
	OP_SETITEMS = 'u',
	OP_PROTO = 0x80,
	OP_TUPLE1 = 0x85,
	OP_TUPLE2 = 0x86,
	OP_NEWFALSE = 0x89,
	OP_LONG1 = 0x8a
};

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

struct pickle {
	uint8_t *out; /* NULL: only counts */
	uint64_t bytes;
	uint32_t kept;             /* objects under a number */
	uint32_t numbers[OBJECTS]; /* theirs, plus 1; 0: not yet */
};

static void pickle_bytes(struct pickle *p, const void *bytes, uint64_t n)
{
	if (p->out)
		memcpy(p->out + p->bytes, bytes, n);
	p->bytes += n;
}

static void pickle_op(struct pickle *p, uint8_t op)
{
	pickle_bytes(p, &op, 1);
}

/* An opcode with a number behind it, in 1, 2 or 4 bytes. */
static void pickle_number(struct pickle *p, uint8_t op, uint64_t value, unsigned bytes)
{
	uint8_t little[sizeof(value)];

	pickle_op(p, op);
	put_little(little, value, bytes);
	pickle_bytes(p, little, bytes);
}

/* Keeps what was written last under the next number. */
static void pickle_keep(struct pickle *p)
{
	if (p->kept <= UINT8_MAX)
		pickle_number(p, OP_BINPUT, p->kept, 1);
	else
		pickle_number(p, OP_LONG_BINPUT, p->kept, 4);
	p->kept++;
}

static void pickle_text(struct pickle *p, const char *text)
{
	uint64_t n = strlen(text);

	pickle_number(p, OP_BINUNICODE, n, 4);
	pickle_bytes(p, text, n);
	pickle_keep(p);
}

static void pickle_object(struct pickle *p, unsigned object)
{
	uint32_t number = p->numbers[object];

	if (number) {
		number--;
		if (number <= UINT8_MAX)
			pickle_number(p, OP_BINGET, number, 1);
		else
			pickle_number(p, OP_LONG_BINGET, number, 4);
		return;
	}
	p->numbers[object] = p->kept + 1;
	if (object == STORAGE || object == CPU) {
		pickle_text(p, texts[object]);
		return;
	}
	pickle_op(p, OP_GLOBAL);
	pickle_bytes(p, texts[object], strlen(texts[object]));
	pickle_keep(p);
}

/* A whole number in as few bytes as its sign leaves. */
static void pickle_whole(struct pickle *p, uint64_t value)
{
	unsigned bytes = 4;
	uint8_t head[2];

	if (value <= UINT8_MAX) {
		pickle_number(p, OP_BININT1, value, 1);
	} else if (value <= UINT16_MAX) {
		pickle_number(p, OP_BININT2, value, 2);
	} else if (value <= INT32_MAX) {
		pickle_number(p, OP_BININT, value, 4);
	} else {
		uint8_t little[sizeof(value)];

		while (bytes < sizeof(value) && value >> (8 * bytes - 1))
			bytes++;
		head[0] = OP_LONG1;
		head[1] = (uint8_t)bytes;
		pickle_bytes(p, head, sizeof(head));
		put_little(little, value, bytes);
		pickle_bytes(p, little, bytes);
	}
}

static void pickle_empty_ordered_dict(struct pickle *p)
{
	pickle_object(p, ORDERED_DICT);
	pickle_op(p, OP_EMPTY_TUPLE);
	pickle_op(p, OP_REDUCE);
	pickle_keep(p);
}

static void pickle_wholes(struct pickle *p, const uint64_t *values, uint32_t count)
{
	_Static_assert(TENSOR_DIMENSIONS_MAX == 2, "tuples of three and more have other opcodes");
	if (count == 0) {
		pickle_op(p, OP_EMPTY_TUPLE);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		pickle_whole(p, values[i]);
	pickle_op(p, count == 1 ? OP_TUPLE1 : OP_TUPLE2);
	pickle_keep(p);
}

/* The persistent id of tensor i's bytes: PREFIX/data/i. */
static void pickle_storage(struct pickle *p, const struct tensor *t, uint64_t i, bool typed,
			   uint64_t numbers)
{
	char key[24];

	snprintf(key, sizeof(key), "%llu", (unsigned long long)i);
	pickle_op(p, OP_MARK);
	pickle_object(p, STORAGE);
	pickle_object(p, typed ? TYPED_STORAGE + (unsigned)t->type : UNTYPED_STORAGE);
	pickle_text(p, key);
	pickle_object(p, CPU);
	pickle_whole(p, typed ? numbers : t->bytes);
	pickle_op(p, OP_TUPLE);
	pickle_keep(p);
	pickle_op(p, OP_BINPERSID);
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
	pickle_op(p, OP_MARK);
	pickle_storage(p, t, i, typed, numbers);
	pickle_whole(p, 0); /* where the tensor begins in its storage */
	pickle_wholes(p, t->shape, t->dimensions);
	pickle_wholes(p, strides, t->dimensions);
	pickle_op(p, OP_NEWFALSE); /* it needs no gradient */
	pickle_empty_ordered_dict(p);
	if (!typed)
		pickle_object(p, FLOAT8);
	pickle_op(p, OP_TUPLE);
	pickle_keep(p);
	pickle_op(p, OP_REDUCE);
	pickle_keep(p);
}

uint64_t torch_pickle(const struct archive *a, uint8_t *out)
{
	struct pickle p = {.out = out};
	uint64_t count = a->tensors.count;

	pickle_number(&p, OP_PROTO, 2, 1);
	pickle_empty_ordered_dict(&p);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t first = i - i % BATCH,
			 batch = count - first < BATCH ? count - first : BATCH;
		struct tensor t;

		archive_stored(a, i, &t);
		if (i == first && batch > 1)
			pickle_op(&p, OP_MARK);
		pickle_text(&p, t.name);
		pickle_tensor(&p, &t, i);
		if (batch == 1)
			pickle_op(&p, OP_SETITEM);
		else if (i == first + batch - 1)
			pickle_op(&p, OP_SETITEMS);
	}
	pickle_op(&p, OP_STOP);
	return p.bytes;
}
