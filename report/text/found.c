/* SPDX-License-Identifier: Apache-2.0 */
/* The curve of a search as text: a line per value, from the least to the greatest. */
#include <stdlib.h>

#include "facts/text.h"
#include "report/found.h"
#include "report/text/parts.h"

bool text_found(struct page *page)
{
	const struct results_file *f = page->file;
	struct found_row *rows = found_rows(f);
	const struct report_table curve = {
		.key = "steps", .columns = found_curve_columns, TABLE_ROWS(rows, f->found_count)};

	if (!rows)
		return false;
	fprintf(page->out, "\n%s by %s, %llu run%s\n", f->found->label, f->found->path,
		(unsigned long long)f->runs, f->runs == 1 ? "" : "s");
	text_table(page->out, &curve);
	free(rows);
	return true;
}
