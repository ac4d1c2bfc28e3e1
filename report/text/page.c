/* SPDX-License-Identifier: Apache-2.0 */
/* What all parts of a page use: see page.h. */
#include "report/text/page.h"
#include "facts/text.h"

#include <stdlib.h>

enum { PHASES_SHOWN = 40 };

void page_part(struct page *page, void (*part)(struct page *page))
{
	page->begun = false;
	part(page);
}

void page_begin(struct page *page)
{
	if (!page->begun)
		fputc('\n', page->out);
	page->begun = true;
}

void page_wrap(struct page *page, const char *text)
{
	page_begin(page);
	text_wrap(page->out, text, 0, 2);
}

void page_kind(struct page *page, const struct text_kind *kind)
{
	struct report_table table = {.columns = kind->columns, .stride = sizeof(struct phase_row)};
	struct phase_row *rows =
		kind->columns ? phase_rows_of(page->file, kind->is, &table.count) : NULL;

	table.rows = rows;
	if (table.count) {
		fputc('\n', page->out);
		text_table(page->out, &table);
		fputs(kind->below, page->out);
		kind->after(page);
	}
	free(rows);
}

bool page_is_long(const struct results_file *f)
{
	return f->runs > 1 && f->phase_count > PHASES_SHOWN;
}

const char *page_paint(const struct page *page, const char *code)
{
	return page->color ? code : "";
}
