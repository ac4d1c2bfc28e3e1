/* SPDX-License-Identifier: Apache-2.0 */
/* Series of runs: every combination of the values that sweeps name, each run several times; and a
 * registry of what the generating phases of a series have made, so that data are made once. No MPI;
 * every rank holds the same. */
#ifndef HAUL_PLAN_SERIES_SERIES_H
#define HAUL_PLAN_SERIES_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/job/job.h"
#include "plan/phase_filter.h"
#include "plan/search/question.h"

enum { SERIES_SWEEPS_MAX = 8, SERIES_RUNS_MAX = JOB_RUNS_MAX };

struct sweep {
	const char *path;
	uint32_t count;
	const char **sets; /* [count]: "path=value", as for --set */
};

struct series {
	uint32_t sweep_count, combinations, repeat, warmup;
	bool interleave; /* combinations in turn, A B A B, instead of A A B B */
	struct sweep sweeps[SERIES_SWEEPS_MAX];
	/* Combinations that cannot run, and are left out: [combinations], of which those are 1. */
	uint8_t left_out[SERIES_RUNS_MAX];
	uint32_t left_out_count;
	/* The combinations are the ends of a range that is searched, or settings among which the
	 * best is searched for; then: how many runs that may take. */
	bool searches, tunes;
	uint32_t runs_most;
	uint32_t as_is; /* tunes: the combination that is the job itself; combinations: none is */
	struct arena arena;
};

/* interleave is set afterwards. sweeps are "path=a,b,c" strings; a comma inside brackets or quotes is part of a value. repeat >=
 * 1. Returns -EINVAL with the option and a sentence. */
int series_init(struct series *s, const char *const *sweeps, unsigned count, uint32_t repeat,
		uint32_t warmup, struct err *err);
/* The series that the job itself asks for, once it has been read, where the command line asks for
 * none. */
int series_of_job(struct series *s, const struct job *job, struct err *err);
/* In place of sweeps: the least and the greatest value of a search, which are checked before
 * anything runs. */
int series_search(struct series *s, const struct question *q, uint32_t warmup, struct err *err);
/* In place of sweeps: the settings of --tune, as sweeps are, but with ranges LOW..HIGH whose values are
 * doubled. repeats: in the final. */
int series_tune(struct series *s, const char *const *tunes, unsigned count, uint32_t repeats,
		uint32_t warmup, struct err *err);
void series_free(struct series *s);

/* By which option its combinations were named. */
static inline const char *series_option(const struct series *s)
{
	return s->tunes ? "--tune" : s->searches ? "--find" : "--sweep";
}

static inline uint32_t series_runs(const struct series *s)
{
	if (s->searches)
		return s->runs_most;
	return (s->combinations - s->left_out_count) * (s->warmup + s->repeat);
}

/* Which combination a run of the series has, and the number of this run among those of its
 * combination: first the warm-ups, then the repeats. All are counted from 0. */
struct series_place {
	uint32_t combination, nth;
};
struct series_place series_at(const struct series *s, uint32_t run);

/* Fills sets[sweep_count] for a combination, from 0. The last sweep varies fastest. */
void series_sets(const struct series *s, uint32_t combination, const char **sets);

/* "train.batch=4, train.compute=10 ms", cut where it is longer than size. Returns out. */
char *series_label(const char *const *sets, uint32_t count, char *out, size_t size);

/* Values of a range that are doubled from one to the next: 1..16 is 1, 2, 4, 8, 16, and 1..12 is 1, 2,
 * 4, 8, 12; "64 KiB..1 MiB" are sizes. Plain data; any thread. */
enum { DOUBLING_TEXT_BYTES = 32 };

struct doubling {
	uint64_t next, high;
	bool size, over;
};

/* Whether the text between two positions is such a range. */
bool doubling_begin(struct doubling *d, const char *from, const char *to);
/* The next value; false: there is none. */
bool doubling_next(struct doubling *d, char text[DOUBLING_TEXT_BYTES]);

/* What generating phases have made. A zeroed struct is empty. */
struct generated_registry {
	struct generated_entry *entries;
	uint32_t count;
};
enum generated_before {
	MADE_NOT,  /* no earlier run has made it */
	MADE_SAME, /* an earlier run has made it: the phase has nothing to do */
	MADE_OTHER /* an earlier run made another data set in this place */
};

/* Whether what a phase makes is made once in a series, since its later runs find it: generating phases
 * make data sets; others build what all other phases of their folder that run leave as it is, and one
 * reads at least. Where nothing reads it, each run builds it. */
bool series_makes_once(const struct job *job, const struct job_phase *phase,
		       const struct phase_filter *filter);

/* Reports what earlier runs have made of what such a phase makes, and records that
 * this run makes it; what is built replaces what was there. A store that keeps no content holds no data set: there only the same phase
 * counts as the same. */
int generated_phase(struct generated_registry *m, const struct job *job,
		    const struct job_phase *phase, uint32_t run, enum generated_before *before,
		    struct err *err);
void generated_free(struct generated_registry *m);

#endif
