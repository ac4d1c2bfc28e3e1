/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over a checkpoint: one is written, with its marker, or read, or removed because newer ones
 * stay. Collective. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_PASS_H
#define HAUL_WORKLOADS_CHECKPOINT_PASS_H

#include "workloads/checkpoint/run.h"

/* Writes checkpoint r->number, and removes the one that is then too many. */
int checkpoint_write_next(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);

/* The steps of that, for whoever does something else while the threads write. begin: all is made
 * ready for them. end: they have written it, or failed with written, or were stopped; it is
 * published and counted. */
int checkpoint_write_begin(struct checkpoint_run *r, struct err *err);
int checkpoint_write_end(struct checkpoint_run *r, int written, bool stopped, struct err *err);
int checkpoint_remove_old(struct checkpoint_run *r, struct err *err);

/* Reads checkpoint r->number. */
int checkpoint_read_next(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);

#endif
