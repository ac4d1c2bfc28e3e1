/* SPDX-License-Identifier: Apache-2.0 */
/* Reading mapped files: a page that cannot be had any more (the file was cut short, the device
 * failed) raises SIGBUS in the thread that touches it. A guard turns that into a word that says so:
 * zeroes take the place of what is missing, the thread goes on, and whoever reads the word knows.
 *
 * A guard is the calling thread's own. A SIGBUS outside of its guard ends the process as it would
 * have. */
#ifndef HAUL_BACKENDS_FILE_FAULT_GUARD_H
#define HAUL_BACKENDS_FILE_FAULT_GUARD_H

#include <stdint.h>

struct fault_guard {
	char *base; /* whole pages of a mapping */
	uint64_t bytes, page_bytes;
	/* Set to 1 before the zeroes can be seen: who reads the same mapping in another thread and
	 * finds 0 after its own reading has had no zeroes. */
	uint64_t *broken;
};

/* Makes SIGBUS ours, for good; more than once does no harm. Before the first guard of the
 * process. */
int fault_guard_install(void);

/* g must stand until the guard is left. They do not nest. */
void fault_guard_enter(const struct fault_guard *g);
void fault_guard_leave(void);

#endif
