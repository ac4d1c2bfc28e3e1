/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints in virtual time: writers and readers of all ranks, as workloads/checkpoint/ has them, in a phase of
 * their own or within a training. */
#ifndef HAUL_SIMULATE_CHECKPOINT_H
#define HAUL_SIMULATE_CHECKPOINT_H

#include "simulate/simulate.h"
#include "workloads/checkpoint/checkpoint.h"

struct checkpoint_model;

/* use must live as long. phase: which has opened the stores; count: where checkpoints are counted, of their own
 * schema. */
int checkpoint_model_open(struct checkpoint_model **out, const struct simulation *s,
			  struct engine *e, const struct checkpoint_use *use, uint32_t ranks,
			  const struct simulated *phase, struct simulated *count, struct err *err);
void checkpoint_model_close(struct checkpoint_model *m);

/* All ranks write the next one, or read it, from now on. Wakes done when it is whole. */
void checkpoint_model_begin(struct checkpoint_model *m, bool reads, struct actor *done);
bool checkpoint_model_flies(const struct checkpoint_model *m);
/* With a snapshot: how long the copy takes, of the rank that has most. */
uint64_t checkpoint_model_copy_ns(const struct checkpoint_model *m);
/* What whoever asked for the last one waited for it. */
void checkpoint_model_blocked(struct checkpoint_model *m, uint64_t ns);
/* After the last one: the rows of ranks are complete. */
void checkpoint_model_count(struct checkpoint_model *m);

#endif
