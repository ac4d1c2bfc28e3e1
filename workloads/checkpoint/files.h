/* Files of a checkpoint: names, tensors and writers, as functions of the model, its mesh and the layout. The same
 * functions say which ranges of them a rank of another mesh reads. Nothing is listed anywhere.
 *
 *	rank         as DeepSpeed and DLIO name them: "zero_pp_rank_0_mp_rank_03_model_states.pt" and
 *	             "…_optim_states.pt" with ZeRO 3 (and 0); "model_03_model_states.pt" with ZeRO 1 and 2
 *	layer        "layer_7-model_03_model_states.pt" per layer and model-parallel rank, written by data rank 0, and the
 *	             optimizer's files as above
 *	distributed  torch.distributed.checkpoint: "__3_0.distcp" per rank, weights and optimizer together
 *	shared       one file; each rank has a region, which begins at a multiple of part
 *
 * A rank of the mesh that has nothing to write (a data replica with ZeRO 0) has no files.
 *
 * Pure functions; any thread. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_FILES_H
#define HAUL_WORKLOADS_CHECKPOINT_FILES_H

#include "workloads/archive/archive.h"
#include "workloads/model/shard.h"

enum checkpoint_layout {
	CHECKPOINT_RANK,
	CHECKPOINT_LAYER,
	CHECKPOINT_DISTRIBUTED,
	CHECKPOINT_SHARED
};
extern const char *const checkpoint_layout_names[];

/* What all of it follows from; plain data, which the marker of a checkpoint keeps. */
struct checkpoint_shape {
	struct model model;
	struct mesh mesh; /* complete */
	uint32_t layout;  /* enum checkpoint_layout */
	uint32_t framing; /* enum archive_kind; a shared file's regions are raw */
	uint64_t part;    /* shared: bytes that regions are rounded up to; else unused */
};

enum { CHECKPOINT_NAME_BYTES = 128 };

/* A file, or in a shared file the region, that one rank of the mesh writes. It refers to the shape, which must live as
 * long. */
struct checkpoint_file {
	const struct checkpoint_shape *shape;
	char name[CHECKPOINT_NAME_BYTES]; /* in the folder of the checkpoint */
	uint64_t number; /* unique among all files and regions: of the content's key */
	uint64_t offset; /* of the region; 0 where the file is this rank's alone */
	/* What is in it: layers [layer_first, layer_end) of the weights, then the optimizer's states. */
	struct mesh_place place;
	uint64_t layer_first, layer_end;
	bool optimizer;
	uint64_t tensors;
};

/* Files that rank writes, and file i of them. */
uint32_t checkpoint_file_count(const struct checkpoint_shape *s, uint64_t rank);
void checkpoint_file(const struct checkpoint_shape *s, uint64_t rank, uint32_t i,
		     struct checkpoint_file *out);
/* Tensor t of the file; for struct archive_tensors. */
void checkpoint_file_tensor(const void *file, uint64_t t, struct tensor *out);
struct archive_tensors checkpoint_file_tensors(const struct checkpoint_file *f);

/* Bytes of tensors that the rank writes: weights and optimizer. */
void checkpoint_rank_bytes(const struct checkpoint_shape *s, uint64_t rank, uint64_t *weights,
			   uint64_t *optimizer);
/* Shared: bytes of the file, all regions. */
uint64_t checkpoint_shared_bytes(const struct checkpoint_shape *s);

/* A contiguous range of a file that a reader needs: bytes [offset, offset + length) of a tensor. */
struct checkpoint_range {
	uint64_t rank; /* that wrote the file */
	uint32_t file;
	uint64_t tensor, offset, length;
};

/* Whose weights a rank restores where several data ranks have the same ones: all ranks read, as real restores do, or
 * only those of data rank 0, as DLIO. */
enum checkpoint_replicas { CHECKPOINT_REPLICAS_ALL, CHECKPOINT_REPLICAS_FIRST };
extern const char *const checkpoint_replicas_names[];

/* Calls range for each range that rank of the mesh reader needs of a checkpoint of shape s, in the order of files and
 * offsets, neighbours of a tensor joined: together exactly the reader's shard (of the optimizer's states, which are a
 * flat vector that each mesh cuts with a remainder of its own, what was written of it). Ends early with what range
 * returns if that is not 0. */
int checkpoint_ranges(const struct checkpoint_shape *s, const struct mesh *reader, uint64_t rank,
		      enum checkpoint_replicas replicas,
		      int (*range)(void *argument, const struct checkpoint_range *r),
		      void *argument);

#endif
