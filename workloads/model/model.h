/* A transformer model as numbers: its dimensions, and the parameters that follow from them. Nothing here is copied from
 * a table of sizes; the tests compare the totals with MLPerf's and DLIO's.
 *
 * Source of the formulas: DLIO's checkpointing/base_checkpointing.py, which MLPerf Storage uses. Divisions are whole,
 * and in the order written here.
 *
 * Plain data and pure functions; any thread. */
#ifndef HAUL_WORKLOADS_MODEL_MODEL_H
#define HAUL_WORKLOADS_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/option/option.h"

/* Number formats, with their bits. */
/* clang-format off */
#define MODEL_TYPES(X) \
	X(FP64, "fp64", 64) X(FP32, "fp32", 32) X(FP16, "fp16", 16) X(BF16, "bf16", 16) \
	X(FP8, "fp8", 8) X(INT8, "int8", 8) X(UINT8, "uint8", 8) X(INT4, "int4", 4)
/* clang-format on */
#define MODEL_TYPE(id, name, bits) MODEL_##id,
enum model_type { MODEL_TYPES(MODEL_TYPE) MODEL_TYPE_COUNT };
#undef MODEL_TYPE

extern const char *const model_type_names[]; /* NULL-terminated, for options */
const char *model_type_name(enum model_type type);
/* Bytes of count numbers of that format, rounded up to whole bytes. */
uint64_t model_type_bytes(enum model_type type, uint64_t count);

/* The option "model": a name, or dimensions, or a name with some dimensions changed; or a flat size. */
struct model {
	uint32_t name; /* enum model_name */
	uint64_t vocabulary, hidden, feed_forward, layers, heads, kv_heads;
	uint32_t weights, optimizer; /* enum model_type */
	uint64_t bytes;              /* size of a model of no known shape; 0: by its dimensions */
};
extern const struct option model_options[];

/* -EINVAL with "path/key: sentence" where dimensions are missing or do not fit together. */
int model_check(const struct model *m, const char *path, struct err *err);

/* Layers are numbered from 0, the embedding, over 1 ... m->layers to the output head and the last norm. */
static inline uint64_t model_layer_count(const struct model *m)
{
	return m->bytes ? 1 : m->layers + 3;
}

uint64_t model_parameters(const struct model *m);

#endif
