/* What a run holds on one rank; private to ranks/. */
#ifndef HAUL_RANKS_RUN_STATE_H
#define HAUL_RANKS_RUN_STATE_H

#include "core/clock.h"
#include "core/job.h"
#include "core/log.h"
#include "core/place.h"
#include "core/stop.h"
#include "ranks/nodes.h"
#include "ranks/run.h"
#include "ranks/sampler.h"
#include "ranks/signals.h"
#include "results-schema/results.h"

enum { RUN_SAID_BYTES = 512 };

/* A results write that takes longer is taken to hang. */
#define RUN_WRITE_LIMIT_NS 120000000000u

struct run {
	struct group *world;
	struct nodes nodes;
	struct clock clock;
	struct log log;
	struct stop stop;
	struct signals signals;
	uint64_t start_ns, started_utc_ns;
	struct job job;
	struct place place;
	char cores_found[RESULTS_TEXT];
	struct store_facts stores[JOB_STORES_MAX]; /* as last opened by a phase */
	struct results *results;                   /* NULL: the verb leaves none */
	struct sampler *sampler; /* of a node, on its first rank, where there are results */
	char said[RUN_SAID_BYTES];
};

/* Reads, checks and hands out the job; a refusal is the same on every rank. */
int run_share_job(struct run *run, const struct run_options *options, struct err *err);

/* Whether --only and --skip leave this phase in. */
bool run_wants(const struct run_options *options, const struct job_phase *phase);

/* Runs and publishes every phase wanted. *status is the exit status that all ranks share. */
int run_phases(struct run *run, const struct run_options *options, enum exit_status *status,
	       struct err *err);

/* Gives run->stores of all nodes to the results, for the next publication. Collective. */
int run_record_stores(struct run *run, struct err *err);

#endif
