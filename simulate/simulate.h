/* SPDX-License-Identifier: Apache-2.0 */
/* Simulation: phases of a job in virtual time, on a model of each store. The orders of samples, the sizes of
 * files, batches, workers, prefetching, draws of compute and barriers are those of the job, as workloads/ has
 * them; only time is reckoned. docs/simulating.md says what is modelled and what is not.
 *
 *	engine          events in virtual time
 *	virtual_store   a store of the job, for all ranks
 *	train           the phase "train": train_reader reads batches ahead, train_step takes them
 *	io, checkpoint  these kinds of phases
 *	storage         options of the model from a text, or from results
 *
 * What comes out is a tally of all ranks together, as a run's results have it, and a row per rank. */
#ifndef HAUL_SIMULATE_SIMULATE_H
#define HAUL_SIMULATE_SIMULATE_H

#include "core/measure/tally.h"
#include "simulate/engine.h"
#include "simulate/virtual_store.h"
#include "workloads/workload.h"

/* A job on these ranks. places: [ranks], as plan_places makes them. */
struct simulation {
	const struct job *job;
	const struct rank_place *places;
	uint32_t ranks, nodes;
	uint64_t seed; /* in place of the job's */
	/* [job->store_count]: the model of each store. */
	const struct sim_options *storage;
};

/* A phase that was simulated. */
struct simulated {
	struct tally tally;  /* of all ranks: their rows are merged in it */
	uint64_t *rank_rows; /* [ranks][measures of the schema] */
	uint32_t ranks;
	double seconds;           /* in virtual time */
	uint64_t events, errors;  /* errors: requests that failed */
	struct simulated *within; /* checkpoints, a phase of their own in the results; NULL: none */
	struct virtual_store *stores; /* [job->store_count]; NULL behind the phase */
	uint64_t from_ns; /* what is measured begins here: a warm-up ends (core/measure/window.h) */
	bool counts_operations; /* the phase counts what it was asked for by itself */
	bool together; /* the requests of a sample are reckoned as one: there are too many of them */
};

/* Whether the phase can be simulated; -ENOTSUP with a sentence. */
int simulate_check(const struct job_phase *phase, struct err *err);

/* One phase, from a moment 0 on. The caller frees *out, also after an error. */
int simulate_phase(const struct simulation *s, const struct job_phase *phase,
		   struct simulated **out, struct err *err);
void simulated_free(struct simulated *out);

/* ---- for the kinds of phases ---- */

/* Zeros, for so many ranks. rows_max: as for tally_init. The caller frees *out (simulated_free), also
 * after an error. */
int simulated_init(struct simulated **out, const struct tally_schema *schema,
		   const uint32_t *rows_max, uint32_t ranks, struct err *err);

/* The row of a rank. */
static inline uint64_t *simulated_row(const struct simulated *out, uint32_t rank)
{
	return out->rank_rows + (size_t)rank * out->tally.schema->rank.measure_count;
}

/* Of more requests than these in a phase, those of a sample or of a file are reckoned as one. */
#define SIMULATE_REQUESTS_MAX 4e7

/* The store of the job as the phase uses it, for all ranks. */
struct virtual_store *simulated_store(const struct simulation *s, const struct simulated *out,
				      const struct job_store *store);

/* What a request of a rank has counted, beside its histograms. done: when it was done. */
void simulated_count(struct simulated *out, uint32_t rank, const struct sim_ask *ask,
		     const struct sim_answer *answer);

int simulate_train(const struct simulation *s, const struct job_phase *phase, struct simulated *out,
		   struct err *err);
int simulate_io(const struct simulation *s, const struct job_phase *phase, struct simulated *out,
		struct err *err);
int simulate_checkpoint(const struct simulation *s, const struct job_phase *phase,
			struct simulated *out, struct err *err);

#endif
