/* SPDX-License-Identifier: Apache-2.0 */
/* Going on with an interrupted series: which of its runs the results file has. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/part.h"
#include "ranks/run/driver.h"
#include "ranks/run/run.h"
#include "results-schema/results_read.h"

static bool phase_ended(const struct results_file *f, uint64_t run, const char *name)
{
	for (uint32_t i = 0; i < f->phase_count; i++) {
		const struct phase_record *r = &f->phases[i].record;

		if (r->run == run && r->within == RECORD_NOT_WITHIN && !r->alone &&
		    strcmp(r->name, name) == 0 && results_ended_well(r->status))
			return true;
	}
	return false;
}

/* The last run of the file is whole only if it has all phases. Some of them run once in a series. */
static bool run_whole(const struct run *run, const struct run_options *options,
		      const struct results_file *f, uint64_t n)
{
	for (uint32_t i = 0; i < run->job.phase_count; i++) {
		const struct job_phase *phase = &run->job.phases[i];

		if (run_wants(options, phase) && !phase_ended(f, n, phase->name) &&
		    (n == 1 || !series_makes_once(&run->job, phase, &options->filter)))
			return false;
	}
	return true;
}

/* Whether the phase is of the run that the series has in that place. */
static bool phase_in_place(const struct series *s, const struct results_phase_read *p)
{
	const char *sets[SERIES_SWEEPS_MAX];
	struct series_place place;

	if (!p->record.run || p->record.run > series_runs(s) || p->set_count != s->sweep_count)
		return false;
	place = series_at(s, (uint32_t)p->record.run - 1);
	series_sets(s, place.combination, sets);
	for (uint32_t k = 0; k < p->set_count; k++)
		if (strcmp(p->sets[k], sets[k]) != 0)
			return false;
	return p->record.combination == place.combination + 1;
}

/* What the file must have in common with this run. NULL: it has. */
static const char *resume_differs(const struct run *run, const struct results_file *f,
				  const char *text)
{
	if (f->simulated || f->answer.head)
		return "has no series of runs";
	if (f->ranks != run->world->size)
		return "was begun with another number of ranks";
	if (f->runs != series_runs(&run->series))
		return "was begun with other sweeps, repeats or warm-ups";
	if (strcmp(f->job_text, text) != 0)
		return "was begun with another job";
	for (uint32_t i = 0; i < f->phase_count; i++)
		if (!phase_in_place(&run->series, &f->phases[i]))
			return "was begun with other sweeps, or in another order";
	return NULL;
}

static void resume_count(const struct run *run, const struct run_options *options,
			 const struct results_file *f, struct results_kept *kept)
{
	uint64_t last = f->phase_count ? f->phases[f->phase_count - 1].record.run : 0;

	if (last && !run_whole(run, options, f, last))
		last--;
	for (uint32_t i = 0; i < f->phase_count; i++)
		kept->phases += f->phases[i].record.run <= last;
	kept->runs = last;
	kept->times = f->resumed;
	kept->seconds = f->seconds;
	log_say(&run->log, LOG_INFO, "%s: %llu of %llu runs have ended and are kept", f->path,
		(unsigned long long)last, (unsigned long long)f->runs);
}

/* Rank 0. */
static int resume_look(const struct run *run, const struct run_options *options, const char *text,
		       struct results_kept *kept, struct err *err)
{
	struct results_file *f;
	const char *differs;
	bool stands;
	int rc = part_check_place(run->results_path, true, "", &stands, err);

	if (rc < 0 || !stands)
		return rc;
	rc = results_open(&f, run->results_path, err);
	if (rc < 0)
		return rc;
	differs = resume_differs(run, f, text);
	if (differs)
		rc = err_set(
			err, -EEXIST,
			"%s %s: --resume goes on with the same series; name another file with --results",
			run->results_path, differs);
	else
		resume_count(run, options, f, kept);
	results_unload(f);
	return rc;
}

int run_resume(struct run *run, const struct run_options *options, const char *text,
	       struct results_kept *kept, struct err *err)
{
	int rc = run->world->rank == 0 ? resume_look(run, options, text, kept, err) : 0;

	rc = group_agree(run->world, rc, err);
	if (rc == 0)
		rc = group_broadcast(run->world, kept, sizeof(*kept));
	if (rc < 0)
		return rc;
	run->kept = (uint32_t)kept->runs;
	run->published = (uint32_t)kept->phases;
	run->measured = kept->phases > 0;
	return 0;
}
