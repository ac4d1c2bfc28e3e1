/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of files that haul did not make, counted before a phase reads them: by what each file says
 * itself (formats/count.h), by its size where the format has samples of one size and nothing else, or
 * not at all. What a phase says of its samples rests on it. */
#ifndef HAUL_WORKLOADS_DATASET_DATASET_COUNT_H
#define HAUL_WORKLOADS_DATASET_DATASET_COUNT_H

#include "core/claim.h"
#include "core/group/group.h"
#include "workloads/dataset/dataset.h"

/* What is known of samples. */
enum dataset_known { KNOWN_COUNTED, KNOWN_BY_SIZE, KNOWN_AS_PLANNED };
extern const char *const dataset_known_words[]; /* "counted", "by size", "as planned" */

/* Of one rank, or of all. */
struct dataset_counts {
	uint64_t counted, by_size, looked; /* files */
	uint64_t hole_files,
		hole_bytes;  /* that nobody has written, though the files have the size */
	uint64_t read_bytes; /* to count, indexes included */
	uint64_t late;       /* ranks that had to end before their last file */
	uint64_t ns;         /* of the slowest rank */
};

struct dataset_proof {
	uint64_t files;
	struct dataset_counts own, all;
};

/* Each rank counts in files of its own, one after another, for as long as within_ns, at least in
 * one. Files that are counted and were not in the page cache are not left there. A file that holds
 * another number of samples than the job says, that is damaged, whose index is missing or that of
 * another file is refused; one that cannot be read is left to the phase. Does nothing for a data set
 * that haul made, or a store without content. Collective; all is the same on every rank. */
int dataset_count(const struct dataset *d, struct store *store, struct group *group,
		  uint64_t within_ns, struct dataset_proof *out, struct err *err);

/* Before sizes are asked for: where files have the index of Megatron's pairs, readers take nothing
 * from others beside them. Collective. */
int dataset_find_index(struct dataset *d, struct store *store, struct group *group,
		       struct err *err);

enum dataset_known dataset_known(const struct dataset_proof *p);
/* Adds whether the data set holds the samples that the job says, by which evidence. */
void dataset_claim(const struct dataset_proof *p, struct claim *c);

#endif
