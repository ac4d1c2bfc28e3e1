/* Text report as a whole: the order of its parts, its first line and its last line. */
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"
#include "core/utf8.h"
#include "report/shapes.h"
#include "report/text/parts.h"
#include "report/text/table.h"

enum { PATH_BYTES = 4100 };

/* A new kind of phase with sentences or a table of its own needs a line here and a file in this
 * folder. */
static const struct text_kind *const kinds[] = {&text_train, &text_plain_io, &text_streams,
						&text_caches};

static void first_line(struct page *page)
{
	const struct results_file *f = page->file;
	char ranks[UNITS_TEXT_BYTES], nodes[UNITS_TEXT_BYTES], time[UNITS_TEXT_BYTES];
	bool done = strcmp(f->status, "done") == 0;

	fprintf(page->out, "%s%s%s · %s rank%s on %s node%s · %s · %s%s%s\n",
		page_paint(page, PAGE_BOLD), f->name, page_paint(page, PAGE_PLAIN),
		units_count(ranks, f->ranks), f->ranks == 1 ? "" : "s",
		units_count(nodes, f->nodes), f->nodes == 1 ? "" : "s",
		units_time(time, f->seconds), page_paint(page, done ? PAGE_GREEN : PAGE_RED),
		f->status, page_paint(page, PAGE_PLAIN));
	if (*f->error)
		text_wrap(page->out, f->error, 0, 0);
}

/* The kind of the phase, if it has sentences; NULL: it has none. */
static const struct text_kind *speaking_kind(const struct results_phase_read *p)
{
	for (size_t k = 0; k < COUNT(kinds); k++)
		if (kinds[k]->is(p))
			return kinds[k]->sentences ? kinds[k] : NULL;
	return NULL;
}

static void text_sentences(struct page *page)
{
	const struct results_file *f = page->file;
	unsigned speaking = 0;

	for (uint32_t i = 0; i < f->phase_count; i++)
		speaking += speaking_kind(&f->phases[i]) != NULL;
	for (uint32_t i = 0; i < f->phase_count; i++)
		if (speaking_kind(&f->phases[i]))
			speaking_kind(&f->phases[i])->sentences(page, &f->phases[i], speaking > 1);
	text_targets(page);
}

static void text_kinds(struct page *page)
{
	for (size_t k = 0; k < COUNT(kinds); k++)
		page_kind(page, kinds[k]);
}

static void last_line(struct page *page)
{
	const struct results_file *f = page->file;
	char size[UNITS_TEXT_BYTES], head[PATH_BYTES + 100], look[2 * PATH_BYTES + 100];
	const char *gap = "   ";

	snprintf(head, sizeof(head), "%.*s (%s)", PATH_BYTES, f->path,
		 units_bytes_binary(size, (double)f->file_bytes));
	snprintf(look, sizeof(look), "look: haul report %.*s   h5dump -d /summary %.*s", PATH_BYTES,
		 f->path, PATH_BYTES, f->path);
	if (utf8_columns(head, UTF8_WHOLE) + 3 + utf8_columns(look, UTF8_WHOLE) > REPORT_COLUMNS)
		gap = "\n";
	fprintf(page->out, "\n%s%s%s\n", head, gap, look);
}

char *report_text(const struct results_file *file, const struct report_options *o)
{
	static void (*const details[])(struct page * page) = {
		text_together, text_client_side, text_kinds, text_tables, text_steps, text_slow};
	struct page page = {.color = o->color, .file = file};
	char *text = NULL;
	bool whole = true;
	size_t size;

	page.out = open_memstream(&text, &size);
	if (!page.out)
		return NULL;
	first_line(&page);
	if (file->runs > 1)
		whole = text_series(&page);
	else
		text_sentences(&page);
	if (file->phase_count)
		text_phases(&page);
	for (size_t i = 0; file->phase_count && !page_is_long(file) && i < COUNT(details); i++)
		page_part(&page, details[i]);
	page_part(&page, text_notes);
	page_part(&page, text_store_notes);
	last_line(&page);
	if (fclose(page.out) == 0 && whole)
		return text;
	free(text);
	return NULL;
}
