/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a search as text: a line for each, the best first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "facts/text.h"
#include "report/text/parts.h"
#include "report/tuned.h"

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
static unsigned key_count(const struct tuned_row *rows, uint64_t count)
{
	struct table_row head, row;
	unsigned most = 1;

	for (uint64_t i = 0; i < count; i++)
		most = (unsigned)max_u64(most, key_cells(&head, &row, rows[i].setting->sets));
	return most;
}

static void tuned_line_of(struct table_row *head, struct table_row *line,
			  const struct tuned_row *row, unsigned keys)
{
	tuned_show_state(line->cell[0], row);
	for (unsigned k = key_cells(head, line, row->setting->sets); k < keys; k++)
		strcpy(line->cell[k], "as it is");
	tuned_show_mean(line->cell[keys], row);
	tuned_show_times(line->cell[keys + 1], row);
}

bool text_tuned(struct page *page)
{
	const struct results_file *f = page->file;
	struct tuned_row *rows = tuned_rows(f);
	uint64_t shown = min_u64(f->tuned_count, SETTINGS_SHOWN);
	struct table_row *lines = calloc(SETTINGS_SHOWN + 1, sizeof(*lines));
	unsigned keys = rows ? key_count(rows, f->tuned_count) : 0;

	if (!rows || !lines) {
		free(rows);
		free(lines);
		return false;
	}
	fprintf(page->out, "\n%s by %s, %llu runs\n", f->tuned->phase, f->tuned->label,
		(unsigned long long)f->runs);
	for (uint64_t i = 0; i < shown; i++)
		tuned_line_of(&lines[0], &lines[i + 1], &rows[i], keys);
	snprintf(lines[0].cell[keys], TABLE_CELL_BYTES, "%.40s", f->tuned->label);
	strcpy(lines[0].cell[keys + 1], "the best: times as good");
	if (shown)
		table_print(page->out, lines, (unsigned)shown + 1, keys + 2);
	if (shown < f->tuned_count)
		fprintf(page->out, "%llu more settings are in --json.\n",
			(unsigned long long)(f->tuned_count - shown));
	if (f->tuned->job[0])
		fprintf(page->out, "\nThe job %s: %s\n",
			f->tuned->better ? "with the best settings" : "as it is", f->tuned->job);
	free(rows);
	free(lines);
	return true;
}
