/* Fixture for phases "train" on threads of this process: parses a job, runs its phases on a group
 * of thread ranks, and keeps each rank's results of the last phase. */
#ifndef HAUL_TESTS_WORKLOADS_TRAIN_TRAIN_FIXTURE_H
#define HAUL_TESTS_WORKLOADS_TRAIN_TRAIN_FIXTURE_H

#include "workloads/train/train.h"

enum { FIXTURE_RANKS = 64 };

struct fixture {
	uint32_t ranks;
	uint32_t nodes; /* that the ranks fill one after the other; 0: 1 */
	struct job job;
	bool parsed;
	struct clock clock;
	struct stop stop; /* asked for by the test */
	/* Called on each rank between the phases before the last and the last. May be NULL. */
	void (*between)(struct fixture *f, struct group *g, struct group *node);

	/* Of the last phase. */
	struct arena arenas[FIXTURE_RANKS]; /* of all phases' schemas */
	struct tally tallies[FIXTURE_RANKS];
	int rc[FIXTURE_RANKS];
	enum stop_reason stopped[FIXTURE_RANKS];
	struct err err[FIXTURE_RANKS];
	double null_au[FIXTURE_RANKS];
	char message[256]; /* of rank 0 */
	uint64_t seconds_ns;
};

/* NULL where the job is refused (the sentence is printed). */
struct fixture *fixture_new(const char *job);
void fixture_run(struct fixture *f, uint32_t ranks);
void fixture_free(struct fixture *f);

/* Parses and runs in one go. */
struct fixture *fixture_of(const char *job, uint32_t ranks);

/* Sums over ranks of a measure. */
uint64_t fixture_sum(const struct fixture *f, unsigned measure);
uint64_t fixture_epoch_sum(const struct fixture *f, unsigned epoch_row, unsigned measure);

/* The figure "au" of a rank. */
double fixture_au(const struct fixture *f, uint32_t rank);

/* Every rank's accounts add up to its wall time, exactly. */
bool fixture_accounts_add_up(const struct fixture *f);

#endif
