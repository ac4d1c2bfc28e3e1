/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a phase that was read back from results.h5. synthetic.h has what was written. */
#ifndef HAUL_TESTS_RESULTS_SCHEMA_CHECKS_H
#define HAUL_TESTS_RESULTS_SCHEMA_CHECKS_H

#include <stdint.h>

#include "results-schema/results_read.h"

extern uint64_t check_failed; /* the number of expectations of this process that did not hold */

/* Names on standard error what does not hold. */
void expect(int holds, const char *what);

void check_train(const struct results_phase_read *p, uint32_t ranks);
void check_client(const struct results_phase_read *p, uint32_t nodes);
/* Details of phases stay in memory as long as there is room, which is counted for all of them. */
void check_room(const char *path);

#endif
