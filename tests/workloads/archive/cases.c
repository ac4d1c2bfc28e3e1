/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workloads/archive/cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A list of tensors; ended by a row without a name. */
struct row {
	const char *name;
	enum model_type type;
	uint32_t dimensions;
	uint64_t shape[TENSOR_DIMENSIONS_MAX];
};

static const struct row few_bytes[] = {
	{"a", MODEL_UINT8, 1, {1, 0}},  {"b", MODEL_INT8, 1, {2, 0}},
	{"c", MODEL_UINT8, 2, {1, 3}},  {"d", MODEL_UINT8, 1, {4, 0}},
	{"e", MODEL_FP8, 2, {1, 5}},    {"f", MODEL_FP16, 0, {0, 0}},
	{"g", MODEL_UINT8, 2, {17, 1}}, {0}};

static const struct row no_bytes[] = {{"first", MODEL_FP32, 1, {0, 0}},
				      {"second", MODEL_FP64, 1, {3, 0}},
				      {"third", MODEL_FP16, 2, {0, 9}},
				      {"fourth", MODEL_INT4, 2, {9, 0}},
				      {"fifth", MODEL_UINT8, 1, {1, 0}},
				      {"last", MODEL_BF16, 1, {0, 0}},
				      {0}};

static const struct row types[] = {{"double", MODEL_FP64, 2, {3, 5}},
				   {"single", MODEL_FP32, 1, {300, 0}},
				   {"half", MODEL_FP16, 2, {127, 33}},
				   {"brain", MODEL_BF16, 2, {1, 65536}},
				   {"float8", MODEL_FP8, 2, {10, 11}},
				   {"other8", MODEL_FP8, 0, {0, 0}},
				   {"signed", MODEL_INT8, 1, {70000, 0}},
				   {"unsigned", MODEL_UINT8, 2, {7, 1}},
				   {"even4", MODEL_INT4, 2, {7, 10}},
				   {"odd4", MODEL_INT4, 2, {3, 5}},
				   {"one4", MODEL_INT4, 0, {0, 0}},
				   {"scalar", MODEL_FP64, 0, {0, 0}},
				   {0}};

/* Around the blocks in which torch's checksums are computed. */
static const struct row blocks[] = {
	{"65535", MODEL_UINT8, 1, {65535, 0}},   {"65536", MODEL_UINT8, 1, {65536, 0}},
	{"65537", MODEL_UINT8, 1, {65537, 0}},   {"65539", MODEL_UINT8, 1, {65539, 0}},
	{"65551", MODEL_UINT8, 1, {65551, 0}},   {"65552", MODEL_UINT8, 1, {65552, 0}},
	{"131073", MODEL_UINT8, 1, {131073, 0}}, {"200000", MODEL_UINT8, 1, {200000, 0}},
	{"400000", MODEL_FP64, 2, {500, 100}},   {0}};

/* Numbers of every length in pickles, and zip64 for sizes and for offsets. */
static const struct row huge[] = {{"first", MODEL_FP32, 1, {10, 0}},
				  {"3 GiB", MODEL_UINT8, 1, {UINT64_C(3) << 30, 0}},
				  {"small", MODEL_FP16, 1, {5, 0}},
				  {"nearly 4 GiB", MODEL_UINT8, 1, {0xfffffffe, 0}},
				  {"behind 4 GiB", MODEL_FP32, 2, {300, 3}},
				  {"none", MODEL_FP32, 1, {0, 0}},
				  {"just 4 GiB", MODEL_UINT8, 1, {0xffffffff, 0}},
				  {"over 4 GiB", MODEL_BF16, 2, {UINT64_C(3) << 30, 5}},
				  {"last", MODEL_UINT8, 1, {100000, 0}},
				  {0}};

static void row_tensor(const void *argument, uint64_t i, struct tensor *out)
{
	const struct row *row = (const struct row *)argument + i;
	uint64_t elements = 1;

	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "%s", row->name);
	out->type = row->type;
	out->dimensions = row->dimensions;
	for (uint32_t d = 0; d < row->dimensions; d++) {
		out->shape[d] = row->shape[d];
		elements *= row->shape[d];
	}
	out->bytes = model_type_bytes(row->type, elements);
}

/* Two thousand and one: two full batches of a pickle and one tensor more. */
static void many_tensor(const void *argument, uint64_t i, struct tensor *out)
{
	(void)argument;
	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "model.layers.%" PRIu64 ".weight", i);
	out->type = i % 3 ? MODEL_FP16 : MODEL_FP32;
	out->dimensions = 2;
	out->shape[0] = (i + 2) % 7;
	out->shape[1] = 1 + i % 40;
	out->bytes = model_type_bytes(out->type, out->shape[0] * out->shape[1]);
}

#define ROWS(name, rows, huge) \
	{ \
		name, {sizeof(rows) / sizeof(*(rows)) - 1, row_tensor, rows, NULL}, huge \
	}
static const struct archive_case cases[] = {
	{"none", {0, many_tensor, NULL, NULL}, false},
	{"one", {1, many_tensor, NULL, NULL}, false},
	{"thousand", {1000, many_tensor, NULL, NULL}, false},
	{"many", {2001, many_tensor, NULL, NULL}, false},
	ROWS("few_bytes", few_bytes, false),
	ROWS("no_bytes", no_bytes, false),
	ROWS("types", types, false),
	ROWS("blocks", blocks, false),
	ROWS("huge", huge, true),
};

unsigned archive_cases(const struct archive_case **all)
{
	*all = cases;
	return sizeof(cases) / sizeof(*cases);
}
