/* SPDX-License-Identifier: Apache-2.0 */
/* Find: the least storage that keeps a target AU, and the most nodes that do. What more of it helps (bandwidth, opens)
 * is searched for from below, what hurts (latency, nodes) from above; both between two ends, by halving what lies
 * between them. The caller simulates.
 *
 *	find_parse(&f, "bandwidth=1 GB/s..10 TB/s", err);
 *	while (find_next(&f, &value))
 *		find_add(&f, the AU at that value);
 *
 * Plain data; one thread. */
#ifndef HAUL_SIMULATE_FIND_H
#define HAUL_SIMULATE_FIND_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/err.h"
#include "facts/document.h"
#include "plan/search/bisect.h"

enum { FIND_STEPS_MAX = 64, FIND_KEY_BYTES = 32 };

struct find_step {
	double value, au;
	bool keeps;
};

struct find {
	char key[FIND_KEY_BYTES]; /* of the storage, or "nodes" */
	bool whole, helps;        /* nodes; more of it helps */
	double low, high, target;
	uint64_t nodes, ranks; /* of the job; 0: they are searched for */
	enum bisect_end end;   /* as of a search among runs */
	double answer;         /* BISECT_FOUND, BISECT_ALL: the value that keeps the target */
	double kept, missed;
	uint32_t count;
	struct find_step steps[FIND_STEPS_MAX];
};

/* "KEY" or "KEY=LOW..HIGH", with units. -EINVAL with a sentence. */
int find_parse(struct find *f, const char *text, double target, struct err *err);

/* The value to simulate next. false: the search has ended. */
bool find_next(struct find *f, double *value);
void find_add(struct find *f, double au);

/* All searches of a call: a row for each number of nodes. job: its name; storage: what it was else. */
struct find_report {
	const char *job, *storage;
	const struct find *finds;
	uint32_t count;
};
int find_print(FILE *out, enum report_shape shape, const struct find_report *r, struct err *err);

#endif
