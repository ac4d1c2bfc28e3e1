/* SPDX-License-Identifier: Apache-2.0 */
/* The command that removes what a run has made, for sentences that ask for it. */
#ifndef HAUL_CLI_CLEAN_COMMAND_H
#define HAUL_CLI_CLEAN_COMMAND_H

#include "cli/cli.h"

enum { CLEAN_COMMAND_BYTES = 640 };

/* "haul clean JOB", with the changes to the job, which may say where things are, as a shell takes
 * it. Returns text; NULL where the command is longer. */
const char *clean_command_of_job(char text[CLEAN_COMMAND_BYTES], const char *job,
				 const struct word_list *sets);
/* A replay has no job: its own command line, with --clean. */
const char *clean_command_of_replay(char text[CLEAN_COMMAND_BYTES], const struct call *call);

#endif
