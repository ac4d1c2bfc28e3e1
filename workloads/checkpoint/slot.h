/* SPDX-License-Identifier: Apache-2.0 */
/* Slot: a file of a checkpoint that one or several threads of this rank write. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_SLOT_H
#define HAUL_WORKLOADS_CHECKPOINT_SLOT_H

#include "workloads/checkpoint/run.h"

/* Lays file i of this rank out, whose bytes are made as they are written (slot->what). */
int checkpoint_slot_lay_out(struct checkpoint_run *r, struct checkpoint_slot *s, uint32_t i,
			    struct err *err);

/* Makes bytes of a slot's file, for struct writer_object. */
void checkpoint_slot_image(const void *slot, uint64_t at, void *to, uint64_t bytes);

#endif
