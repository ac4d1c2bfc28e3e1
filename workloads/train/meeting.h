/* SPDX-License-Identifier: Apache-2.0 */
/* Meeting: how the ranks of a pass agree where they stand, whether they end, and when the phase is
 * shown and published.
 *
 * Where the ranks meet depends on `sync`. step: a status round at the end of each step is the
 * barrier; it also carries errors and requests to stop, so that all ranks end at the same step.
 * epoch, and evaluations: each epoch has a session of rolling status rounds, whose end is the
 * barrier. none: one session lasts for the whole pass, and the proofs of all epochs come after it.
 *
 * Belongs to the rank's main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_MEETING_H
#define HAUL_WORKLOADS_TRAIN_MEETING_H

#include "workloads/train/state.h"

/* The words of the pass in status rounds. PASS_WRITING: 1 while threads write a checkpoint. */
enum { PASS_P99_NS, PASS_COMPUTE_NS, PASS_WALL_NS, PASS_BYTES, PASS_WRITING };

/* Why this rank would end now. */
enum stop_reason meeting_stop_reason(const struct pass *p);

/* Tells who watches that the rank should have ended then; 0: no longer. */
void meeting_overdue(const struct pass *p, uint64_t since_ns);

/* What this rank says in a status round. */
void meeting_status(const struct pass *p, struct status *s);
void meeting_progress(struct pass *p);

/* Looks at the status round under way, and shows the progress. True: end now. To be called at least
 * every 10 ms. */
bool meeting_poll(struct pass *p);

/* A session of rolling rounds. At its end, this rank has finished: it answers until all have. */
void meeting_begin(struct pass *p);
void meeting_end(struct pass *p);

#endif
