/* SPDX-License-Identifier: Apache-2.0 */
/* Differences between the sides of a comparison: what is not the same in the jobs, on the machines,
 * and in the client (haul itself, how it reached each store, and whether it was the limit). */
#ifndef HAUL_REPORT_DIFFERENCE_H
#define HAUL_REPORT_DIFFERENCE_H

#include <stdbool.h>

#include "results-schema/results_read.h"

/* clang-format off */
#define DIFFERENCE_LIST(X) \
	X(JOB, "job") \
	X(MACHINE, "machine") \
	X(CLIENT, "client")
/* clang-format on */

enum difference_about {
#define DIFFERENCE_ENUM(id, name) DIFFERENCE_##id,
	DIFFERENCE_LIST(DIFFERENCE_ENUM)
#undef DIFFERENCE_ENUM
		DIFFERENCE_ABOUTS
};
extern const char *const difference_abouts[DIFFERENCE_ABOUTS];

/* One combination of the sweeps' values in a file; from 1. */
struct difference_side {
	const struct results_file *file;
	uint64_t combination;
};

enum { DIFFERENCE_WHAT_BYTES = 160 };
struct difference {
	enum difference_about about;
	char what[DIFFERENCE_WHAT_BYTES];       /* "train.batch", as --set names it; "hosts" */
	char title[DIFFERENCE_WHAT_BYTES + 16]; /* "job: train.batch" */
	char **values;                          /* [sides]; NULL: this side has none */
};

struct differences {
	struct difference *rows;
	unsigned count, sides;
	bool failed; /* while it is made: there was no memory */
};

/* Returns false where there is no memory. Free it in either case. */
bool differences_make(struct differences *d, const struct difference_side *sides, unsigned count);
void differences_free(struct differences *d);

#endif
