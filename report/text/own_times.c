/* SPDX-License-Identifier: Apache-2.0 */
/* What the run has spent on itself, in one line, where that is much of the run. */
#include "core/units.h"
#include "report/say.h"
#include "report/text/page.h"

/* Said from this share of the run on, and from this time on. */
static const double own_share_said = 0.05, own_least_s = 0.05;
/* A step that takes this share of its part is named. */
static const double step_share = 0.3;

/* "0.4 s before the first phase (MPI_Init 0.3 s)"; nothing where it took no time. */
static double say_part(char *line, size_t size, const struct own_times *t, enum own_when when,
		       const char *between, const char *words)
{
	char time[UNITS_TEXT_BYTES];
	const char *before = " (";
	double sum = 0;

	for (int i = 0; i < OWN_TIMES; i++)
		sum += own_time_kinds[i].when == when ? t->seconds[i] : 0;
	if (!(sum > 0))
		return 0;
	say(line, size, "%s%s %s", between, units_time(time, sum), words);
	for (int i = 0; i < OWN_TIMES; i++) {
		if (own_time_kinds[i].when != when || when == OWN_AFTER ||
		    t->seconds[i] < step_share * sum)
			continue;
		say(line, size, "%s%s %s", before, own_time_kinds[i].words,
		    units_time(time, t->seconds[i]));
		before = ", ";
	}
	if (*before == ',')
		say(line, size, ")");
	return sum;
}

void text_own_times(struct page *page)
{
	static const char *const words[OWN_WHENS] = {[OWN_BEFORE] = "before the first phase",
						     [OWN_BETWEEN] = "around the phases' work",
						     [OWN_AFTER] = "after the last phase"};
	const struct own_times *t = &page->file->own;
	char line[1024] = "haul itself: ";
	const char *between = "";
	double sum = 0;

	if (!own_times_known(t))
		return;
	for (int when = 0; when < OWN_WHENS; when++) {
		double part =
			say_part(line, sizeof(line), t, (enum own_when)when, between, words[when]);

		sum += part;
		between = part > 0 ? ", " : between;
	}
	if (sum >= own_least_s && sum >= own_share_said * page->file->seconds)
		page_wrap(page, line);
}
