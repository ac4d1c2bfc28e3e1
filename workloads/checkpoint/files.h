/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a checkpoint: names, tensors and writers, as functions of the model, its mesh and the layout. The same
 * functions say which ranges of them a rank of another mesh reads. No list is kept anywhere.
 *
 *	rank         as DLIO names them: "zero_pp_rank_0_mp_rank_3_model_states.pt" and "…_optim_states.pt" with ZeRO 3
 *	             (and 0); "model_3_model_states.pt" with ZeRO 1 and 2; "model_states-5.pt" for a model of no
 *	             known shape
 *	layer        "layer_7-model_3_model_states.pt" per layer and model part, written by data rank 0, and the
 *	             optimizer's files as above; with ZeRO 3, where every data rank writes,
 *	             "layer_7-zero_pp_rank_0_mp_rank_3_model_states.pt"
 *	distributed  torch.distributed.checkpoint: "__3_0.distcp" per rank, weights and optimizer together
 *	shared       one file, "checkpoint.bin"; each rank has a region, which begins at a multiple of part
 *
 *	dcp          torch.distributed.checkpoint as it is: "__3_0.distcp" per rank, an item per tensor of the state dict
 *	             (state_dict.h), and ".metadata" (metadata.h), written last, of rank 0; or "__3.metadata" per rank
 *	megatron     the same with Megatron's states: weights that data ranks have alike are shared out among them
 *	hf           weights only, as torch's writer for Hugging Face: "sharded/shard-00004-model-00001-of-00002.safetensors"
 *	             of rank 3 for each file of the model of which it has something; consolidated, these are
 *	             "model-00001-of-00002.safetensors", with "model.safetensors.index.json" of rank 0, written last
 *
 * Names end as their framing asks for: ".pt", ".safetensors" or ".bin".
 *
 * A rank of the mesh that has nothing to write (a data replica with ZeRO 0) has no files.
 *
 * Pure functions; any thread. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_FILES_H
#define HAUL_WORKLOADS_CHECKPOINT_FILES_H

#include "workloads/archive/archive.h"
#include "workloads/checkpoint/state_dict.h"
#include "workloads/model/shard.h"

enum checkpoint_layout {
	CHECKPOINT_RANK,
	CHECKPOINT_LAYER,
	CHECKPOINT_DISTRIBUTED,
	CHECKPOINT_SHARED,
	CHECKPOINT_DCP,
	CHECKPOINT_MEGATRON,
	CHECKPOINT_HF
};
extern const char *const checkpoint_layout_names[];

/* hf: who makes the model's files of the shards. */
enum checkpoint_consolidate {
	CHECKPOINT_CONSOLIDATE_NONE,
	CHECKPOINT_CONSOLIDATE_RANK, /* rank 0 */
	CHECKPOINT_CONSOLIDATE_RANKS /* all, file by file in turn */
};
extern const char *const checkpoint_consolidate_names[];

/* What all of it follows from; plain data, which the marker of a checkpoint keeps. */
struct checkpoint_shape {
	struct model model;
	struct mesh mesh; /* complete */
	uint32_t layout;  /* enum checkpoint_layout */
	uint32_t framing; /* enum archive_kind; a shared file's regions are raw */
	/* shared: bytes that regions are rounded up to; hf: most bytes of tensors of a file of the model; else unused. */
	uint64_t part;
	uint32_t consolidate; /* enum checkpoint_consolidate */
	bool rank_metadata; /* dcp, megatron: each rank writes metadata of its own, rank 0 none of all */
};

enum { CHECKPOINT_NAME_BYTES = 128 };
#define CHECKPOINT_HF_SHARDS "sharded/"

/* A file, or in a shared file the region, that one rank of the mesh writes. It refers to the shape,
 * which must live as long. */
struct checkpoint_file {
	const struct checkpoint_shape *shape;
	char name[CHECKPOINT_NAME_BYTES]; /* in the folder of the checkpoint */
	/* Of the content's key: unique among all files and regions; hf: of the model's file, whose shards have its bytes. */
	uint64_t number;
	/* Shared: where the region begins, and its bytes with the padding after the tensors. Else
	 * 0. */
	uint64_t offset, region;
	/* What is in it: layers [layer_first, layer_end) of the weights, then the optimizer's
	 * states if it has them. */
	struct mesh_place place;
	uint64_t layer_first, layer_end;
	bool optimizer;
	uint64_t tensors;
	/* dcp, megatron: the file is the metadata; else its entries, once checkpoint_file_list has listed them. */
	bool metadata;
	struct state_dict dict;
	const uint32_t *entries;
	/* hf: whether it is consolidated; the entries of the model's file, and where in it each of entries begins. */
	bool whole;
	uint64_t first, end;
	const uint64_t *at;
};

/* Whether each rank's files have whole entries of a state dict; and whether metadata beside them, or the index of Hugging
 * Face, says that the checkpoint is whole. */
static inline bool checkpoint_has_state_dict(const struct checkpoint_shape *s)
{
	return s->layout >= CHECKPOINT_DCP;
}
static inline bool checkpoint_has_metadata(const struct checkpoint_shape *s)
{
	return checkpoint_has_state_dict(s) && (s->layout != CHECKPOINT_HF || s->consolidate);
}
static inline struct state_dict checkpoint_state_dict(const struct checkpoint_shape *s)
{
	struct state_dict d;

	state_dict_make(&d, &s->model, &s->mesh, s->layout == CHECKPOINT_MEGATRON);
	return d;
}
/* How the tensors of its files are framed. */
enum archive_kind checkpoint_archive_kind(const struct checkpoint_shape *s);

/* Files that rank writes, and file i of them. The cost does not grow with the number of ranks; the
 * offset in a shared file costs a few loops over the layers of one stage. */
uint32_t checkpoint_file_count(const struct checkpoint_shape *s, uint64_t rank);
void checkpoint_file(const struct checkpoint_shape *s, uint64_t rank, uint32_t i,
		     struct checkpoint_file *out);
/* Of these, how many have tensors, and are written by the rank's threads: the first ones. The others are made when all
 * ranks have written theirs: those that are consolidated, and metadata. */
uint32_t checkpoint_data_files(const struct checkpoint_shape *s, uint64_t rank);
/* The metadata of the rank, its last file. False: it has none. */
bool checkpoint_metadata_file(const struct checkpoint_shape *s, uint64_t rank,
			      struct checkpoint_file *out);
/* Before anything is asked about tensors of the file, where there is a state dict. -ENOMEM. */
int checkpoint_file_list(struct checkpoint_file *f, struct arena *arena, struct err *err);
/* Metadata: its bytes, and the bytes themselves at out (NULL: nowhere). */
int checkpoint_metadata(const struct checkpoint_file *f, uint8_t *out, uint64_t *bytes,
			struct err *err);
/* Tensor t of the file; for struct archive_tensors. */
void checkpoint_file_tensor(const void *file, uint64_t t, struct tensor *out);
struct archive_tensors checkpoint_file_tensors(const struct checkpoint_file *f);

/* Bytes of its archive; and of file i of the rank or, shared, of its region, which may be
 * longer. */
int checkpoint_archive_bytes(const struct checkpoint_file *f, uint64_t *bytes, struct err *err);
int checkpoint_file_bytes(const struct checkpoint_shape *s, uint64_t rank, uint32_t i,
			  uint64_t *bytes, struct err *err);

/* Bytes of tensors that the rank writes: weights and optimizer. */
void checkpoint_rank_bytes(const struct checkpoint_shape *s, uint64_t rank, uint64_t *weights,
			   uint64_t *optimizer);
/* Shared: bytes of the file, the regions of the first ranks of the mesh. */
uint64_t checkpoint_shared_bytes(const struct checkpoint_shape *s, uint64_t ranks);

/* hf.c. The layout "hf". The model's files have tensors layer by layer, each as many as fit into part bytes. A shard has of
 * one such file what its rank writes, as parts (archive/archive.h). Files of a rank: how many, all or only its shards; and file i,
 * whose shape and place are set. */
uint32_t hf_files(const struct checkpoint_shape *s, uint64_t rank, bool all);
void hf_file(struct checkpoint_file *f, uint32_t i);
void hf_file_list(const struct checkpoint_file *f, uint32_t *entries, uint64_t *at);
void hf_part(const void *file, uint64_t t, struct archive_part *out);
/* The rank's shard of that file of the model; false: it has nothing of it. */
bool hf_shard(const struct checkpoint_shape *s, uint64_t rank, uint64_t number,
	      struct checkpoint_file *out);
int hf_index(const struct checkpoint_file *f, uint8_t *out, uint64_t *bytes, struct err *err);

/* A contiguous range of a file that a reader needs: bytes [offset, offset + length) of a tensor. */
struct checkpoint_range {
	uint64_t rank; /* that wrote the file */
	uint32_t file; /* of that rank */
	uint64_t tensor, offset, length;
};

/* Where a tensor of the writer at that place is, offset and length 0: tensor i of a layer of its
 * stage, and tensor i of the optimizer's states. The writer must write weights, or the
 * optimizer. */
void checkpoint_weights_at(const struct checkpoint_shape *s, const struct mesh_place *p,
			   uint64_t layer, uint64_t i, struct checkpoint_range *out);
void checkpoint_optimizer_at(const struct checkpoint_shape *s, const struct mesh_place *p,
			     uint32_t i, struct checkpoint_range *out);

/* What a rank restores that several data ranks have alike (weights with ZeRO 0 to 2, and the
 * optimizer's states with ZeRO 0): all data ranks read it, as real restores do, or only data rank
 * 0, as DLIO does. */
enum checkpoint_replicas { CHECKPOINT_REPLICAS_ALL, CHECKPOINT_REPLICAS_FIRST };
extern const char *const checkpoint_replicas_names[];

/* Calls range for each range that rank of the mesh reader needs of a checkpoint of shape s, in the order of writers,
 * their files, tensors and offsets; ranges of a tensor that touch each other are one. Together they are exactly the
 * reader's shard, as far as it was written:
 *
 *	weights    the elements that the reader's mesh gives to the rank. Elements that remain where the writers' mesh
 *	           does not divide evenly are in no file.
 *	optimizer  the parameters' states are a flat vector, which each mesh cuts by rank (by model part with ZeRO 0),
 *	           the remainder left out. Each rank has small states of its own beside it: of R readers and W
 *	           writers, reader r takes those of writer r * W / R.
 *	vectors    of which every tensor rank has a copy, and models of no known shape, of which every data rank has one
 *	           with ZeRO 3: as the small states
 *
 * Numbers smaller than a byte: a byte is read where any of its numbers is needed. Ends early with what range returns if
 * that is not 0. */
int checkpoint_ranges(const struct checkpoint_shape *s, const struct mesh *reader, uint64_t rank,
		      enum checkpoint_replicas replicas,
		      int (*range)(void *argument, const struct checkpoint_range *r),
		      void *argument);

/* items.c. The same where there is a state dict: a range is an item, and has all bytes of it, with what frames it. Adds the
 * bytes that the rank needs to *needed, unless that is NULL. Of consolidated files, a range has the rows of which the rank
 * has something, whole. replicas: whether each rank reads what several hold, or one
 * of them. */
int checkpoint_items(const struct checkpoint_shape *s, const struct mesh *reader, uint64_t rank,
		     enum checkpoint_replicas replicas, uint64_t *needed,
		     int (*range)(void *argument, const struct checkpoint_range *r),
		     void *argument);

#endif
