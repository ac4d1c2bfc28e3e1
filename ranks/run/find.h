/* SPDX-License-Identifier: Apache-2.0 */
/* State of a run that searches for the greatest value that meets a target (haul run --find).
 * Private to ranks/run; state.h has the calls. */
#ifndef HAUL_RANKS_RUN_FIND_H
#define HAUL_RANKS_RUN_FIND_H

#include "plan/search/question.h"
#include "ranks/run/state.h"

struct find {
	struct question question;
	struct bisect search;
	uint32_t done; /* runs of the current value */
	char set[QUESTION_TEXT_BYTES + 24];
};

#endif
