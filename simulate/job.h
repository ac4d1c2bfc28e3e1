/* SPDX-License-Identifier: Apache-2.0 */
/* A job in virtual time: all of its phases, for several seeds side by side. */
#ifndef HAUL_SIMULATE_JOB_H
#define HAUL_SIMULATE_JOB_H

#include "simulate/simulate.h"

enum { SIMULATE_SEEDS_MAX = 1000 };

/* A job on so many nodes. */
struct simulate_case {
	const struct job *job; /* scaled and checked for these ranks (plan_scale, plan_check) */
	uint32_t ranks, nodes, seeds;
	struct sim_options *storage; /* [job->store_count] */
	struct rank_place *places;   /* [ranks] */
	/* [seeds][job->phase_count]: NULL where the phase only makes data, and where it failed. */
	struct simulated **phases;
	int rc; /* of the first run that failed, with its sentence */
	struct err err;
};

/* Makes places. storage: [job->store_count], copied. -ENOTSUP, -EINVAL with a sentence where a phase is
 * not simulated. Call simulate_case_close also after an error. */
int simulate_case_open(struct simulate_case *c, const struct job *job, uint32_t ranks,
		       uint32_t nodes, uint32_t seeds, const struct sim_options *storage,
		       struct err *err);
void simulate_case_close(struct simulate_case *c);

/* Whether the phase is left out, since it only makes data, which a simulation does not need. */
bool simulate_leaves_out(const struct job_phase *phase);

/* Runs all cases and seeds, on so many threads (0: as many as there are cores). */
int simulate_cases(struct simulate_case *cases, uint32_t count, uint32_t threads, struct err *err);

/* The AU of the first phase that has one, on average over the seeds; NAN: none has. And the target that the job asks of
 * it; 0: none. */
double simulate_case_au(const struct simulate_case *c);
double simulate_case_target(const struct job *job);
/* Bytes per second of the phase that reads fastest, of all nodes. */
double simulate_case_rate(const struct simulate_case *c);

/* What bounds the phase first: a sentence for people. */
void simulate_limit(const struct simulate_case *c, uint32_t phase, const struct simulated *s,
		    char text[256]);

#endif
