/* Table of the kinds of phases that have sentences or tables of their own. A new kind needs a line
 * here and a file in this folder. */
#include <stdlib.h>
#include <string.h>

#include "report/text/page.h"
#include "report/text/table.h"

const struct text_kind *const text_kinds[] = {&text_train, &text_plain_io, &text_streams,
					      &text_caches, NULL};

static void kind_row(struct table_row *row, const struct page *page,
		     const struct results_phase_read *p, const struct text_kind_table *table)
{
	char name[PHASE_NAME_BYTES];

	for (unsigned c = 1; c < table->columns; c++)
		strcpy(row->cell[c], TABLE_NOTHING);
	phase_name(page->file, p, name);
	table_name(row->cell[0], name);
	table->fill(row, p);
}

bool text_kind_table(const struct page *page, const struct text_kind *kind,
		     const struct text_kind_table *table)
{
	const struct results_file *file = page->file;
	struct table_row *rows = calloc(file->phase_count + 1, sizeof(*rows));
	unsigned n = 1;

	if (!rows)
		return false;
	for (unsigned c = 0; c < table->columns; c++)
		strcpy(rows[0].cell[c], table->headings[c]);
	for (uint32_t i = 0; i < file->phase_count; i++)
		if (kind->is(&file->phases[i]))
			kind_row(&rows[n++], page, &file->phases[i], table);
	if (n > 1) {
		fputc('\n', page->out);
		table_print(page->out, rows, n, table->columns);
		fputs(table->below, page->out);
	}
	free(rows);
	return n > 1;
}
