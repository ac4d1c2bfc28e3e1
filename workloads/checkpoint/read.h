/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a checkpoint: the threads of a rank share its pieces (common/piece_reader.h), and compare
 * what comes. What a rank reads is computed as each thread walks over it, whatever the mesh of the
 * readers is. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_READ_H
#define HAUL_WORKLOADS_CHECKPOINT_READ_H

#include "workloads/checkpoint/run.h"

/* What a thread reads with. Call the close function also after an error. */
int checkpoint_reader_open(struct checkpoint_run *r, uint32_t thread, struct err *err);
void checkpoint_reader_close(struct checkpoint_run *r, uint32_t thread);
/* Body of the crew, called once per thread. */
int checkpoint_read_thread(struct crew_thread *w, uint64_t thread);

/* Calls range for all that this rank reads of the checkpoint at work; of a file that it reads
 * whole, once with the tensor CHECKPOINT_WHOLE_FILE. */
#define CHECKPOINT_WHOLE_FILE UINT64_MAX
int checkpoint_read_walk(const struct checkpoint_run *r,
			 int (*range)(void *argument, const struct checkpoint_range *g),
			 void *argument);

#endif
