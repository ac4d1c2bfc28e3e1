/* Progress line on standard error: updated in place on a terminal, written now and then into a log.
 * Main thread of rank 0 only. */
#ifndef HAUL_RANKS_RUN_PROGRESS_H
#define HAUL_RANKS_RUN_PROGRESS_H

#include <stdbool.h>

#include "core/clock.h"
#include "workloads/workload.h"

struct progress_line {
	struct clock *clock;
	int fd;
	bool terminal, shown;
	uint64_t start_ns, next_ns;
	uint32_t run, runs; /* of a series; shown where there are several */
};

void progress_start(struct progress_line *line, struct clock *clock, int fd, uint32_t run,
		    uint32_t runs);
void progress_show(void *line, const struct progress *p); /* hook of struct phase_context */
void progress_end(struct progress_line *line);            /* clears the line on a terminal */

#endif
