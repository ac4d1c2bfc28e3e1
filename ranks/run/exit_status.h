/* SPDX-License-Identifier: Apache-2.0 */
/* Exit status of a run, the same on all ranks. */
#ifndef HAUL_RANKS_RUN_EXIT_STATUS_H
#define HAUL_RANKS_RUN_EXIT_STATUS_H

enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_INTERRUPTED = 4,
	EXIT_TARGET_MISSED = 8,
	EXIT_CONDITIONS = 9 /* of haul check: closed, if what it lists holds */
};

#endif
