/* SPDX-License-Identifier: Apache-2.0 */
/* What others published beside what haul says of the same (core/rule/published.h): a table anyone
 * may cite, and how many of its rows are held. */
#ifndef HAUL_REPORT_VALIDATION_H
#define HAUL_REPORT_VALIDATION_H

#include <stdio.h>

#include "core/rule/published.h"
#include "facts/document.h"

enum { VALIDATION_FITS = 3 };

/* How far AU was off that a store predicts which is fitted to one result: in points. */
struct validation_fit {
	const char *limit; /* of the store; NULL: nothing was simulated */
	uint32_t count;
	double median, most;
};

struct validation {
	const struct published *published;
	struct published_match *matches; /* [published->count] */
	struct validation_fit fits[VALIDATION_FITS];
};

/* How many rows are in that state. */
uint32_t validation_count(const struct validation *v, enum published_state state);

int validation_print(FILE *out, enum report_shape shape, const struct validation *v,
		     struct err *err);

#endif
