/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of a plan: sentences to read before a large run, and the space that a phase's new files
 * find on the store. */
#ifndef HAUL_PLAN_NOTES_H
#define HAUL_PLAN_NOTES_H

#include "plan/plan.h"

enum { NOTES_MAX = 32, NOTE_BYTES = 192 };

struct notes {
	unsigned count;
	char text[NOTES_MAX][NOTE_BYTES];
};

/* Gathers the notes of all phases and of the plan itself, each note once. */
void notes_gather(struct notes *n, const struct plan *plan, const struct job *job);

/* Whether the job has another number of files beside the option that wins over it: then the text
 * tells both. When the job was scaled. */
bool notes_files(char text[NOTE_BYTES], const struct job_dataset *dataset);

#endif
