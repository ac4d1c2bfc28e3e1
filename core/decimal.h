/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers in text that is written often, such as rows of traces: without stdio. Pure
 * functions; any thread. */
#ifndef HAUL_CORE_DECIMAL_H
#define HAUL_CORE_DECIMAL_H

#include <stdint.h>

/* Writes a number with at least `digits` digits (at most 20), and returns what follows it. No zero
 * byte is written. */
static inline char *decimal_put(char *at, uint64_t value, unsigned digits)
{
	char reversed[20];
	unsigned count = 0;

	do {
		reversed[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value || count < digits);
	while (count)
		*at++ = reversed[--count];
	return at;
}

#endif
