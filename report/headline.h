/* SPDX-License-Identifier: Apache-2.0 */
/* The first sentence about a results file: what was found, which target was met, missed or is
 * unknown, and whether the figures count. Text and page begin with it, and JSON has it. It is
 * about the phase that has a target, a missed one first, or else about the phase that moved
 * most. */
#ifndef HAUL_REPORT_HEADLINE_H
#define HAUL_REPORT_HEADLINE_H

#include "report/doubt.h"

enum { HEADLINE_BYTES = 2048 };
struct headline {
	char text[HEADLINE_BYTES];
	const struct results_phase_read *phase; /* that it is about; NULL: there is none */
	struct doubts doubts;                   /* about it */
	/* The word that tells whether a target is met, to be coloured: where it begins in text, and
	 * its length; 0: there is none. */
	size_t word, word_bytes;
	bool good;
};

/* Returns false where there is no memory. */
bool headline_of(struct headline *h, const struct results_file *f);

#endif
