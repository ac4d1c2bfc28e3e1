/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: what a phase should reach, and whether it did. A workload declares its targets in one
 * table. From it come the options in the job ("target_au": 0.9), the check at the end of the phase,
 * rows in results.h5, sentences in the report, and the exit status of --strict.
 *
 *	static const struct target train_targets[] = {
 *		TARGET_FIGURE("target_au", "AU", "fraction", "au", "AU to reach; 0: none")
 *		TARGET_QUANTILE("target_p99", "99th percentile of reads", "read", QUANTILE_P99,
 *				"99th percentile of reads; 0: none")
 *		TARGETS_END
 *	};
 *
 * Plain data; any thread. */
#ifndef HAUL_CORE_TARGET_H
#define HAUL_CORE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/claim.h"

enum { TARGETS_MAX = 16, TARGET_NAME_BYTES = 32, TARGET_LABEL_BYTES = 64, TARGET_UNIT_BYTES = 24 };
enum { TARGET_TEXT_BYTES = 48 };

/* The histogram of a phase whose percentiles its summary shows, such as reads for a phase that
 * reads. */
#define TARGET_MAIN_HIST ""

enum target_bound { TARGET_LEAST, TARGET_MOST };

struct target {
	const char *name;  /* of the option; NULL ends a table */
	const char *label; /* used in sentences: "AU", "bandwidth" */
	const char *help;
	const char *unit;   /* "fraction", "ns", "B/s", "1/s"; anything else is a plain number */
	const char *figure; /* a figure of the rank's row; NULL: a quantile of hist */
	const char *hist;   /* name of the histogram, or TARGET_MAIN_HIST */
	int quantile;       /* of it, from core/measure/quantile.h */
	enum target_bound bound;
};

/* Rows of a table. A figure has to be reached, unless .bound = TARGET_MOST follows the help; a
 * quantile of a histogram is the most that it may be. */
#define TARGET_FIGURE(n, l, u, f, h, ...) \
	{.name = (n), .label = (l), .unit = (u), .figure = (f), .help = (h), __VA_ARGS__},
#define TARGET_QUANTILE(n, l, of_hist, q, h) \
	{.name = (n), \
	 .label = (l), \
	 .unit = "ns", \
	 .hist = (of_hist), \
	 .quantile = (q), \
	 .bound = TARGET_MOST, \
	 .help = (h)},
#define TARGETS_END \
	{ \
		.name = NULL \
	}

/* A target that the job asks for, and what the phase reached over all ranks. Plain data without
 * holes. */
struct target_result {
	char name[TARGET_NAME_BYTES], label[TARGET_LABEL_BYTES], unit[TARGET_UNIT_BYTES];
	uint64_t most; /* 1: asked is the greatest allowed value, 0: the least */
	/* found is NaN where the phase cannot tell: then the target is neither met nor missed */
	double asked, found;
	uint64_t met;
	/* 1: the figures are void (report/doubt.h), so the target is neither met nor missed; in no file */
	uint64_t voided;
};

/* Whether what was found reaches it, also if that is void. */
bool target_met(const struct target_result *r);

/* A target is a claim; one that is unknown is neither met nor missed. */
enum target_state {
	TARGET_MET = CLAIM_HELD,
	TARGET_MISSED = CLAIM_MISSED,
	TARGET_UNKNOWN = CLAIM_UNKNOWN,
	TARGET_STATES = CLAIM_STATES
};
extern const char *const target_state_names[TARGET_STATES]; /* "met", "missed", "unknown" */
enum target_state target_state(const struct target_result *r);
/* Behind "the target of 90 %": "is met", "is missed", "is neither met nor missed", and where the figures
 * are void "would be met" or "would be missed". */
const char *target_word(const struct target_result *r);

/* A value in words: "92.5 %", "20 ms", "2 GB/s", "1,200/s". digits is how many digits to show, 3 to
 * 6. */
char *target_value(char text[TARGET_TEXT_BYTES], const char *unit, double value, int digits);

/* "AU 89.99 % misses the target of 90 %". Found and asked are shown with as many digits as tell
 * them apart. about is put behind the found value, or is "". */
void target_sentence(char *text, unsigned size, const struct target_result *r, const char *about);

#endif
