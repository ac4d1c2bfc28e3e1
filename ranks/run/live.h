/* SPDX-License-Identifier: Apache-2.0 */
/* Live figures for programs: a line of JSON per second while a phase runs, and one when it has
 * ended. Each line is one write, so that who reads it never finds half a line, and a file is whole
 * up to its last line at any time. The run never waits for a reader: while a pipe is full, lines
 * are left out.
 *
 * Main thread of rank 0 only. docs/reading-results.md has the keys. */
#ifndef HAUL_RANKS_RUN_LIVE_H
#define HAUL_RANKS_RUN_LIVE_H

#include <stdint.h>

#include "core/err.h"

struct log;
struct progress;

/* Where the run is. */
struct live_at {
	const char *phase;  /* its name; NULL: rank 0 has none */
	const char *beside; /* what other phases do that run at the same time */
	uint32_t run, runs;
	double elapsed_s; /* since the phase began */
};

struct live {
	int fd; /* -1: none, or nobody reads it any more */
	const struct log *log;
	uint64_t next_ns; /* when the next line is due */
};

/* path "-": standard output. A file of such lines is replaced; a file that holds anything else is
 * refused. */
int live_open(struct live *live, const char *path, const struct log *log, struct err *err);
void live_close(struct live *live);

/* A phase begins: its first line is due a second later. */
void live_begin(struct live *live, uint64_t start_ns);

/* Writes the phase's figures if a line is due. */
void live_show(struct live *live, struct live_at at, const struct progress *p, uint64_t now);

/* Writes what other phases do, where this rank has no phase of its own that runs. */
void live_show_beside(struct live *live, struct live_at at, uint64_t now);

/* Writes how the phase has ended. */
void live_end(struct live *live, struct live_at at, const char *status);

#endif
