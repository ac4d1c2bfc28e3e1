/* SPDX-License-Identifier: Apache-2.0 */
/* What a search for the greatest load has found, as the results have it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/utf8.h"
#include "ranks/run/run.h"
#include "ranks/run/search.h"

int search_answer(const struct run *run, const struct bisect *s, uint32_t runs, struct found *found)
{
	struct found_step *steps = calloc(s->count + 1, sizeof(*steps));
	struct bisect_answer a;
	int rc;

	if (!steps)
		return -ENOMEM;
	bisect_answer(s, &a);
	utf8_copy(found->end, sizeof(found->end), bisect_ends[s->end]);
	found->low = s->ask.low;
	found->high = s->ask.high;
	found->by = s->ask.by;
	found->most = s->ask.most;
	found->asked = s->ask.asked;
	found->repeats = s->ask.repeats;
	found->undecided = a.undecided;
	if (a.carries_known) {
		found->carries = a.carries;
		found->least = a.least;
		found->greatest = a.greatest;
	}
	if (a.misses_known) {
		found->misses = a.misses;
		found->missed_with = s->steps[a.missing_step].stats.mean;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		const struct bisect_step *step = &s->steps[i];

		steps[i] = (struct found_step){.value = step->value,
					       .repeats = step->repeats,
					       .mean = step->repeats ? step->stats.mean : NAN,
					       .low = step->repeats ? step->stats.low : NAN,
					       .high = step->repeats ? step->stats.high : NAN};
		utf8_copy(steps[i].state, sizeof(steps[i].state), bisect_states[step->state]);
	}
	rc = results_set_answer(run->results, found, steps, s->count, runs);
	free(steps);
	return rc;
}
