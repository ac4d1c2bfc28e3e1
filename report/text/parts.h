/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a page (page.h) and kinds of phases with a part of their own. Each is in the file of its
 * name. */
#ifndef HAUL_REPORT_TEXT_PARTS_H
#define HAUL_REPORT_TEXT_PARTS_H

#include "report/text/page.h"

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
extern const struct text_kind text_train, text_plain_io, text_streams, text_caches;

#endif
