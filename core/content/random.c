/* SPDX-License-Identifier: Apache-2.0 */
/* Random draws: see random.h.
 *
 * Sources: gamma by Marsaglia and Tsang (ACM TOMS 26, 2000); Poisson by inversion below a mean of
 * 10, above it by transformed rejection (PTRS, Hoermann, Insurance: Mathematics and Economics 12,
 * 1993); the first guess of the normal from Abramowitz and Stegun 26.2.23. */
#include "core/content/random.h"

#include <math.h>

uint64_t random_at(uint64_t key, uint64_t a, uint64_t b)
{
	uint64_t x = mix64(key + RANDOM_GOLDEN);

	x = mix64(x + (a + 1) * RANDOM_GOLDEN);
	return mix64(x + (b + 1) * RANDOM_GOLDEN);
}

uint64_t random_bound(double probability)
{
	return probability < 1 ? (uint64_t)ldexp(probability, 64) : UINT64_MAX;
}

double random_unit(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

/* The sign is one bit and the other 63 give a tail probability in (0, 1/2], so that both tails are
 * equally fine. Two steps of Halley's method improve the guess (accurate to 5e-4) to full
 * precision. */
double random_normal(uint64_t bits)
{
	const double sqrt_two_pi = 2.5066282746310002;
	double tail = ((double)((bits << 1) >> 11) + 0.5) * 0x1p-54;
	double t = sqrt(-2 * log(tail));
	double x = (2.515517 + t * (0.802853 + t * 0.010328)) /
			   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
		   t;

	for (int i = 0; i < 2; i++) {
		double step = (0.5 * erfc(-x * M_SQRT1_2) - tail) * sqrt_two_pi * exp(x * x / 2);

		x -= step / (1 + x * step / 2);
	}
	return bits >> 63 ? -x : x;
}

uint64_t random_next(struct random *r)
{
	return random_at(r->key, 0, r->counter++);
}

/* Uniform in (0, 1), so that its logarithm is finite. */
static double unit_open(struct random *r)
{
	return ((double)(random_next(r) >> 12) + 0.5) * 0x1p-52;
}

static double draw_gamma(double shape, double scale, struct random *r)
{
	double boost = 1, d, c;

	if (!(shape > 0) || !(scale > 0))
		return 0;
	if (shape < 1) { /* gamma(k) is gamma(k + 1) * u^(1/k) */
		boost = pow(unit_open(r), 1 / shape);
		shape += 1;
	}
	d = shape - 1.0 / 3;
	c = 1 / sqrt(9 * d);
	for (;;) {
		double x = random_normal(random_next(r)), u = unit_open(r);
		double v = 1 + c * x;

		if (v <= 0)
			continue;
		v = v * v * v;
		if (log(u) < 0.5 * x * x + d - d * v + d * log(v))
			return d * v * scale * boost;
	}
}

static double poisson_rejection(double mean, struct random *r)
{
	double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
	double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accept = 0.9277 - 3.6224 / (b - 2);

	for (;;) {
		double u = random_unit(random_next(r)) - 0.5, v = unit_open(r);
		double us = 0.5 - fabs(u), k;
		int sign;

		if (us <= 0)
			continue;
		k = floor((2 * a / us + b) * u + mean + 0.43);
		if (us >= 0.07 && v <= accept)
			return k;
		if (k < 0 || (us < 0.013 && v > us))
			continue;
		if (log(v * inverse_alpha / (a / (us * us) + b)) <=
		    k * log(mean) - mean - lgamma_r(k + 1, &sign))
			return k;
	}
}

static double draw_poisson(double mean, struct random *r)
{
	double p, sum, u, k = 0;

	if (!(mean > 0))
		return 0;
	if (mean >= 10)
		return poisson_rejection(mean, r);
	p = exp(-mean);
	sum = p;
	u = unit_open(r);
	while (u > sum && k < 200) { /* 200: rounding may keep the sum below the largest u */
		k++;
		p *= mean / k;
		sum += p;
	}
	return k;
}

uint64_t draw_next(const struct draw *d, struct random *r)
{
	double x = d->a;

	switch (d->kind) {
	case DRAW_NORMAL:
		x = d->a + d->b * random_normal(random_next(r));
		break;
	case DRAW_UNIFORM:
		x = d->a + (d->b - d->a) * random_unit(random_next(r));
		break;
	case DRAW_GAMMA:
		x = draw_gamma(d->a, d->b, r);
		break;
	case DRAW_EXPONENTIAL:
		x = -d->a * log(unit_open(r));
		break;
	case DRAW_POISSON:
		x = draw_poisson(d->a, r) * d->b;
		break;
	case DRAW_CONSTANT:
	case DRAW_KINDS:
		break;
	}
	if (!(x > 0))
		return 0;
	return x < 0x1p63 ? (uint64_t)(x + 0.5) : UINT64_C(1) << 63;
}

double draw_mean(const struct draw *d)
{
	const double sqrt_two_pi = 2.5066282746310002;

	switch (d->kind) {
	case DRAW_NORMAL:
		if (!(d->b > 0))
			return d->a > 0 ? d->a : 0;
		/* Values below 0 count as 0, which raises the mean. */
		return d->a * 0.5 * erfc(-d->a / d->b * M_SQRT1_2) +
		       d->b / sqrt_two_pi * exp(-0.5 * (d->a / d->b) * (d->a / d->b));
	case DRAW_UNIFORM:
		return (d->a + d->b) / 2;
	case DRAW_GAMMA:
	case DRAW_POISSON:
		return d->a * d->b;
	case DRAW_CONSTANT:
	case DRAW_EXPONENTIAL:
	case DRAW_KINDS:
		break;
	}
	return d->a;
}
