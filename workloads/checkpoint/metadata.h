/* SPDX-License-Identifier: Apache-2.0 */
/* What torch's distributed checkpoints keep and send about their tensors, as the pickles that torch writes.
 *
 *	.metadata   Metadata: each entry of the state dict with its chunks, and where each chunk is (file, offset, length).
 *	            Of some ranks: "__3.metadata" of rank 3 alone
 *	plan        SavePlan of one rank: a WriteItem for each tensor it writes, gathered from all ranks and scattered to them
 *	results     a WriteResult for each, gathered after the writes
 *
 * Sources: the modules metadata, planner, filesystem and storage of torch.distributed.checkpoint.
 *
 * Pure functions; any thread. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_METADATA_H
#define HAUL_WORKLOADS_CHECKPOINT_METADATA_H

#include "workloads/archive/archive.h"
#include "workloads/checkpoint/state_dict.h"

enum metadata_kind { METADATA_ALL, METADATA_PLAN, METADATA_RESULTS };

struct metadata_source {
	struct state_dict dict;
	enum archive_kind archive;
	uint64_t first, end; /* ranks */
};

/* "__3_0.distcp" */
void metadata_file_name(uint64_t rank, char *name, size_t bytes);

/* Writes the pickle at out (NULL: nowhere), and tells its bytes. -ENOMEM. */
int metadata_pickle(const struct metadata_source *s, enum metadata_kind kind, uint8_t *out,
		    uint64_t *bytes, struct err *err);

#endif
