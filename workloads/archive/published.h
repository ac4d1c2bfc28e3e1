/* SPDX-License-Identifier: Apache-2.0 */
/* The safetensors files with which a model is published, from its shape: which tensors are in which file, in which order, and
 * how large each file is.
 *
 * Tensors come in the order of the model (embedding, layer after layer with its norms behind it, last norm, output layer), and
 * a file has as many of them as fit. Within a file they are sorted, large numbers first and then by name. Sources:
 * split_torch_state_dict_into_shards of huggingface_hub, and the writer of safetensors. So the files of Llama-3.1-8B have
 * 4,976,698,672, 4,999,802,720, 4,915,916,176 and 1,168,138,808 bytes, as those on the Hub have.
 *
 * Plain data, made once and read-only afterwards; any thread. Memory: about 300 bytes per tensor. */
#ifndef HAUL_WORKLOADS_ARCHIVE_PUBLISHED_H
#define HAUL_WORKLOADS_ARCHIVE_PUBLISHED_H

#include "workloads/archive/archive.h"
#include "workloads/archive/safetensors_read.h"

enum { PUBLISHED_NAME_BYTES = 64 };
extern const char published_index_name[]; /* "model.safetensors.index.json" */

struct published_file {
	char name[PUBLISHED_NAME_BYTES]; /* "model-00002-of-00004.safetensors" */
	const struct tensor *tensors;    /* [archive.tensors.count] */
	struct archive archive;
};

struct published {
	uint64_t files, bytes; /* bytes: of all tensors */
	struct published_file *file;
};

/* shard: most bytes of tensors in a file; 0: as the model is published. In memory of the arena.
 * -ENOMEM, or -EINVAL with a sentence. */
int published_make(struct published *p, const struct model *m, uint64_t shard, struct arena *arena,
		   struct err *err);

/* model.safetensors.index.json; the caller frees it. NULL: no memory. A model of one file has none. */
char *published_index(const struct published *p);

/* The tensors of a file, as its header says. -ENOMEM. */
int published_tensors(const struct published_file *f, struct safetensors *out, struct arena *arena);

#endif
