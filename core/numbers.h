/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of an array, and the lesser and the greater of two numbers: one definition for all
 * layers. Pure functions; any thread. */
#ifndef HAUL_CORE_NUMBERS_H
#define HAUL_CORE_NUMBERS_H

#include <stdint.h>

/* How many elements an array has. Not for pointers: gcc and clang warn of them. A constant, where a
 * constant is needed. */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Sizes (size_t) are uint64_t on every machine that haul builds for. */
static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* By how much a exceeds b; 0 where it does not. */
static inline uint64_t excess_u64(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline int max_int(int a, int b)
{
	return a > b ? a : b;
}

#endif
