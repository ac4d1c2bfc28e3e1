/* SPDX-License-Identifier: Apache-2.0 */
/* Progress line on standard error: updated in place on a terminal, written now and then into a log.
 * Main thread of rank 0 only. */
#ifndef HAUL_RANKS_RUN_PROGRESS_H
#define HAUL_RANKS_RUN_PROGRESS_H

#include <stdbool.h>

#include "core/clock.h"
#include "workloads/workload.h"

struct live;

enum { PROGRESS_BYTES = 256 };

struct progress_line {
	struct clock *clock;
	int fd;            /* -1: nobody reads the line */
	struct live *live; /* gets the figures as JSON; NULL: not asked for */
	const char *phase; /* its name; NULL: not known */
	bool terminal, shown;
	uint64_t start_ns, next_ns;
	uint32_t run, runs; /* of a series; shown where there are several */
	/* What other phases do that run at the same time; "": none does. */
	char beside[2 * PROGRESS_BYTES];
};

void progress_start(struct progress_line *line, struct clock *clock, int fd, uint32_t run,
		    uint32_t runs);

/* Where the line's figures go as JSON, too. After progress_start. */
void progress_live(struct progress_line *line, struct live *live, const char *phase);

/* Writes how the phase has ended, where its figures go as JSON. */
void progress_live_end(struct progress_line *line, const char *status);

void progress_show(void *line, const struct progress *p); /* hook of struct phase_context */

/* The line shows only what other phases do, because that of this rank is over or has none. */
void progress_show_beside(struct progress_line *line);
/* What the line says of a phase. */
void progress_text(const struct progress_line *line, const struct progress *p, uint64_t now,
		   char out[PROGRESS_BYTES]);

void progress_end(struct progress_line *line); /* clears the line on a terminal */

#endif
