/* SPDX-License-Identifier: Apache-2.0 */
/* What all parts of a page use: see page.h. */
#include "report/text/page.h"
#include "facts/text.h"

#include <stdlib.h>

#include "report/shapes.h"

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
	const struct results_file *f = page->file;
	struct phase_row *rows = calloc(f->phase_count + 1, sizeof(*rows));
	struct report_table table = {.columns = kind->columns, TABLE_ROWS(rows, 0)};

	for (uint32_t i = 0; rows && kind->columns && i < f->phase_count; i++)
		if (kind->is(&f->phases[i]))
			rows[table.count++] = phase_row_of(f, &f->phases[i]);
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
