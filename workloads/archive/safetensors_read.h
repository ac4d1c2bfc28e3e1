/* SPDX-License-Identifier: Apache-2.0 */
/* Header of a safetensors file that anybody may have made, and the index of a model that consists of several files.
 *
 *	| n u64 | header: {"name": {"dtype":…, "shape":…, "data_offsets":…}, …} | tensors |
 *	0       8                                                               8 + n
 *
 * Strict, as the format's own reader is: the tensors do not overlap, leave no gap, and end where the file ends. Memory
 * is bounded by the header's size: names, and about 200 bytes per tensor. Source: README of huggingface/safetensors.
 * Any thread, with an arena of its own. */
#ifndef HAUL_WORKLOADS_ARCHIVE_SAFETENSORS_READ_H
#define HAUL_WORKLOADS_ARCHIVE_SAFETENSORS_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"

enum {
	SAFETENSORS_LENGTH_BYTES = 8,
	SAFETENSORS_HEADER_MAX = 100000000,
	SAFETENSORS_DIMENSIONS_MAX = 8
};

/* Types of the format, with the bits of a number. */
/* clang-format off */
#define SAFETENSORS_TYPES(X) \
	X(BOOL, 8) X(F4, 4) X(F6_E2M3, 6) X(F6_E3M2, 6) X(U8, 8) X(I8, 8) X(F8_E5M2, 8) X(F8_E4M3, 8) X(F8_E8M0, 8) \
	X(I16, 16) X(U16, 16) X(F16, 16) X(BF16, 16) X(I32, 32) X(U32, 32) X(F32, 32) \
	X(C64, 64) X(F64, 64) X(I64, 64) X(U64, 64)
/* clang-format on */

struct safetensors_tensor {
	const char *name, *type; /* type: one of SAFETENSORS_TYPES */
	uint32_t dimensions;
	uint64_t shape[SAFETENSORS_DIMENSIONS_MAX];
	uint64_t begin, end; /* in the file */
};

struct safetensors {
	uint64_t count;
	struct safetensors_tensor *tensors; /* in the order of the file */
};

/* Bytes of the header of a file of that size, from the file's first ones. -EINVAL with a
 * sentence. */
int safetensors_header_bytes(const uint8_t first[SAFETENSORS_LENGTH_BYTES], uint64_t file_bytes,
			     uint64_t *header_bytes, struct err *err);

/* Parses the header, whose size is from safetensors_header_bytes. What *out refers to is in the
 * arena. -EINVAL or -ENOMEM with a sentence, which does not name the file. */
int safetensors_read(struct safetensors *out, const char *header, uint64_t header_bytes,
		     uint64_t file_bytes, struct arena *arena, struct err *err);

/* The tensors of a file: how many, the sum of the hashes of their names, and of how many layers and
 * experts they are, by the numbers in their names ("layers.31.", "experts.127."). */
struct safetensors_names {
	uint64_t count, sum;
	uint64_t layers, experts;
};
void safetensors_names_add(struct safetensors_names *n, const char *name);
void safetensors_names_join(struct safetensors_names *n, const struct safetensors_names *more);

/* The number behind a part of a name, as "layers" in "model.layers.31.mlp"; false: it has none. */
bool safetensors_number(const char *name, const char *part, uint64_t *number);

/* A file of an index, and the tensors that the index names in it. */
struct safetensors_file {
	const char *name;
	struct safetensors_names tensors;
};

/* Parses model.safetensors.index.json. *files are the *count files that the model consists of,
 * sorted by their names; they lie in the index's folder. -EINVAL or -ENOMEM with a sentence. */
int safetensors_read_index(const char *index, uint64_t index_bytes, struct safetensors_file **files,
			   uint64_t *count, struct arena *arena, struct err *err);

#endif
