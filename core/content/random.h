/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers as functions: mix64 of a counter, and values drawn from named distributions. No
 * state is shared, so any rank can compute any element. */
#ifndef HAUL_CORE_CONTENT_RANDOM_H
#define HAUL_CORE_CONTENT_RANDOM_H

#include <stdint.h>

/* The odd number next to 2^64 over the golden ratio, by which counters and keys are spread. */
#define RANDOM_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* splitmix64's finaliser: a bijection of 64 bits (Steele, Lea, Flood, OOPSLA 2014). */
static inline uint64_t mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* One 64-bit value for (key, a, b); independent values for different arguments. */
uint64_t random_at(uint64_t key, uint64_t a, uint64_t b);

/* A whole number from least to most, uniform, made of 64 random bits; the range must not have 2^64
 * numbers. */
static inline uint64_t random_between(uint64_t bits, uint64_t least, uint64_t most)
{
	return least + (uint64_t)((unsigned __int128)bits * (most - least + 1) >> 64);
}

/* The bound below which 64 random bits are with that probability (1: nearly always). */
uint64_t random_bound(double probability);

/* Uniform in [0, 1) with 53 bits, made of a value such as that of random_at. */
double random_unit(uint64_t bits);

/* Standard normal by inversion of one value: deterministic, no rejection. */
double random_normal(uint64_t bits);

/* A stream for draws that need a varying number of values (gamma, poisson). Owned by one thread. */
struct random {
	uint64_t key, counter;
};
uint64_t random_next(struct random *r);

/* A non-negative quantity drawn from a distribution, or a constant (times: in ns). */
enum draw_kind {
	DRAW_CONSTANT,
	DRAW_NORMAL,
	DRAW_UNIFORM,
	DRAW_GAMMA,
	DRAW_EXPONENTIAL,
	DRAW_POISSON,
	DRAW_KINDS
};

struct draw {
	enum draw_kind kind;
	/* constant: a            normal: mean a, stdev b      uniform: from a to b
	 * gamma: shape a, scale b    exponential: mean a      poisson: mean a (in units of b ns) */
	double a, b;
};

/* Draws one value, rounded to whole units; never negative (a negative normal is 0). */
uint64_t draw_next(const struct draw *d, struct random *r);
double draw_mean(const struct draw *d);

#endif
