/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of recorded arrivals: any bytes end in requests within their bounds and in the
 * order of time, or in a sentence. Two parts together have as many requests as one that takes all
 * rows, and where wrong rows are left out, none of the others is lost. */
#include <stdint.h>
#include <stdlib.h>

#include "workloads/kvcache/requests/arrivals.h"

enum { CONTEXT_MAX = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns how many requests a part has. */
static uint64_t read_part(const uint8_t *data, size_t size, double rate, bool lenient,
			  uint32_t part, uint32_t parts)
{
	const struct arrivals_window window = {.speed = 2,
					       .rate = rate,
					       .lenient = lenient,
					       .characters = 4,
					       .context_max = CONTEXT_MAX,
					       .generate_max = CONTEXT_MAX,
					       .part = part,
					       .parts = parts};
	struct arrivals a;
	struct arrival row;
	struct err err = {0};
	uint64_t count = 0, due_ns = 0;

	if (arrivals_open(&a, NULL, data, size, &window, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (; arrivals_due(&a) != ARRIVALS_NEVER; count++) {
		arrivals_next(&a, &row);
		if (row.due_ns < due_ns || !row.context || row.context > CONTEXT_MAX ||
		    row.generate > CONTEXT_MAX || !row.turn != !(rate > 0) ||
		    (row.turn ? row.conversation : row.number) % parts != part)
			abort();
		due_ns = row.due_ns;
	}
	arrivals_close(&a);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Tables have times, and lists of conversations have not. */
	for (int rate = 0; rate < 2; rate++) {
		uint64_t strict = read_part(data, size, rate, false, 0, 1);

		if (strict && strict != read_part(data, size, rate, true, 0, 1))
			abort();
		for (int lenient = 0; lenient < 2; lenient++)
			if (read_part(data, size, rate, lenient, 0, 1) !=
			    read_part(data, size, rate, lenient, 0, 2) +
				    read_part(data, size, rate, lenient, 1, 2))
				abort();
	}
	return 0;
}
