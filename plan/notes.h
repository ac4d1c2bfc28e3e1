/* Sentences worth reading before a large run. */
#ifndef HAUL_PLAN_NOTES_H
#define HAUL_PLAN_NOTES_H

#include "plan/plan.h"

enum { NOTES_MAX = 32, NOTE_BYTES = 192 };

struct notes {
	unsigned count;
	char text[NOTES_MAX][NOTE_BYTES];
};

/* Gathers the notes of all phases and those of the plan itself, each once. */
void notes_gather(struct notes *n, const struct plan *plan, const struct job *job);

#endif
