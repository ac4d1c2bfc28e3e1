/* SPDX-License-Identifier: Apache-2.0 */
/* How verbs run a job under MPI, and print what became of it. */
#ifndef HAUL_CLI_CLI_RUN_H
#define HAUL_CLI_CLI_RUN_H

#include "cli/cli.h"
#include "ranks/run/run.h"

/* On rank 0, before the job is read. What it adds to the options lasts as long as argument. Where it
 * returns an error, the job must be one that is refused; its sentence is then that of err. */
typedef int cli_prepare(const struct run *run, struct run_options *options, void *argument,
			struct err *err);

/* Fills what is the same for all verbs in options. prepare NULL: there is nothing to do. Returns the
 * exit status. */
enum exit_status cli_run(const struct call *call, struct run_options *options, cli_prepare *prepare,
			 void *argument);

#endif
