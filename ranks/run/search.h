/* SPDX-License-Identifier: Apache-2.0 */
/* A run that searches (haul run --find, --tune; haul assess): its runs are those of a series whose combinations a
 * strategy names one by one, by what the runs before have found. All ranks know what that was, so all
 * of them take the same steps. Private to ranks/run; state.h has the calls for the others. */
#ifndef HAUL_RANKS_RUN_SEARCH_H
#define HAUL_RANKS_RUN_SEARCH_H

#include "core/answer.h"
#include "plan/phase_filter.h"
#include "ranks/run/state.h"

enum { SEARCH_MORE = 8, SEARCH_SET_BYTES = 512 };

/* The next run, which the strategy fills in. Its sets go into run->sets. */
struct search_look {
	uint32_t combination; /* from 1 */
	uint32_t set_count;
	uint32_t repeat; /* from 1 */
	bool warmup;
	bool changed; /* the job is another one than that of the run before */
};

struct search_strategy {
	/* Reads the options, and makes run->series that of the search. */
	int (*open)(struct run *run, const struct run_options *options, struct err *err);
	/* The job is known: what it is about, and search->phase_index. Rank 0 calls it twice. */
	int (*meet)(struct run *run, struct err *err);
	int (*begin)(struct run *run, struct err *err);
	bool (*next)(struct run *run, const struct run_options *options, struct search_look *look);
	/* What a run has found, also a warm-up: phases[job.phase_count]. */
	void (*add)(struct run *run, const struct run_options *options,
		    const struct search_look *look, const struct repeat_targets *phases);
	/* Gives the results what is known. -ENOMEM. */
	int (*record)(const struct run *run);
	/* After the last run: what else there is to do, and what --strict says. */
	int (*end)(struct run *run, const struct run_options *options, enum exit_status *status,
		   struct err *err);
	void (*free)(void *own);
};
extern const struct search_strategy search_find, search_tune, search_assess;

struct search {
	enum answer_type answer;
	const struct search_strategy *strategy;
	void *own; /* the strategy's */
	const struct run_options *options;
	uint32_t phase_index; /* of the phase that is judged */
	/* By what, beside its targets; NULL: by nothing else. */
	const struct target *judge;
	bool judges_all; /* not only the phase at phase_index */
	/* Phases of the current run, of those that --only and --skip leave. All 0: all of them. */
	struct phase_filter now;
	/* Changes to the job behind those of --set. */
	const char *more[SEARCH_MORE];
	unsigned more_count;
	/* Phases of the current run end then as at a limit of their own, and none begins; 0: never. */
	uint64_t until_ns;
	/* One of them, so that each run reads from the storage: "phases.1.io.cold.drop=fadvise". */
	char cold[SEARCH_SET_BYTES];
	/* Phases that make what the judged one reads, and those that remove it, run once: see
	 * plan/search/once.h. ending: now the latter. */
	bool once, ending;
};

/* Whether a phase has its turn in the current run: see once and until_ns above. Collective. */
bool search_turn(const struct run *run, const struct job_phase *phase);

static inline unsigned search_more(const struct search *s)
{
	return s ? s->more_count : 0;
}
void search_free(struct search *s);

/* Finds in the job what the search is about. */
static inline int search_begin(struct run *run, struct err *err)
{
	return run->search->strategy->meet(run, err);
}

/* Whether the time of the current run is over, by this rank's clock. */
static inline bool search_over(const struct run *run)
{
	const struct search *s = run->search;

	return s && s->until_ns && clock_now(&run->clock) >= s->until_ns;
}

/* By what the search judges that phase; NULL: by nothing, or there is no search. */
static inline const struct target *search_judges(const struct run *run,
						 const struct job_phase *phase)
{
	const struct search *s = run->search;

	return s && (s->judges_all || phase == &run->job.phases[s->phase_index]) ? s->judge : NULL;
}

#endif
