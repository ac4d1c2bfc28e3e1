/* Text report as a whole: the order of its parts, its first line and its last line. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "core/utf8.h"
#include "report/shapes.h"
#include "report/text/page.h"
#include "report/text/table.h"

enum { PHASES_SHOWN = 40, PATH_BYTES = 4100 };

static void first_line(const struct page *page);
static void text_sentences(const struct page *page);
static void own_tables(const struct page *page);
static void last_line(const struct page *page);

char *report_text(const struct results_file *file, const struct report_options *o)
{
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
	if (file->phase_count && !text_is_long(file)) {
		text_together(&page);
		text_client_side(&page);
		own_tables(&page);
		text_tables(&page);
		text_steps(&page);
		text_slow(&page);
	}
	text_notes(&page);
	last_line(&page);
	if (fclose(page.out) == 0 && whole)
		return text;
	free(text);
	return NULL;
}

bool text_is_long(const struct results_file *f)
{
	return f->runs > 1 && f->phase_count > PHASES_SHOWN;
}

const char *page_paint(const struct page *page, const char *code)
{
	return page->color ? code : "";
}

void page_add(char *buf, size_t size, const char *format, ...)
{
	size_t n = strlen(buf);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(buf + n, size - n, format, arguments);
	va_end(arguments);
}

static void first_line(const struct page *page)
{
	const struct results_file *f = page->file;
	char ranks[UNITS_TEXT_BYTES], nodes[UNITS_TEXT_BYTES], time[UNITS_TEXT_BYTES];
	bool done = strcmp(f->status, "done") == 0;

	fprintf(page->out, "%s%s%s · %s rank%s on %s node%s · %s · %s%s%s\n",
		page_paint(page, TEXT_BOLD), f->name, page_paint(page, TEXT_PLAIN),
		units_count(ranks, f->ranks), f->ranks == 1 ? "" : "s",
		units_count(nodes, f->nodes), f->nodes == 1 ? "" : "s",
		units_time(time, f->seconds), page_paint(page, done ? TEXT_GREEN : TEXT_RED),
		f->status, page_paint(page, TEXT_PLAIN));
	if (*f->error)
		text_wrap(page->out, f->error, 0, 0);
}

static const struct text_kind *kind_of(const struct results_phase_read *p)
{
	for (unsigned k = 0; text_kinds[k]; k++)
		if (text_kinds[k]->is(p))
			return text_kinds[k];
	return NULL;
}

static bool has_sentences(const struct results_phase_read *p)
{
	const struct text_kind *kind = kind_of(p);

	return kind && kind->sentences;
}

static void text_sentences(const struct page *page)
{
	const struct results_file *f = page->file;
	unsigned speaking = 0;

	for (uint32_t i = 0; i < f->phase_count; i++)
		speaking += has_sentences(&f->phases[i]);
	for (uint32_t i = 0; i < f->phase_count; i++)
		if (has_sentences(&f->phases[i]))
			kind_of(&f->phases[i])->sentences(page, &f->phases[i], speaking > 1);
	text_targets(page);
}

static void own_tables(const struct page *page)
{
	for (unsigned k = 0; text_kinds[k]; k++)
		if (text_kinds[k]->table)
			text_kinds[k]->table(page);
}

static void last_line(const struct page *page)
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
