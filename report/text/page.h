/* Text report, for people: whether the accelerators starved, by how much, and why; then the
 * figures. A page is written from top to bottom. Each part has a file of its own in this folder.
 *
 * Sentences and tables of a kind of phase are in one file per kind (train.c, plain_io.c, streams.c, caches.c), listed in
 * kinds.c, which has what they share. */
#ifndef HAUL_REPORT_TEXT_PAGE_H
#define HAUL_REPORT_TEXT_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/phase.h"
#include "results-schema/results_read.h"

struct page {
	FILE *out;
	bool color;
	const struct results_file *file;
};

/* A kind of phase. Hooks may be NULL. */
struct text_kind {
	bool (*is)(const struct results_phase_read *p);
	/* Prints sentences at the top of the page. named: several phases of the page have
	 * sentences. */
	void (*sentences)(const struct page *page, const struct results_phase_read *p, bool named);
	/* Prints a table of all phases of the kind, below the table of all phases. */
	void (*table)(const struct page *page);
};
extern const struct text_kind *const text_kinds[]; /* NULL-terminated */

/* Table of the phases of a kind: below the headings a row per phase, with the phase's name in the first column. */
struct table_row;
struct text_kind_table {
	const char *const *headings;
	unsigned columns;
	/* Fills the cells of a row after the first, which hold TABLE_NOTHING. */
	void (*fill)(struct table_row *row, const struct results_phase_read *p);
	const char *below; /* explains the columns; ends with a newline */
};
/* Prints nothing and returns false where the page has no phase of the kind, or no memory. */
bool text_kind_table(const struct page *page, const struct text_kind *kind,
		     const struct text_kind_table *table);

extern const struct text_kind text_train, text_plain_io, text_streams, text_caches;

/* Parts of the page. */
void text_phases(const struct page *page); /* the table of all phases */
void text_targets(const struct page *page);
void text_together(const struct page *page); /* what phases cost each other */
void text_client_side(const struct page *page);
void text_tables(const struct page *page); /* tables that only the file describes */
void text_steps(const struct page *page);
void text_slow(const struct page *page);   /* ranks and nodes that were slow */
void text_notes(const struct page *page);  /* messages of phases and stores */
bool text_series(const struct page *page); /* Returns false where there is no memory. */

/* Whether there are more phases than a page should list one by one. */
bool text_is_long(const struct results_file *f);

/* Terminal colours, or empty texts. */
#define TEXT_BOLD  "\033[1m"
#define TEXT_GREEN "\033[32m"
#define TEXT_RED   "\033[31m"
#define TEXT_PLAIN "\033[0m"
const char *page_paint(const struct page *page, const char *code);

/* Appends to the text in a buffer. */
void page_add(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
