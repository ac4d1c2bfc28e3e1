/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for phases "train" on threads of this process: it parses a job, runs its phases on a
 * group of thread ranks, and keeps each rank's results of the last phase. */
#ifndef HAUL_TESTS_WORKLOADS_TRAIN_TRAIN_FIXTURE_H
#define HAUL_TESTS_WORKLOADS_TRAIN_TRAIN_FIXTURE_H

#include "workloads/train/train.h"

enum { FIXTURE_RANKS = 64 };

struct fixture {
	uint32_t ranks;
	uint32_t nodes; /* the ranks fill them one after the other; 0 means 1 */
	struct job job;
	bool parsed;
	struct clock clock;
	struct stop stop; /* requested by the test */
	/* Called on each rank before the last phase. May be NULL. */
	void (*between)(struct fixture *f, struct group *g, struct group *node);
	/* The last phase is published that often while it runs, by a call on each rank. 0:
	 * never. */
	uint64_t publish_every_ns;
	void (*publish)(struct fixture *f, struct group *g, struct tally *so_far);

	/* Results of the last phase. */
	struct tally tallies[FIXTURE_RANKS];
	struct tally parts[FIXTURE_RANKS]; /* of the checkpoints within the last phase */
	int rc[FIXTURE_RANKS];
	enum stop_reason stopped[FIXTURE_RANKS];
	struct err err[FIXTURE_RANKS];
	double null_au[FIXTURE_RANKS];
	char message[256]; /* message of rank 0 */
	uint64_t seconds_ns;
};

/* Returns NULL if the job is refused; the sentence is printed. */
struct fixture *fixture_new(const char *job);
/* The same with a store of the test's own beside those that haul has; NULL: none. */
struct fixture *fixture_new_with(const char *job, const struct section *store);
void fixture_run(struct fixture *f, uint32_t ranks);
void fixture_free(struct fixture *f);

/* Parses a job and runs it. */
struct fixture *fixture_of(const char *job, uint32_t ranks);

/* Sums of a measure over all ranks. */
uint64_t fixture_sum(const struct fixture *f, unsigned measure);
uint64_t fixture_epoch_sum(const struct fixture *f, unsigned epoch_row, unsigned measure);

/* The figure "au" of a rank. */
double fixture_au(const struct fixture *f, uint32_t rank);

/* Whether every rank's accounts add up exactly to its wall time. */
bool fixture_accounts_add_up(const struct fixture *f);

#endif
