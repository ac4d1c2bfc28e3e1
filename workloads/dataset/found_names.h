/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a data set that haul did not make, compared with what a folder holds: how large the set
 * is of which the job reads the first files, as DLIO does with a sorted list; and what is there in
 * place of a file that is not. */
#ifndef HAUL_WORKLOADS_DATASET_FOUND_NAMES_H
#define HAUL_WORKLOADS_DATASET_FOUND_NAMES_H

#include "backends/queue/queue.h"
#include "workloads/dataset/dataset.h"

enum { FOUND_TEXT_BYTES = 400 };

/* After the file with that number was not found: lists some of its folder. Returns the number of
 * files of the set, where the folder has DLIO's names of a larger set of this prefix and format;
 * else 0, with a sentence that says what is there and what to change. */
uint64_t found_names_set(const struct dataset *d, struct queue *q, uint64_t file,
			 char text[FOUND_TEXT_BYTES]);

#endif
