/* SPDX-License-Identifier: Apache-2.0 */
/* Run under MPI: the only place that calls MPI_Init. cli/ calls it for the verbs run, generate and
 * clean. */
#ifndef HAUL_RANKS_RUN_RUN_H
#define HAUL_RANKS_RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "plan/phase_filter.h"
#include "ranks/run/exit_status.h"

enum run_verb { RUN_ALL, RUN_GENERATE, RUN_CLEAN };

/* Whether each rank writes a file of the operation log, or the ranks of a node share one; AUTO: by
 * their number. */
enum op_log_per { OP_LOG_PER_AUTO, OP_LOG_PER_RANK, OP_LOG_PER_NODE };

struct assess;

struct run_options {
	enum run_verb verb;
	const char *job; /* path, or a catalogue name resolved to a path by cli/ on rank 0 */
	/* The job itself, which job then only names in messages; NULL: it is read from the file */
	const char *job_text;
	const char *clean;   /* the command that removes what the job makes; NULL: not known */
	const char *results; /* path; NULL: results.h5 */
	const char *live;    /* path of the live figures, "-": standard output; NULL: none */
	bool force, strict, quiet;
	bool resume;               /* goes on with what the results file has of the series */
	bool one_file, side_files; /* a series leaves one file however large, or never does */
	bool alone; /* started without a launcher, which is then told once the job is accepted */
	bool ignore_space;       /* runs although a phase does not fit on its store */
	const char *const *sets; /* path=value */
	unsigned set_count;
	struct phase_filter filter;
	const char *const *sweeps; /* path=a,b,c */
	unsigned sweep_count;
	const char *find;         /* PATH=LOW..HIGH: the greatest value that meets until */
	const char *until;        /* "train.au >= 0.9"; its change to the job is not in sets */
	const char *const *tunes; /* path=a,b,c or path=LOW..HIGH: the best of these settings */
	unsigned tune_count;
	const char *tune_by; /* [PHASE.]FIGURE; NULL: the main figure */
	const struct assess
		*assess;   /* what a storage is good for, on rank 0; job_text is its job */
	const char *tuned; /* path of the job with the best settings; NULL: beside the results */
	bool interleave;   /* combinations in turn */
	uint32_t repeat, warmup; /* runs of each combination; repeat 0 means 1 */
	const char *op_log;      /* path of the operation log; NULL: none */
	enum op_log_per op_log_per;
	uint64_t op_log_rows; /* rows that a queue keeps until they are written; 0: OP_LOG_ROWS */
	uint64_t deadline_ns; /* from the start of the run; 0: none */
	uint64_t
		grace_ns; /* from a stop until the run ends whatever its threads are stuck in; 0: 10 s */
	uint64_t publish_every_ns; /* phases are published that often while they run; 0: never */
	uint32_t fake_nodes;       /* 0 or 1: nodes as the machine has them */
	const char *command_line, *version, *build;
};

/* run_begin initialises MPI (signals are blocked and handed to one thread first); run_job does
 * everything; run_end finalises. The exit status is the same on every rank. Sentences for people
 * are given to print(rank 0's) by cli: run_job fills err and, on rank 0 only, tells through *speak
 * whether this rank should print it. */
struct run;
int run_begin(struct run **out, int *argc, char ***argv, struct err *err);
enum exit_status run_job(struct run *run, const struct run_options *options, bool *speak,
			 struct err *err);
uint32_t run_rank(const struct run *run);
uint32_t run_ranks(const struct run *run);      /* all of them */
const char *run_message(const struct run *run); /* a sentence about what was done, or "" */
bool run_left_results(const struct run *run);   /* rank 0: the results file is this run's */
void run_end(struct run *run);

#endif
