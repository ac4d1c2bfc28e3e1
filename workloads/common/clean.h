/* `haul clean`: removes, on all ranks of a group, exactly what a data set's manifest describes.
 *
 * A file goes when its name and its size are the manifest's; one of another size is kept and
 * counted. What an interrupted generation left of those names goes too, then folders that are
 * empty, and the manifest. Without a manifest nothing is touched. */
#ifndef HAUL_WORKLOADS_COMMON_CLEAN_H
#define HAUL_WORKLOADS_COMMON_CLEAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/clock.h"
#include "core/group/group.h"
#include "core/job/job.h"
#include "core/log.h"
#include "core/rank_place.h"

/* Of all ranks, the same on every rank. */
struct clean_counts {
	uint64_t removed, removed_bytes; /* files */
	uint64_t parts;                  /* unfinished files removed */
	uint64_t kept;                   /* not as made: another size */
	uint64_t absent;                 /* were not there */
	uint64_t folders;                /* removed, empty */
	bool complete;                   /* came to the end: the manifest is gone too */
};

/* Collective over group; node: the ranks of this node, for opening the data set's store (NULL:
 * alone). Adds to counts. Returns what all ranks agree on: 0; -ENOENT without a manifest;
 * -ENOTSUP where the store keeps nothing; else the first error met, after all that could be
 * removed was. */
int clean_run(const struct job *job, const struct job_dataset *dataset,
	      const struct rank_place *place, struct group *group, struct group *node,
	      struct clock *clock, const struct log *log, struct clean_counts *counts,
	      struct err *err);

#endif
