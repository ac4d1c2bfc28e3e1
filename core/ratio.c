/* SPDX-License-Identifier: Apache-2.0 */
/* Ratio of two sides: see ratio.h. */
#include "core/ratio.h"

#include <math.h>
#include <stdlib.h>

#include "core/stats.h"

static const double drift_level = 0.99, drift_share = 0.25;

/* Sides that differ by less are equal: values that differ by rounding alone have no spread. */
static const double ratio_rounding = 1e-9;

/* The line of least squares through y over x, with a level for each group. */
struct ratio_line {
	double slope, variance; /* of the slope */
	double freedom;         /* below 1: no line */
};

/* An estimate, its variance, and the degrees of freedom of that variance. */
struct ratio_part {
	double value, variance, freedom;
};

static bool ratio_positive(const struct ratio_side *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!(s->values[i] > 0) || !isfinite(s->values[i]))
			return false;
	return s->n > 0;
}

static bool ratio_timed(const struct ratio_side *s)
{
	for (uint32_t i = 0; s->when_s && i < s->n; i++)
		if (!isfinite(s->when_s[i]))
			return false;
	return s->when_s != NULL;
}

/* Whether each repeat of both sides ended up before the next one of either. */
static bool ratio_in_turn(const struct ratio_side *a, const struct ratio_side *b)
{
	if (a->n != b->n || a->n < 2 || !ratio_timed(a) || !ratio_timed(b))
		return false;
	for (uint32_t i = 0; i + 1 < a->n; i++)
		if (fmax(a->when_s[i], b->when_s[i]) >= fmin(a->when_s[i + 1], b->when_s[i + 1]))
			return false;
	return true;
}

static double mean_of(const double *values, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += values[i];
	return sum / n;
}

static struct ratio_part ratio_mean(const double *logs, uint32_t n)
{
	struct stats s = stats_of(logs, n);

	return (struct ratio_part){s.mean, s.stdev * s.stdev / n, n - 1.0};
}

/* One slope for `groups` lists of n[] points. */
static struct ratio_line ratio_slope(const double *const *x, const double *const *y,
				     const uint32_t *n, unsigned groups)
{
	double xx = 0, xy = 0, left = 0;
	struct ratio_line line = {.freedom = -1.0 - groups};

	for (unsigned g = 0; g < groups; g++) {
		double x_mean = mean_of(x[g], n[g]), y_mean = mean_of(y[g], n[g]);

		for (uint32_t i = 0; i < n[g]; i++) {
			xx += (x[g][i] - x_mean) * (x[g][i] - x_mean);
			xy += (x[g][i] - x_mean) * (y[g][i] - y_mean);
		}
		line.freedom += n[g];
	}
	if (!(xx > 0) || line.freedom < 1)
		return (struct ratio_line){0};
	line.slope = xy / xx;
	for (unsigned g = 0; g < groups; g++) {
		double x_mean = mean_of(x[g], n[g]), y_mean = mean_of(y[g], n[g]);

		for (uint32_t i = 0; i < n[g]; i++) {
			double off = y[g][i] - y_mean - line.slope * (x[g][i] - x_mean);

			left += off * off;
		}
	}
	line.variance = left / line.freedom / xx;
	return line;
}

/* The sum of two independent estimates: its freedom is Satterthwaite's. */
static struct ratio_part ratio_sum(const struct ratio_part *a, const struct ratio_part *b)
{
	double variance = a->variance + b->variance;
	double parts =
		a->variance * a->variance / a->freedom + b->variance * b->variance / b->freedom;

	return (struct ratio_part){a->value + b->value, variance,
				   parts > 0 ? variance * variance / parts
					     : fmin(a->freedom, b->freedom)};
}

/* From the first measurement to the last one. */
static double ratio_span(const struct ratio_side *a, const struct ratio_side *b)
{
	double first = fmin(a->when_s[0], b->when_s[0]);

	return fmax(a->when_s[a->n - 1], b->when_s[b->n - 1]) - first;
}

/* Whether each side by itself goes at least a quarter as far the same way as both together: what
 * only one of them shows is no drift of what they were measured on. logs: of a, then of b. */
static bool ratio_both_drift(const struct ratio_side *a, const struct ratio_side *b,
			     const double *logs, double slope)
{
	const struct ratio_side *const sides[] = {a, b};

	for (int i = 0; i < 2; i++) {
		const double *of = i ? logs + a->n : logs;
		struct ratio_line own = ratio_slope(&sides[i]->when_s, &of, &sides[i]->n, 1);

		if (own.freedom < 1 || !(own.slope / slope >= drift_share))
			return false;
	}
	return true;
}

/* logs: of a, then of b. work: room for 3 * n. */
static struct ratio_part ratio_pairs(struct ratio *r, const struct ratio_side *a,
				     const struct ratio_side *b, const double *logs, double *work)
{
	double *differences = work, *means = work + a->n, *times = work + 2 * a->n, later = 0;
	struct ratio_part difference, drift;
	struct ratio_line line;

	for (uint32_t i = 0; i < a->n; i++) {
		differences[i] = logs[i] - logs[a->n + i];
		means[i] = (logs[i] + logs[a->n + i]) / 2;
		times[i] = (a->when_s[i] + b->when_s[i]) / 2;
		later += (b->when_s[i] - a->when_s[i]) / a->n;
	}
	r->paired = true;
	difference = ratio_mean(differences, a->n);
	line = ratio_slope((const double *const[]){times}, (const double *const[]){means}, &a->n,
			   1);
	if (line.freedom < 1 || !ratio_both_drift(a, b, logs, line.slope))
		return difference;
	r->drift = exp(line.slope * ratio_span(a, b));
	drift = (struct ratio_part){line.slope * later, line.variance * later * later,
				    line.freedom};
	return ratio_sum(&difference, &drift);
}

/* What a drift comes to between the middles of the two sides, as a distance of logarithms; 0: none
 * was found. */
static double ratio_drift(struct ratio *r, const struct ratio_side *a, const struct ratio_side *b,
			  const double *logs)
{
	const double *const times[] = {a->when_s, b->when_s};
	const double *const of[] = {logs, logs + a->n};
	const uint32_t n[] = {a->n, b->n};
	struct ratio_line line;

	if (!ratio_timed(a) || !ratio_timed(b))
		return 0;
	line = ratio_slope(times, of, n, 2);
	if (line.freedom < 1 ||
	    fabs(line.slope) <= stats_t(drift_level, line.freedom) * sqrt(line.variance) ||
	    !ratio_both_drift(a, b, logs, line.slope))
		return 0;
	r->drift = exp(line.slope * ratio_span(a, b));
	return fabs(line.slope * (mean_of(a->when_s, a->n) - mean_of(b->when_s, b->n)));
}

static void ratio_judge(struct ratio *r, const struct ratio_part *difference, double extra,
			double level)
{
	double half = stats_t(level, difference->freedom) * sqrt(difference->variance) + extra;

	r->ratio = exp(difference->value);
	r->low = exp(difference->value - half);
	r->high = exp(difference->value + half);
	r->widened = extra > 0;
	r->verdict = r->low > 1 + ratio_rounding ? 1 : r->high < 1 - ratio_rounding ? -1 : 0;
}

/* work: room for both sides' logarithms, and three times as many values as a side has. */
static void ratio_compare(struct ratio *r, const struct ratio_side *a, const struct ratio_side *b,
			  double level, double *work)
{
	struct ratio_part difference, parts[2];
	double *logs = work;

	for (uint32_t i = 0; i < a->n; i++)
		logs[i] = log(a->values[i]);
	for (uint32_t i = 0; i < b->n; i++)
		logs[a->n + i] = log(b->values[i]);
	parts[0] = ratio_mean(logs, a->n);
	parts[1] = ratio_mean(logs + a->n, b->n);
	for (int i = 0; i < 2; i++)
		r->mean[i] = exp(parts[i].value);
	r->ratio = r->mean[0] / r->mean[1];
	if (a->n < 2 || b->n < 2)
		return;
	if (ratio_in_turn(a, b)) {
		difference = ratio_pairs(r, a, b, logs, work + a->n + b->n);
		ratio_judge(r, &difference, 0, level);
		return;
	}
	parts[1].value = -parts[1].value;
	difference = ratio_sum(&parts[0], &parts[1]);
	ratio_judge(r, &difference, ratio_drift(r, a, b, logs), level);
}

struct ratio ratio_of(const struct ratio_side *a, const struct ratio_side *b, double level)
{
	struct ratio r = {.mean = {NAN, NAN}, .ratio = NAN, .low = NAN, .high = NAN, .drift = NAN};
	double *work;

	if (!ratio_positive(a) || !ratio_positive(b))
		return r;
	work = calloc((size_t)a->n * 4 + b->n, sizeof(*work));
	if (work)
		ratio_compare(&r, a, b, level, work);
	free(work);
	return r;
}

bool ratio_is_vague(const struct ratio *r)
{
	return r->low < RATIO_VAGUE_LEAST && r->high > RATIO_VAGUE_MOST;
}
