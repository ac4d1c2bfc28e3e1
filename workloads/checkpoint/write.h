/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a checkpoint: the threads of a rank take its files one after the other. A thread that
 * finds no further file joins one that others write, as long as pieces of it are left. Who leaves a
 * file last commits it. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_WRITE_H
#define HAUL_WORKLOADS_CHECKPOINT_WRITE_H

#include "workloads/checkpoint/run.h"

/* What all writers of this rank share, and what each has. Call the close function also after an
 * error. */
int checkpoint_write_open(struct checkpoint_run *r, struct err *err);
void checkpoint_write_close(struct checkpoint_run *r);
int checkpoint_writer_open(struct checkpoint_run *r, uint32_t thread, struct err *err);
/* Before a pass. */
void checkpoint_write_reset(struct checkpoint_run *r);
/* Body of the crew, called once per thread. */
int checkpoint_write_thread(struct crew_thread *w, uint64_t thread);

#endif
