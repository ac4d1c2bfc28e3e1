/* SPDX-License-Identifier: Apache-2.0 */
/* What is there of a data set before a run: its manifest, where the store is a file system of this machine. Other stores are
 * not asked. */
#ifndef HAUL_PLAN_FOUND_H
#define HAUL_PLAN_FOUND_H

#include <stdint.h>

#include "core/job/job.h"

enum found_state {
	FOUND_UNKNOWN,  /* not looked at */
	FOUND_NONE,     /* no manifest */
	FOUND_BEGUN,    /* of this data set, and not complete */
	FOUND_COMPLETE, /* this data set, or a larger one of which it is a part */
	FOUND_OTHER,    /* a set that this job neither reads nor goes on with */
};
extern const char *const found_names[];

struct there {
	enum found_state state;
	uint64_t files; /* of the set that is there */
	char why[512];  /* of FOUND_OTHER */
};

/* Looks; also at the store of a data set that haul did not make, where it finds nothing to tell. */
void found_look(const struct job *job, const struct job_dataset *described, struct there *f);

#endif
