/* `haul clean` for the objects of io phases: removes, on all ranks of a group, exactly what the
 * description in a phase's folder says that haul made there, whatever run and number of ranks left it.
 * Objects of another size than they were given stay and are counted. Without a description nothing is
 * touched. */
#ifndef HAUL_WORKLOADS_IO_CLEAN_H
#define HAUL_WORKLOADS_IO_CLEAN_H

#include "workloads/common/clean.h"
#include "workloads/io/io.h"

/* Collective over group, as clean_run. Adds to counts. 0 also where there is no description, or the
 * store keeps nothing; else the first error met, after all that could be removed was. */
int io_clean(const struct job *job, const struct job_phase *phase, const struct rank_place *place,
	     struct group *group, struct group *node, struct clock *clock, const struct log *log,
	     struct clean_counts *counts, struct err *err);

#endif
