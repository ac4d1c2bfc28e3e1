/* Notes of a plan: sentences to read before a large run, and the space that a phase's new files
 * find on the store. */
#ifndef HAUL_PLAN_NOTES_H
#define HAUL_PLAN_NOTES_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"

enum { NOTES_MAX = 32, NOTE_BYTES = 192, SPACE_BYTES = 320, SPACE_PATH_BYTES = 4096 };

struct notes {
	unsigned count;
	char text[NOTES_MAX][NOTE_BYTES];
};

/* Gathers the notes of all phases and of the plan itself, each note once. */
void notes_gather(struct notes *n, const struct plan *plan, const struct job *job);

/* Compares what a phase adds to one of its stores with what is free there now, as a sentence:
 * "630.5 TB and 4,300,800 inodes: /lustre has 1.2 PB free". Only file:// can be asked without
 * opening the store. Returns false when the phase adds nothing. *lacking tells that there is not
 * enough. */
bool space_sentence(const struct phase_store *s, char text[SPACE_BYTES], bool *lacking);

/* Free space where a store is: of its nearest folder that exists. */
struct space {
	char path[SPACE_PATH_BYTES];
	double free_bytes;
	uint64_t free_inodes;
	bool inodes_counted;   /* false: the file system has no limit of inodes */
	char why[SPACE_BYTES]; /* the reason why the space is unknown, or "" */
};
bool space_look(const struct job_store *store, struct space *s);

#endif
