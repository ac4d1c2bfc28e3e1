/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up results files for pages: of any number of runs, ranks and nodes, whose figures a test can
 * compute; and one in which nothing is a number. */
#ifndef HAUL_TESTS_REPORT_HTML_MADE_FILE_H
#define HAUL_TESTS_REPORT_HTML_MADE_FILE_H

#include <stdbool.h>

#include "results-schema/results_read.h"

struct made_shape {
	const char *name; /* of the job, and of the file: it may hold any characters */
	unsigned runs;    /* each with a phase "generate" and a phase "train" */
	bool train_alone; /* no phase "generate" */
	unsigned combinations;
	uint64_t ranks, nodes;
	unsigned epochs, rows; /* rows of steps and of the timeline */
	bool nothing;          /* no figure is a number */
	bool hists, failures;
};

/* Rank r waited for storage r + 1 ms in a phase of 10 s, and computed for half of the rest: rank 3
 * waited 5 s. */
#define MADE_SECONDS 10
enum { MADE_SLOW_RANK = 3 };
double made_wait_s(uint64_t rank);

/* NULL: no memory. */
struct results_file *made_file(const struct made_shape *shape);
void made_file_free(struct results_file *f);

#endif
