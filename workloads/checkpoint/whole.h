/* SPDX-License-Identifier: Apache-2.0 */
/* All bytes that this rank writes of a checkpoint, in memory at once: the copy of a snapshot that is held, or the whole
 * tensors of a checkpoint that does not stream. Writers and fillers make them all before the first one is written.
 *
 *	memory   | file 0 ··· | file 1 ··· | …      each file from a multiple of CHECKPOINT_WHOLE_ALIGNMENT on
 *
 * It is one object for the writers that make it (writer_make), and each file of it is one for those that write it. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_WHOLE_H
#define HAUL_WORKLOADS_CHECKPOINT_WHOLE_H

#include "workloads/checkpoint/run.h"

/* Takes the memory, which then serves any number of checkpoints. Call the free function also after
 * an error. */
int checkpoint_whole_take(struct checkpoint_run *r, struct err *err);
void checkpoint_whole_free(struct checkpoint_run *r);
/* Before each checkpoint, when its marker is known. */
int checkpoint_whole_lay_out(struct checkpoint_run *r, struct err *err);
/* Each writer calls it, in the body of the crew. Returns when all bytes are there, or -ECANCELED
 * where they will not be. Its time is the writer's fill_ns. */
int checkpoint_whole_make(struct checkpoint_run *r, uint64_t thread);
/* Where the bytes of a file of this rank are; NULL: they stream. */
void *checkpoint_whole_bytes(const struct checkpoint_run *r, uint32_t file);

/* Waits until bytes would have come to the host since began_ns, at the rate of the job. Any
 * thread. */
void checkpoint_pace(const struct checkpoint_run *r, uint64_t began_ns, uint64_t bytes);

#endif
