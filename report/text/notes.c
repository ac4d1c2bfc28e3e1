/* SPDX-License-Identifier: Apache-2.0 */
/* Notes below the tables: how a phase ended, sentences of its workload, the first failures, and
 * where a store was not used as the job asks. */
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"
#include "core/utf8.h"
#include "facts/text.h"
#include "report/say.h"
#include "report/text/page.h"

enum { FAILURES_SHOWN = 3 };

static void failure_line(struct page *page, const struct failure *x)
{
	char line[1024];
	bool known = x->node < page->file->nodes;

	snprintf(line, sizeof(line), "rank %u%s%s: %s: %s (%s, %u attempt%s)", x->rank,
		 known ? " on " : "", known ? page->file->hosts[x->node] : "", x->object, x->text,
		 x->operation, x->attempts, x->attempts == 1 ? "" : "s");
	text_wrap(page->out, line, 2, 6);
}

/* "train: failed; why; what the workload says". The file's own error is printed at the top and not
 * repeated. */
static bool note_line(struct page *page, const struct results_phase_read *p, char *line,
		      size_t size)
{
	const struct phase_record *r = &p->record;
	/* A search among settings, and an assessment, are made of runs that end so. */
	bool tuned = page->file->answer.type > ANSWER_FIND;
	const char *status =
		strcmp(r->status, "done") == 0 || page->file->simulated ? ""
		: strcmp(r->status, "limit") == 0   ? (tuned ? "" : "ended at its limit of time")
		: strcmp(r->status, "ended") == 0   ? "ended with a phase beside it"
		: strcmp(r->status, "running") == 0 ? "was still running when it was last published"
						    : r->status;
	/* Later runs of a series have the same messages as the first. */
	const char *parts[] = {status, strcmp(r->error, page->file->error) == 0 ? "" : r->error,
			       r->run > 1 ? "" : r->message};
	const char *before = ": ";
	char name[PHASE_NAME_BYTES];
	bool any = false;

	phase_name(page->file, p, name);
	snprintf(line, size, "%s", name);
	for (size_t i = 0; i < COUNT(parts); i++) {
		if (!*parts[i])
			continue;
		say(line, size, "%s%s", before, parts[i]);
		before = "; ";
		any = true;
	}
	return any;
}

/* Prints the note on one line, or, where that is too long, on a line per clause. */
static void print_note(struct page *page, char *line)
{
	unsigned indent = 0;
	char *end;

	for (;
	     indent + utf8_columns(line, UTF8_WHOLE) > REPORT_COLUMNS && (end = strstr(line, "; "));
	     line = end + 2) {
		*end = '\0';
		text_wrap(page->out, line, indent, 2);
		indent = 2;
	}
	text_wrap(page->out, line, indent, 2);
}

static void notes_failures(struct page *page, const struct results_phase_read *p)
{
	char count[UNITS_TEXT_BYTES], name[PHASE_NAME_BYTES];

	phase_name(page->file, p, name);
	fprintf(page->out, "%s: %s request%s failed; the first:\n", name,
		units_count(count, p->failure_count), p->failure_count == 1 ? "" : "s");
	p = results_whole(p);
	for (uint32_t k = 0; k < p->failure_rows && k < FAILURES_SHOWN; k++)
		failure_line(page, &p->failures[k]);
}

void text_notes(struct page *page)
{
	char line[2048];

	for (uint32_t i = 0; i < page->file->phase_count; i++) {
		const struct results_phase_read *p = &page->file->phases[i];

		if (note_line(page, p, line, sizeof(line))) {
			page_begin(page);
			print_note(page, line);
		}
		if (!p->failure_count)
			continue;
		page_begin(page);
		notes_failures(page, p);
	}
}

void text_store_notes(struct page *page)
{
	const struct results_file *f = page->file;
	char line[sizeof(struct store_facts)], on[64];

	for (uint64_t i = 0; i < f->store_count; i++) {
		const struct store_facts *s = &f->stores[i];

		if (!*s->note)
			continue;
		on[0] = '\0';
		if (s->nodes < f->nodes)
			snprintf(on, sizeof(on), " on %llu of %llu nodes",
				 (unsigned long long)s->nodes, (unsigned long long)f->nodes);
		snprintf(line, sizeof(line), "store %s%s: %s", s->name, on, s->note);
		page_wrap(page, line);
	}
}
