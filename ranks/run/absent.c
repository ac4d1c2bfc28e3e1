/* SPDX-License-Identifier: Apache-2.0 */
/* In place of a run where haul is built without MPI (HAUL_MPI=OFF): run_begin refuses, so nothing
 * after it is called. */
#include <errno.h>
#include <stddef.h>

#include "ranks/run/run.h"

int run_begin(struct run **out, int *argc, char ***argv, struct err *err)
{
	(void)argc;
	(void)argv;
	*out = NULL;
	return err_set(
		err, -ENOSYS,
		"this haul was built without MPI and cannot run jobs: build it with MPI and a "
		"parallel HDF5, by cmake -DHAUL_MPI=ON (docs/install.md)");
}

enum exit_status run_job(struct run *run, const struct run_options *options, bool *speak,
			 struct err *err)
{
	(void)run;
	(void)options;
	*speak = true;
	err_set(err, -ENOSYS, "this haul was built without MPI");
	return EXIT_FAILED;
}

uint32_t run_rank(const struct run *run)
{
	(void)run;
	return 0;
}

uint32_t run_ranks(const struct run *run)
{
	(void)run;
	return 1;
}

const char *run_message(const struct run *run)
{
	(void)run;
	return "";
}

bool run_left_results(const struct run *run)
{
	(void)run;
	return false;
}

void run_end(struct run *run)
{
	(void)run;
}
