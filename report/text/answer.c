/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to the run's question as text: the curve of a search, the settings among which it chose, or
 * the card of an assessment. */
#include "report/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"
#include "facts/text.h"
#include "report/say.h"
#include "report/text/page.h"

/* A page of a terminal; the others are in --json. */
enum { SETTINGS_SHOWN = 20, KEYS_MAX = 8, KEY_COLUMNS = 18 };

/* A value, and the last part of its path above it. */
static void key_cell(struct table_row *head, struct table_row *row, unsigned at, const char *set,
		     size_t length)
{
	const char *equals = memchr(set, '=', length), *name = set;

	if (!equals)
		return;
	for (const char *c = set; c < equals; c++)
		name = *c == '.' ? c + 1 : name;
	table_cut(head->cell[at], name, (size_t)(equals - name), KEY_COLUMNS);
	table_cut(row->cell[at], equals + 1, length - (size_t)(equals + 1 - set), KEY_COLUMNS);
}

static unsigned key_cells(struct table_row *head, struct table_row *row, const char *sets)
{
	unsigned at = 1;

	for (; *sets && at <= KEYS_MAX; at++) {
		size_t length = strcspn(sets, "\t");

		key_cell(head, row, at, sets, length);
		sets += length + (sets[length] == '\t');
	}
	return at;
}

/* How many settings a table has, and how many columns for their values. */
static unsigned key_count(const struct tune_row *rows, uint64_t count)
{
	struct table_row head, row;
	unsigned most = 1;

	for (uint64_t i = 0; i < count; i++)
		most = (unsigned)max_u64(most, key_cells(&head, &row, rows[i].sets));
	return most;
}

static void setting_line(struct table_row *head, struct table_row *line, const struct tune_row *row,
			 unsigned keys)
{
	tune_show_state(line->cell[0], row);
	for (unsigned k = key_cells(head, line, row->sets); k < keys; k++)
		strcpy(line->cell[k], "as it is");
	tune_show_mean(line->cell[keys], row);
	tune_show_times(line->cell[keys + 1], row);
}

/* The settings, the best first. */
static bool text_tune(struct page *page)
{
	const struct answered *a = &page->file->answer;
	const struct tune_head *head = a->head;
	const struct tune_row *rows = a->rows;
	uint64_t shown = min_u64(a->count, SETTINGS_SHOWN);
	struct table_row *lines = calloc(SETTINGS_SHOWN + 1, sizeof(*lines));
	unsigned keys = key_count(rows, a->count);

	if (!lines)
		return false;
	fprintf(page->out, "\n%s by %s, %llu runs\n", head->phase, head->label,
		(unsigned long long)page->file->runs);
	for (uint64_t i = 0; i < shown; i++)
		setting_line(&lines[0], &lines[i + 1], &rows[i], keys);
	snprintf(lines[0].cell[keys], TABLE_CELL_BYTES, "%.40s", head->label);
	strcpy(lines[0].cell[keys + 1], "the best: times as good");
	if (shown)
		table_print(page->out, lines, (unsigned)shown + 1, keys + 2);
	if (shown < a->count)
		fprintf(page->out, "%llu more settings are in --json.\n",
			(unsigned long long)(a->count - shown));
	if (head->job[0])
		fprintf(page->out, "\nThe job %s: %s\n",
			head->better ? "with the best settings" : "as it is", head->job);
	free(lines);
	return true;
}

/* What would raise the limits that are there, each once. */
static void card_remedies(struct page *page)
{
	const struct answered *a = &page->file->answer;
	const struct assess_row *rows = a->rows;
	const char *said = "";
	char line[512];

	for (uint64_t i = 0; i < a->count; i++) {
		const char *remedy = assess_remedy(&rows[i]);
		bool before = false;

		for (uint64_t k = 0; k < i; k++)
			before |= strcmp(rows[k].limit, rows[i].limit) == 0;
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
	const struct assess_row *w = page->file->answer.rows;
	char line[512] = "", target[UNITS_TEXT_BYTES];

	for (uint64_t i = 0; i < page->file->answer.count; i++, w++) {
		if (!assess_bounded(w))
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

/* The card of an assessment: the ceilings, then a line for each workload. */
static void text_assess(struct page *page, const struct report_table *workloads)
{
	const struct assess_head *head = page->file->answer.head;
	struct assess_ceiling ceilings[ASSESS_CEILINGS_MAX];
	unsigned count = assess_ceilings(head, ceilings);
	const struct report_table storage = {.columns = assess_ceiling_columns,
					     TABLE_ROWS(ceilings, count)};
	char line[768] = "", ranks[UNITS_COUNTED_BYTES], nodes[UNITS_COUNTED_BYTES];

	fprintf(page->out, "\n");
	text_table(page->out, &storage);
	fprintf(page->out, "\n");
	if (workloads->count)
		text_table(page->out, workloads);
	card_remedies(page);
	card_users(page);
	say(line, sizeof(line),
	    "These figures hold for %s on %s. Streams: large objects, read or written from beginning to "
	    "end. \"carries\": how many accelerators compute for as much of the time as their target asks "
	    "(AU, accelerator utilisation), or users get their answers in time; \"first limit\": the "
	    "ceiling that is reached first; \"follows\": computed from the ceilings; a full run makes all "
	    "data of the workload first.",
	    units_counted(ranks, head->ranks, "rank"), units_counted(nodes, head->nodes, "node"));
	fprintf(page->out, "\n");
	text_wrap(page->out, line, 0, 0);
}

bool text_answer(struct page *page)
{
	const struct results_file *f = page->file;
	const struct find_head *head = f->answer.head;
	void *rows;
	struct report_table table;

	if (f->answer.type == ANSWER_TUNE)
		return text_tune(page);
	rows = answer_rows(f);
	if (!rows)
		return false;
	table = answer_table(f, rows);
	if (f->answer.type == ANSWER_ASSESS) {
		text_assess(page, &table);
	} else {
		fprintf(page->out, "\n%s by %s, %llu run%s\n", head->label, head->path,
			(unsigned long long)f->runs, f->runs == 1 ? "" : "s");
		text_table(page->out, &table);
	}
	free(rows);
	return true;
}
