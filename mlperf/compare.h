/* SPDX-License-Identifier: Apache-2.0 */
/* A job beside the job of an edition's workload. Closed is a list: only its keys may differ, within
 * their bounds. Any other difference is open where the list of the open division has it, and else
 * invalid.
 *
 * No state; any thread. */
#ifndef HAUL_MLPERF_COMPARE_H
#define HAUL_MLPERF_COMPARE_H

#include "mlperf/editions.h"

enum { DIFFERENCE_KEY_BYTES = 128, DIFFERENCE_TEXT_BYTES = 512, DIFFERENCES_MAX = 64 };

struct edition_difference {
	char key[DIFFERENCE_KEY_BYTES]; /* "train.loader.prefetch" */
	char value[96], wanted[96];     /* as JSON: of the job, and of the edition */
	bool open;                      /* else invalid */
	char sentence[DIFFERENCE_TEXT_BYTES];
};

struct edition_differences {
	uint32_t count; /* those beyond DIFFERENCES_MAX are counted only */
	uint32_t open;  /* so many of them */
	struct edition_difference rows[DIFFERENCES_MAX];
};

/* own, wanted: objects with the keys of the job and of its phase, as haul show gives them: "seed",
 * "cluster", "dataset", "store" and the kind of the phase ("train"). Adds what differs, and is not
 * for a closed submission to change. -ENOMEM. */
int edition_compare(struct edition_differences *out, const struct edition_workload *w,
		    const struct cJSON *own, const struct cJSON *wanted);

/* Adds one that somebody else has found. */
void edition_differs(struct edition_differences *out, bool open, const char *key, const char *value,
		     const char *wanted, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

#endif
