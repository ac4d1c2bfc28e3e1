/* SPDX-License-Identifier: Apache-2.0 */
/* Publication of phases and of the phases within them. Private to ranks/run. */
#ifndef HAUL_RANKS_RUN_PUBLISH_H
#define HAUL_RANKS_RUN_PUBLISH_H

#include "ranks/run/phase_run.h"

/* Fills the record of a phase that has ended, but for its number and its place in the series, on
 * the first rank of the phase's group. t: its figures. Collective over that group. */
void phase_describe(const struct phase_run *p, const struct tally *t, const struct err *failure,
		    struct phase_record *record);

/* Publishes a described phase, then the parts of p (NULL: this rank has none of it). running: it
 * goes on, has no parts yet, and its next publication replaces this one. Collective over all ranks
 * of the run. */
int phase_publish(struct run *run, const struct job_phase *of, struct results_phase *phase,
		  struct phase_run *p, struct err *err);

/* phase_context.publish: publishes the phase while it runs, as "running". If that fails, rank 0
 * warns and the phase goes on. */
void phase_publish_running(void *phase_run, struct tally *so_far);

#endif
