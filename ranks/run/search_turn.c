/* SPDX-License-Identifier: Apache-2.0 */
/* Which phases of a run have their turn in a search: see search.h. */
#include "plan/search/once.h"
#include "ranks/run/run.h"
#include "ranks/run/search.h"

/* Collective where the run has a time. */
static bool turn_over(const struct run *run)
{
	bool over = search_over(run);

	if (run->search && run->search->until_ns)
		group_broadcast(run->world, &over, sizeof(over));
	return over;
}

bool search_turn(const struct run *run, const struct job_phase *phase)
{
	const struct search *s = run->search;
	bool before;

	if (!s || !s->once)
		return !turn_over(run);
	if (once_each(&run->job, s->phase_index, (uint32_t)(phase - run->job.phases), &before))
		return !s->ending;
	return before ? run->at.run == 1 && !s->ending : s->ending;
}
