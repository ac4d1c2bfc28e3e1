/* SPDX-License-Identifier: Apache-2.0 */
/* Table of all phases, one row each. */
#include <stdlib.h>

#include "facts/text.h"
#include "report/phase_columns.h"
#include "report/text/page.h"

void text_phases(struct page *page)
{
	const struct results_file *f = page->file;
	struct report_table table = {
		.columns = phase_columns, .stride = sizeof(struct phase_row), .about = f};
	struct phase_row *rows;

	if (page_is_long(f)) {
		fprintf(page->out,
			"\nhaul report --csv %s has one row for each of the %u phases.\n", f->path,
			f->phase_count);
		return;
	}
	table.rows = rows = phase_rows_of(f, NULL, &table.count);
	fputc('\n', page->out);
	text_table(page->out, &table);
	free(rows);
}
