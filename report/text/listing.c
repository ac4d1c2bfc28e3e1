/* Listing of a folder as text: a line for each results file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "report/listing.h"
#include "report/shapes.h"
#include "report/text/table.h"

enum {
	LIST_FILE,
	LIST_STARTED,
	LIST_JOB,
	LIST_STATUS,
	LIST_RANKS,
	LIST_TIME,
	LIST_AU,
	LIST_GB,
	LISTS
};
enum { FILE_COLUMNS = 28, STARTED_CHARACTERS = 16 };

static void listing_text_row(struct table_row *to, const struct listing_row *row)
{
	char text[UNITS_TEXT_BYTES];

	for (int c = 0; c < LISTS; c++)
		strcpy(to->cell[c], TABLE_NOTHING);
	table_cut(to->cell[LIST_FILE], row->file, strlen(row->file), FILE_COLUMNS);
	/* "2026-01-31T23:59:59Z" to the minute. */
	snprintf(to->cell[LIST_STARTED], TABLE_CELL_BYTES, "%.*s", STARTED_CHARACTERS,
		 row->started);
	if (strlen(to->cell[LIST_STARTED]) > 10)
		to->cell[LIST_STARTED][10] = ' ';
	table_cut(to->cell[LIST_JOB], row->name, strlen(row->name), 16);
	table_cut(to->cell[LIST_STATUS], row->status, strlen(row->status), 11);
	snprintf(to->cell[LIST_RANKS], TABLE_CELL_BYTES, "%s", units_count(text, row->ranks));
	if (!isnan(row->seconds))
		snprintf(to->cell[LIST_TIME], TABLE_CELL_BYTES, "%s",
			 units_time(text, row->seconds));
	if (!isnan(row->au))
		snprintf(to->cell[LIST_AU], TABLE_CELL_BYTES, "%.1f %%", row->au * 100);
	table_figure(to->cell[LIST_GB], row->bytes_per_second / 1e9);
}

char *report_listing_text(const struct listing *l)
{
	static const char *const headings[LISTS] = {"file",  "started", "job", "status",
						    "ranks", "time",    "AU",  "GB/s"};
	struct table_row *rows = calloc(l->count + 1, sizeof(*rows));
	char *text = NULL;
	size_t size;
	FILE *out = rows ? open_memstream(&text, &size) : NULL;

	if (!out) {
		free(rows);
		return NULL;
	}
	for (int c = 0; c < LISTS; c++)
		strcpy(rows[0].cell[c], headings[c]);
	for (uint32_t i = 0; i < l->count; i++)
		listing_text_row(&rows[i + 1], &l->rows[i]);
	if (l->count)
		table_print(out, rows, l->count + 1, LISTS);
	else
		fputs("there are no results files here\n", out);
	if (l->unreadable)
		fprintf(out, "%u more file%s named *.h5, not of haul\n", l->unreadable,
			l->unreadable == 1 ? " is" : "s are");
	free(rows);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
