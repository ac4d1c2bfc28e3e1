/* SPDX-License-Identifier: Apache-2.0 */
/* Storage that is fitted to published results: see fitted.h. All fits go on side by side, a simulation of each per
 * round. */
#include "judge/fitted.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "core/numbers.h"
#include "core/units.h"
#include "plan/phase_filter.h"
#include "plan/plan.h"
#include "report/fence.h"
#include "simulate/job.h"
#include "simulate/storage.h"
#include "workloads/train/train.h"

enum { FITS_MAX = 96, FITTED_ROWS_MIN = 3 };

/* A fit has come so close to the published AU, or has been tried so often. */
static const double fitted_close = 0.0005;
enum { FITTED_ROUNDS = 12 };
/* A part of an epoch is simulated: so many samples of all ranks, in so many steps. */
enum { FITTED_SAMPLES = 100000, FITTED_STEPS_MIN = 8, FITTED_STEPS_MAX = 150 };

static const struct {
	const char *key, *words;
} fitted_limits[VALIDATION_FITS] = {{"bandwidth", "store"}, {"node", "node"}, {"stream", "stream"}};

struct fit {
	const struct published_row *largest;
	uint32_t limit;           /* of fitted_limits */
	double value, before, au; /* of the limit; the one before, with its AU */
	double low, high;         /* AU is below the target, and is not; 0: of none */
	uint32_t rounds;
	bool ended;
};

/* A row on the storage of its fit. */
struct fitted_case {
	struct fit *fit;
	const struct published_row *row;
	struct job job;
};

struct fitted {
	struct published *p;
	fitted_find_fn find;
	struct fit fits[FITS_MAX];
	struct fitted_case cases[PUBLISHED_MAX];
	struct simulate_case simulated[PUBLISHED_MAX];
	uint32_t fit_count, count;
};

static bool fitted_alike(const struct published_row *a, const struct published_row *b)
{
	return *a->submitter && strcmp(a->submitter, b->submitter) == 0 &&
	       strcmp(a->job, b->job) == 0;
}

/* The largest of a group that begins with the row i; NULL: it is none, or too small. */
static const struct published_row *fitted_largest(const struct published *p, uint32_t i)
{
	const struct published_row *largest = &p->rows[i];
	uint32_t count = 0;

	for (uint32_t k = 0; k < p->count; k++) {
		const struct published_row *row = &p->rows[k];

		if (!fitted_alike(&p->rows[i], row))
			continue;
		if (k < i)
			return NULL;
		count++;
		largest = row->ranks > largest->ranks ? row : largest;
	}
	return count >= FITTED_ROWS_MIN ? largest : NULL;
}

/* The row's own training, a part of an epoch of it. */
static int fitted_job(struct job *job, const struct published_row *row, fitted_find_fn find,
		      struct err *err)
{
	const struct phase_filter filter = {.only = (const char *const[]){row->phase},
					    .only_count = 1};
	struct train_options *o;
	uint64_t steps;
	char path[4096];
	int rc = find(row->job, path, sizeof(path), err);

	if (rc == 0)
		rc = job_load(job, plan_schema(), path, (const char *const *)row->set.items,
			      row->set.count, err);
	if (rc == 0)
		rc = phase_filter_apply(&filter, job, err);
	if (rc == 0 && (job->phases[0].section->owner != &train_workload || !job->dataset_count))
		rc = err_set(err, -EINVAL, "only trainings have an AU");
	if (rc < 0)
		return rc;
	INVARIANT(job->phase_count, "a filter keeps the phase that it names, or refuses the job");
	o = job->phases[0].options;
	steps = FITTED_SAMPLES / (o->batch * row->ranks);
	o->epochs = 1;
	o->steps = min_u64(max_u64(steps, FITTED_STEPS_MIN), FITTED_STEPS_MAX);
	o->warmup_steps = o->steps / 4;
	rc = plan_scale(job, (uint32_t)row->ranks, (uint32_t)row->nodes, err);
	return rc < 0 ? rc
		      : plan_check(job, (uint32_t)row->ranks, (uint32_t)row->nodes, false, err);
}

static int fitted_case_add(struct fitted *f, struct fit *fit, const struct published_row *row,
			   struct err *err)
{
	struct fitted_case *c = &f->cases[f->count];

	if (f->count == PUBLISHED_MAX)
		return err_set(err, -E2BIG, "more than %d predictions", PUBLISHED_MAX);
	*c = (struct fitted_case){.fit = fit, .row = row};
	f->count++;
	return fitted_job(&c->job, row, f->find, err);
}

static int fitted_open(struct fitted_case *c, double value, struct simulate_case *s,
		       struct err *err)
{
	struct sim_options storage[JOB_STORES_MAX];
	int rc = 0;

	for (uint32_t i = 0; i < c->job.store_count && rc == 0; i++) {
		rc = storage_default(&storage[i], err);
		if (rc == 0)
			rc = storage_set(&storage[i], fitted_limits[c->fit->limit].key, value, err);
	}
	return rc < 0 ? rc
		      : simulate_case_open(s, &c->job, (uint32_t)c->row->ranks,
					   (uint32_t)c->row->nodes, 1, storage, err);
}

static void fitted_close_cases(struct fitted *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		if (f->simulated[i].job)
			simulate_case_close(&f->simulated[i]);
		job_free(&f->cases[i].job);
	}
	f->count = 0;
}

/* A limit far below the one that is looked for: what the ranks ask for by themselves, a fraction of it. */
static double fitted_first(const struct fitted_case *c)
{
	const struct train_options *o = c->job.phases[0].options;
	const struct dataset_options *d = c->job.datasets[0].options;
	double asked = (double)d->sample_bytes * (double)o->batch / draw_mean(&o->compute) * 1e9;
	double sharers = c->fit->limit == 0   ? (double)c->row->ranks
			 : c->fit->limit == 1 ? (double)c->row->ranks / (double)c->row->nodes
					      : 1.0 / (double)max_u64(o->loader.workers, 1);

	return asked * sharers / 16;
}

/* AU grows with a limit, from 0 on, less and less: the next value is where a line through the two last points has the
 * target, unless that lies outside of what is known. */
static void fitted_step(struct fit *fit, double target, double au)
{
	double slope = (au - fit->au) / (fit->value - fit->before), next;

	*(au < target ? &fit->low : &fit->high) = fit->value;
	next = slope > 0 ? fit->value + (target - au) / slope : 0;
	if (fit->high > 0 && !(next > fit->low && next < fit->high))
		next = sqrt(fit->low * fit->high);
	else if (fit->high <= 0)
		next = fmax(fmin(next, fit->value * 16), fit->value * 1.05);
	fit->ended = fabs(au - target) < fitted_close || ++fit->rounds == FITTED_ROUNDS;
	fit->before = fit->value;
	fit->au = au;
	if (!fit->ended)
		fit->value = next;
}

/* Simulates the value of each fit that is not at its end. *more: there was one. */
static int fitted_round(struct fitted *f, bool *more, struct err *err)
{
	struct fitted_case *tried[FITS_MAX];
	uint32_t n = 0;
	int rc = 0;

	for (uint32_t i = 0; i < f->count && rc == 0; i++) {
		if (f->cases[i].fit->ended)
			continue;
		tried[n] = &f->cases[i];
		rc = fitted_open(tried[n], tried[n]->fit->value, &f->simulated[n], err);
		n++;
	}
	if (rc == 0)
		rc = simulate_cases(f->simulated, n, 0, err);
	for (uint32_t i = 0; i < n; i++) {
		if (rc == 0)
			fitted_step(tried[i]->fit, simulate_case_target(&tried[i]->job),
				    simulate_case_au(&f->simulated[i]));
		simulate_case_close(&f->simulated[i]);
	}
	*more = n;
	return rc;
}

static int fitted_find(struct fitted *f, struct err *err)
{
	bool more = true;
	int rc = 0;

	for (uint32_t i = 0; i < f->fit_count && rc == 0; i++) {
		rc = fitted_case_add(f, &f->fits[i], f->fits[i].largest, err);
		if (rc == 0)
			f->fits[i].value = fitted_first(&f->cases[i]);
	}
	while (rc == 0 && more)
		rc = fitted_round(f, &more, err);
	fitted_close_cases(f);
	return rc;
}

/* ---- the smaller rows ---- */

static void fitted_row_add(struct validation *v, struct published *p, const struct fitted_case *c,
			   double au)
{
	struct published_row *row = &p->rows[p->count];
	struct published_match *match = &v->matches[p->count++];
	char rate[UNITS_TEXT_BYTES];

	*row = *c->row;
	snprintf(row->quantity, sizeof(row->quantity), "AU of %llu: %s %s, as fits %llu",
		 (unsigned long long)c->row->ranks, fitted_limits[c->fit->limit].words,
		 units_rate(rate, c->fit->value), (unsigned long long)c->fit->largest->ranks);
	snprintf(row->fact, sizeof(row->fact), "simulated");
	snprintf(
		row->because, sizeof(row->because),
		"simulated, on storage of which the AU of the submitter's largest result alone is known");
	row->value = round(1e4 * simulate_case_target(&c->job)) / 100;
	row->unit = PUBLISHED_PERCENT;
	row->tolerance = 0;
	*row->over = '\0';
	*match = (struct published_match){.state = PUBLISHED_PREDICTED,
					  .value = round(1e4 * au) / 100,
					  .difference = 100 * au / row->value - 1};
}

/* By how many points the predictions of each limit are off. */
static void fitted_summary(struct validation *v, const struct fitted *f)
{
	double off[PUBLISHED_MAX];

	for (uint32_t limit = 0; limit < VALIDATION_FITS; limit++) {
		struct validation_fit *fit = &v->fits[limit];
		uint32_t n = 0;

		for (uint32_t i = 0; i < f->count; i++)
			if (f->cases[i].fit->limit == limit)
				off[n++] = 100 * fabs(simulate_case_au(&f->simulated[i]) -
						      simulate_case_target(&f->cases[i].job));
		*fit = (struct validation_fit){.limit = fitted_limits[limit].words, .count = n};
		if (!n)
			continue;
		fit->median = fence_median(off, n);
		fit->most = off[n - 1];
	}
}

static int fitted_predict(struct validation *v, struct fitted *f, struct err *err)
{
	struct published *p = f->p;
	uint32_t published = p->count;
	int rc = 0;

	for (uint32_t i = 0; i < published && rc == 0; i++)
		for (uint32_t k = 0; k < f->fit_count && rc == 0; k++) {
			struct fit *fit = &f->fits[k];

			if (fit->largest == &p->rows[i] || !fitted_alike(fit->largest, &p->rows[i]))
				continue;
			rc = fitted_case_add(f, fit, &p->rows[i], err);
			if (rc == 0)
				rc = fitted_open(&f->cases[f->count - 1], fit->value,
						 &f->simulated[f->count - 1], err);
		}
	if (rc == 0 && published + f->count > PUBLISHED_MAX)
		rc = err_set(err, -E2BIG, "more than %d rows", PUBLISHED_MAX);
	if (rc == 0)
		rc = simulate_cases(f->simulated, f->count, 0, err);
	for (uint32_t i = 0; i < f->count && rc == 0; i++)
		fitted_row_add(v, p, &f->cases[i], simulate_case_au(&f->simulated[i]));
	if (rc == 0)
		fitted_summary(v, f);
	fitted_close_cases(f);
	return rc;
}

int fitted_add(struct validation *v, struct published *p, fitted_find_fn find, struct err *err)
{
	struct fitted *f = calloc(1, sizeof(*f));
	int rc = 0;

	if (!f)
		return err_set(err, -ENOMEM, "no memory for simulations");
	f->p = p;
	f->find = find;
	for (uint32_t i = 0; i < p->count && rc == 0; i++) {
		const struct published_row *largest = fitted_largest(p, i);

		if (largest && f->fit_count + VALIDATION_FITS > FITS_MAX)
			rc = err_set(err, -E2BIG, "more than %d fits", FITS_MAX);
		for (uint32_t limit = 0; largest && rc == 0 && limit < VALIDATION_FITS; limit++)
			f->fits[f->fit_count++] = (struct fit){.largest = largest, .limit = limit};
	}
	if (rc == 0)
		rc = fitted_find(f, err);
	if (rc == 0)
		rc = fitted_predict(v, f, err);
	free(f);
	return rc;
}
