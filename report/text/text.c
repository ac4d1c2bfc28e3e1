/* SPDX-License-Identifier: Apache-2.0 */
/* Text report as a whole: the order of its parts, its first line and its last line. */
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"
#include "core/utf8.h"
#include "facts/text.h"
#include "report/headline.h"
#include "report/phase_columns.h"
#include "report/say.h"
#include "report/shapes.h"
#include "report/text/page.h"

enum { PATH_BYTES = 4100 };

/* A new kind of phase with sentences or a table of its own needs a line here and a file in this
 * folder. */
static const struct text_kind *const kinds[] = {&text_train, &text_plain_io, &text_streams,
						&text_caches, &text_serving};

static void first_line(struct page *page)
{
	const struct results_file *f = page->file;
	char ranks[UNITS_TEXT_BYTES], nodes[UNITS_TEXT_BYTES], time[UNITS_TEXT_BYTES];
	bool done = results_ended_well(f->status);
	char said[128], times[UNITS_COUNTED_BYTES];

	fprintf(page->out, "%s%s%s · %s rank%s on %s node%s · %s · %s%s%s\n",
		page_paint(page, PAGE_BOLD), f->name, page_paint(page, PAGE_PLAIN),
		units_count(ranks, f->ranks), f->ranks == 1 ? "" : "s",
		units_count(nodes, f->nodes), f->nodes == 1 ? "" : "s",
		units_time(time, f->seconds), page_paint(page, done ? PAGE_GREEN : PAGE_RED),
		f->status, page_paint(page, PAGE_PLAIN));
	if (*f->error)
		text_wrap(page->out, f->error, 0, 0);
	if (f->resumed) {
		snprintf(
			said, sizeof(said),
			"interrupted and resumed %s: %llu of %llu runs are from before the last interruption",
			f->resumed == 1 ? "once" : units_counted(times, f->resumed, "time"),
			(unsigned long long)f->resumed_after, (unsigned long long)f->runs);
		text_wrap(page->out, said, 0, 0);
	}
}

/* The kind of the phase, if it has sentences; NULL: it has none. */
static const struct text_kind *speaking_kind(const struct results_phase_read *p)
{
	for (size_t k = 0; k < COUNT(kinds); k++)
		if (kinds[k]->is(p))
			return kinds[k]->sentences ? kinds[k] : NULL;
	return NULL;
}

/* The sentence with which the page begins. Whether its target is met is in colour. */
static void text_headline(struct page *page, const struct headline *h)
{
	char sentence[HEADLINE_BYTES + 32];
	size_t after = h->word + h->word_bytes;

	snprintf(sentence, sizeof(sentence), "%.*s%s%.*s%s%s", (int)h->word, h->text,
		 h->word_bytes ? page_paint(page, h->good ? PAGE_GREEN : PAGE_RED) : "",
		 (int)h->word_bytes, h->text + h->word,
		 h->word_bytes ? page_paint(page, PAGE_PLAIN) : "", h->text + after);
	text_wrap(page->out, sentence, 0, 0);
}

/* What the headline's figures are worth, each with what to do about it. */
static void text_doubts(struct page *page, const struct headline *h)
{
	char sentence[DOUBT_SENTENCE_BYTES], line[DOUBT_SENTENCE_BYTES + 16];

	for (int i = 0; i < DOUBTS; i++) {
		if (!h->doubts.raised[i])
			continue;
		doubt_sentence(sentence, &h->doubts, (enum doubt)i);
		snprintf(line, sizeof(line), "doubt: %s", sentence);
		text_wrap(page->out, line, 0, 2);
	}
}

/* Doubts about phases that the headline is not about, by their names. That they ran once, or for a
 * short time, is no news. */
static void text_other_doubts(struct page *page, const struct headline *h)
{
	const struct results_file *f = page->file;
	char line[2048] = "doubts about other phases: ", name[PHASE_NAME_BYTES];
	const char *before = "";
	struct doubts d;

	for (uint32_t i = 0; i < f->phase_count; i++) {
		const char *between = " (";

		if (&f->phases[i] == h->phase)
			continue;
		doubts_of(&d, f, &f->phases[i]);
		for (int k = 0; k < DOUBTS; k++) {
			if (!d.raised[k] || !doubt_kinds[k].voids)
				continue;
			if (*between == ' ') {
				phase_name(f, &f->phases[i], name);
				say(line, sizeof(line), "%s%s", before, name);
			}
			say(line, sizeof(line), "%s%s", between, d.why[k]);
			between = "; ";
			before = ", ";
		}
		if (*between == ';')
			say(line, sizeof(line), ")");
	}
	say(line, sizeof(line), ".");
	if (*before)
		text_wrap(page->out, line, 0, 2);
}

static void text_sentences(struct page *page, const struct headline *h)
{
	const struct results_file *f = page->file;
	unsigned speaking = 0;

	for (uint32_t i = 0; i < f->phase_count; i++)
		speaking += speaking_kind(&f->phases[i]) != NULL;
	for (uint32_t i = 0; i < f->phase_count; i++)
		if (speaking_kind(&f->phases[i]))
			speaking_kind(&f->phases[i])
				->sentences(page, &f->phases[i], speaking > 1,
					    &f->phases[i] == h->phase);
	text_targets(page, h->phase);
	text_doubts(page, h);
	text_other_doubts(page, h);
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

/* Of the phases that a published workload has the class of. */
static void text_classes(FILE *out, const struct results_file *f, const struct report_options *o)
{
	struct workload_class classes[CLASSES_MAX];
	uint32_t count = o->classes ? o->classes(classes, f) : 0;
	char said[256], line[512];
	bool any = false;

	for (uint32_t i = 0; i < count; i++) {
		if (!*classes[i].of)
			continue;
		class_say(said, sizeof(said), &classes[i]);
		snprintf(line, sizeof(line), "MLPerf class of %s: %s", classes[i].phase, said);
		fputs(any ? "" : "\n", out);
		text_wrap(out, line, 0, 2);
		any = true;
	}
}

/* Table of all phases, one row each. */
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

char *report_text(const struct results_file *file, const struct report_options *o)
{
	static void (*const details[])(struct page * page) = {
		text_together, text_client_side, text_kinds, text_tables, text_steps, text_slow};
	struct page page = {.color = o->color, .file = file};
	struct headline *h = calloc(1, sizeof(*h));
	char *text = NULL;
	bool whole = h && headline_of(h, file);
	/* Settings are compared in their table; a search among many has more runs than people read.
	 * What an assessment has measured is on its card. */
	bool phases = file->phase_count && file->answer.type <= ANSWER_FIND;
	size_t size;

	page.out = whole ? open_memstream(&text, &size) : NULL;
	if (!page.out) {
		free(h);
		return NULL;
	}
	first_line(&page);
	text_headline(&page, h);
	if (file->runs > 1 || file->answer.type) {
		/* Doubts stand above a table, and below a card. */
		if (file->answer.type != ANSWER_ASSESS)
			text_doubts(&page, h);
		whole = file->answer.type ? text_answer(&page) : text_series(&page);
		if (file->answer.type == ANSWER_ASSESS)
			text_doubts(&page, h);
	} else {
		text_sentences(&page, h);
	}
	free(h);
	if (phases)
		text_phases(&page);
	for (size_t i = 0; phases && !page_is_long(file) && i < COUNT(details); i++)
		page_part(&page, details[i]);
	page_part(&page, text_notes);
	page_part(&page, text_store_notes);
	page_part(&page, text_own_times);
	text_classes(page.out, file, o);
	last_line(&page);
	if (fclose(page.out) == 0 && whole)
		return text;
	free(text);
	return NULL;
}
