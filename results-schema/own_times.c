/* SPDX-License-Identifier: Apache-2.0 */
/* What a run spends on itself: see own_times.h. */
#include "results-schema/own_times.h"

#include <math.h>

#define OWN_TIME_KIND(number, n, t, w, h) [number] = {.name = n, .words = w, .help = h, .when = t},
const struct own_time_kind own_time_kinds[OWN_TIMES] = {OWN_TIME_LIST(OWN_TIME_KIND)};

#define OWN_TIME_MEMBER(number, n, ...) \
	[number] = MEMBER_OF(struct own_times, "own_" n, seconds[number], MEMBER_REAL),
const struct member own_time_members[OWN_TIMES] = {OWN_TIME_LIST(OWN_TIME_MEMBER)};

void own_times_init(struct own_times *t)
{
	for (int i = 0; i < OWN_TIMES; i++)
		t->seconds[i] = (double)NAN;
}

bool own_times_known(const struct own_times *t)
{
	bool known = true;

	for (int i = 0; i < OWN_TIMES; i++)
		known = known && isfinite(t->seconds[i]) && t->seconds[i] >= 0;
	return known;
}
