/* SPDX-License-Identifier: Apache-2.0 */
/* What a phase's new files find on the store. */
#ifndef HAUL_PLAN_SPACE_H
#define HAUL_PLAN_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

enum { SPACE_BYTES = 384, SPACE_PATH_BYTES = 4096 };

/* What a phase adds to one of its stores against what is free there now, as a sentence: "630.5 TB
 * and 4,300,800 inodes: /lustre has 1.2 PB free". Only file:// can be asked without opening the
 * store; others say what plan_ask_space has found. Returns false when the phase adds nothing.
 * *lacking: there is not enough. */
bool space_sentence(const struct phase_store *s, char text[SPACE_BYTES], bool *lacking);

/* What is free where a store lies: the nearest folder of it that exists. */
struct space {
	char path[SPACE_PATH_BYTES];
	double free_bytes;
	uint64_t free_inodes;
	bool inodes_counted;   /* by the file system; else there is no end of them */
	char why[SPACE_BYTES]; /* where it cannot be told: the reason */
};
bool space_look(const struct job_store *store, struct space *s);
/* The path of a file store, for its first rank, whether it exists or not. False, with s->why: another store, or none. */
bool space_path(const struct job_store *store, struct space *s);

/* Asks the stores of the plan that are not file systems of this machine, and can tell their space,
 * such as a pool of DAOS: each is opened once, for some seconds at most. */
void plan_ask_space(struct plan *plan);

#endif
