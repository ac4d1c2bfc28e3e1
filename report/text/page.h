/* SPDX-License-Identifier: Apache-2.0 */
/* Text report, for people: whether the accelerators starved, by how much, and why; then the
 * figures. A page is written from top to bottom. Each part has a file of its own in this folder,
 * and each kind of phase with sentences or a table of its own (train.c, plain_io.c, streams.c,
 * caches.c, serving.c); text.c calls them in their order, and they call nothing of each other. */
#ifndef HAUL_REPORT_TEXT_PAGE_H
#define HAUL_REPORT_TEXT_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "facts/table.h"
#include "report/phase.h"
#include "results-schema/results_read.h"

struct page {
	FILE *out;
	bool color;
	bool begun; /* the part has a line */
	const struct results_file *file;
};

/* Prints a part. */
void page_part(struct page *page, void (*part)(struct page *page));

/* A line of a part, broken between words. An empty line comes before the first one of the part:
 * page_begin makes that line, and is for what is printed in another way. */
void page_begin(struct page *page);
void page_wrap(struct page *page, const char *text);

/* A kind of phase. What it does not have is NULL. */
struct text_kind {
	bool (*is)(const struct results_phase_read *p);
	/* Prints sentences at the top of the page. named: several phases of the page have
	 * sentences. told: what was found, and the targets, are in the headline. */
	void (*sentences)(struct page *page, const struct results_phase_read *p, bool named,
			  bool told);
	/* The columns of a table with a struct phase_row per phase of the kind, below the table of
	 * all phases, and what explains them, which ends with a newline. */
	const struct column *columns;
	const char *below;
	/* Prints what follows the table; not called where there is no phase of the kind. */
	void (*after)(struct page *page);
};
/* Prints the table of a kind, and what follows it; nothing where it has none, or the page has no
 * phase of the kind. */
void page_kind(struct page *page, const struct text_kind *kind);

/* Whether there are more phases than a page should list one by one. */
bool page_is_long(const struct results_file *f);

/* Terminal colours, or empty texts. */
#define PAGE_BOLD  "\033[1m"
#define PAGE_GREEN "\033[32m"
#define PAGE_RED   "\033[31m"
#define PAGE_PLAIN "\033[0m"
const char *page_paint(const struct page *page, const char *code);

/* Parts of a page (page.h) and kinds of phases with a part of their own. Each is in the file of its
 * name. */

/* Return false where there is no memory. */
bool text_series(struct page *page);
bool text_answer(struct page *page); /* to the run's question */
void text_phases(struct page *page); /* the table of all phases */
void text_client_side(struct page *page);
void text_tables(struct page *page); /* tables that only the file describes */
void text_notes(struct page *page);  /* messages of phases */
void text_store_notes(struct page *page);
void text_own_times(struct page *page); /* what the run has spent on itself, where it is much */

/* Sentences: about targets, except AU's and those of the phase that the headline has told; what
 * phases cost each other; steps that stand out; ranks and nodes that were slow. */
void text_targets(struct page *page, const struct results_phase_read *told);
void text_together(struct page *page);
void text_steps(struct page *page);
void text_slow(struct page *page);

/* Kinds of phases. */
extern const struct text_kind text_train, text_plain_io, text_streams, text_caches, text_serving;
void text_cut(struct page *page, const struct results_phase_read *p); /* of recorded requests */

#endif
