/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of a run: a strategy names its runs one by one, each a combination of values with the
 * number of its repeat, by what the runs before have found. A plain series and its sweeps are one
 * strategy, --find, --tune and haul assess are others. All ranks know what was found, so all of them
 * take the same steps. Private to ranks/run; state.h has the calls for the others. */
#ifndef HAUL_RANKS_RUN_DRIVER_H
#define HAUL_RANKS_RUN_DRIVER_H

#include "core/answer.h"
#include "plan/phase_filter.h"
#include "ranks/run/state.h"

enum { DRIVER_MORE = 8, DRIVER_SET_BYTES = 512 };

/* The next run, which the strategy fills in. Its sets go into run->sets. */
struct next_run {
	uint32_t combination; /* from 1 */
	uint32_t set_count;
	uint32_t repeat; /* from 1 */
	bool warmup;
	bool changed; /* the job is another one than that of the run before */
};

/* What is NULL has nothing to do there. */
struct strategy {
	/* Reads the options, and makes run->series that of the question. */
	int (*open)(struct run *run, const struct run_options *options, struct err *err);
	/* The job is known: what it is about, and driver->phase_index. Rank 0 calls it twice. */
	int (*meet)(struct run *run, struct err *err);
	int (*begin)(struct run *run, struct err *err);
	bool (*next)(struct run *run, const struct run_options *options, struct next_run *look);
	/* What a run has found, also a warm-up: phases[job.phase_count]. */
	int (*add)(struct run *run, const struct run_options *options, const struct next_run *look,
		   const struct repeat_targets *phases, struct err *err);
	/* Gives the results what is known. -ENOMEM. */
	int (*record)(const struct run *run);
	/* What the last run has decided, for the log, once the results say it, too; NULL: nothing. The
	 * same on all ranks. */
	const char *(*news)(struct run *run);
	/* After the last run: what else there is to do, and what --strict says. */
	int (*end)(struct run *run, const struct run_options *options, enum exit_status *status,
		   struct err *err);
	void (*free)(void *own);
};
extern const struct strategy strategy_series, strategy_find, strategy_tune, strategy_assess;

struct driver {
	enum answer_type answer; /* none: a series */
	const struct strategy *strategy;
	void *own; /* the strategy's */
	const struct run_options *options;
	uint32_t phase_index; /* of the phase that is judged */
	/* By what, beside its targets; NULL: by nothing else. */
	const struct target *judge;
	bool judges_all; /* not only the phase at phase_index */
	/* Phases of the current run, of those that --only and --skip leave. All 0: all of them. */
	struct phase_filter now;
	/* Changes to the job behind those of --set. */
	const char *more[DRIVER_MORE];
	unsigned more_count;
	/* Phases of the current run end then as at a limit of their own, and none begins; 0: never. */
	uint64_t until_ns;
	/* One of them, so that each run reads from the storage: "phases.1.io.cold.drop=fadvise". */
	char cold[DRIVER_SET_BYTES];
	/* Phases that make what the judged one reads, and those that remove it, run once: see
	 * plan/search/once.h. ending: now the latter. */
	bool once, ending;
};

void driver_free(struct driver *s);

/* Finds in the job what the question is about. */
static inline int driver_meet(struct run *run, struct err *err)
{
	return run->driver->strategy->meet ? run->driver->strategy->meet(run, err) : 0;
}

/* Whether the time of the current run is over, by this rank's clock. */
static inline bool driver_over(const struct run *run)
{
	const struct driver *s = run->driver;

	return s->until_ns && clock_now(&run->clock) >= s->until_ns;
}

/* By what that phase is judged beside its targets; NULL: by nothing. */
static inline const struct target *driver_judges(const struct run *run,
						 const struct job_phase *phase)
{
	const struct driver *s = run->driver;

	return (s->judges_all || phase == &run->job.phases[s->phase_index]) ? s->judge : NULL;
}

#endif
