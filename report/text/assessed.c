/* SPDX-License-Identifier: Apache-2.0 */
/* The card of an assessment as text: the ceilings, then a line for each workload. */
#include <stdio.h>
#include <string.h>

#include "core/units.h"
#include "facts/text.h"
#include "report/assessed.h"
#include "report/say.h"
#include "report/text/parts.h"

/* What would raise the limits that are there, each once. */
static void card_remedies(struct page *page)
{
	const struct results_file *f = page->file;
	const char *said = "";
	char line[512];

	for (uint64_t i = 0; i < f->assessed_count; i++) {
		const char *remedy = assessed_remedy(&f->assessed_workloads[i]);
		bool before = false;

		for (uint64_t k = 0; k < i; k++)
			before |= strcmp(f->assessed_workloads[k].limit,
					 f->assessed_workloads[i].limit) == 0;
		if (!remedy || before)
			continue;
		if (!*said)
			fprintf(page->out, "\nWhat would raise it:\n");
		said = remedy;
		snprintf(line, sizeof(line), "%s.", remedy);
		text_wrap(page->out, line, 2, 2);
	}
}

/* Why the number of users is not known. */
static void card_users(struct page *page)
{
	const struct results_file *f = page->file;
	const struct assessed_workload *w = f->assessed_workloads;
	char line[512] = "", target[UNITS_TEXT_BYTES];

	for (uint64_t i = 0; i < f->assessed_count; i++, w++) {
		if (!assessed_bounded(w))
			continue;
		say(line, sizeof(line),
		    "At most so many users of %s follow from the ceilings. For how many of them 95 of "
		    "100 requests are answered within %s depends on which requests meet, and is "
		    "measured by a run of its own: haul run %s --find kvcache.users=1..%.0f --until "
		    "\"kvcache.request_p95 <= %s\".",
		    w->name, units_time(target, w->target), w->name, w->follows, target);
		fprintf(page->out, "\n");
		text_wrap(page->out, line, 0, 0);
		return;
	}
}

void text_assessed(struct page *page)
{
	const struct results_file *f = page->file;
	struct assessed_ceiling ceilings[ASSESSED_CEILINGS_MAX];
	unsigned count = assessed_ceilings(f->assessed, ceilings);
	const struct report_table storage = {.columns = assessed_ceiling_columns,
					     TABLE_ROWS(ceilings, count)};
	const struct report_table workloads = {
		.columns = assessed_workload_columns,
		TABLE_ROWS(f->assessed_workloads, f->assessed_count)};
	char line[512] = "", ranks[UNITS_COUNTED_BYTES], nodes[UNITS_COUNTED_BYTES];

	fprintf(page->out, "\n");
	text_table(page->out, &storage);
	fprintf(page->out, "\n");
	if (f->assessed_count)
		text_table(page->out, &workloads);
	card_remedies(page);
	card_users(page);
	say(line, sizeof(line),
	    "These figures hold for %s on %s. \"follows\": computed from the ceilings; a full run makes "
	    "all data of the workload first.",
	    units_counted(ranks, f->assessed->ranks, "rank"),
	    units_counted(nodes, f->assessed->nodes, "node"));
	fprintf(page->out, "\n");
	text_wrap(page->out, line, 0, 0);
}
