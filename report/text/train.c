/* SPDX-License-Identifier: Apache-2.0 */
/* Training as text: its verdict (report/verdict.h), with the word that matters in colour. */
#include "facts/text.h"
#include "report/doubt.h"
#include "report/verdict.h"

#include <math.h>
#include <string.h>

#include "report/say.h"
#include "report/text/page.h"

/* The first line: whether the target is met is in colour. */
static void train_busy(struct page *page, const struct results_phase_read *p, bool named,
		       const struct verdict *v)
{
	char sentence[VERDICT_BYTES + RESULTS_NAME_BYTES + 16 + 3 * DOUBT_BYTES] = "";
	struct doubts doubts;
	const char *word = v->target ? target_word(v->target) : "";
	int before = (int)(strlen(v->line[0]) - strlen(word)) - 1;

	if (named)
		say(sentence, sizeof(sentence), "%s: ", p->record.name);
	say(sentence, sizeof(sentence), "%.*s", before, v->line[0]);
	if (v->target)
		say(sentence, sizeof(sentence), "%s%s%s",
		    page_paint(page, target_state(v->target) == TARGET_MET ? PAGE_GREEN : PAGE_RED),
		    word, page_paint(page, PAGE_PLAIN));
	say(sentence, sizeof(sentence), ".");
	doubts_of(&doubts, page->file, p);
	doubts_but(sentence, sizeof(sentence), &doubts, v->target && !isnan(v->target->found));
	text_wrap(page->out, sentence, 0, 0);
}

static void train_sentences(struct page *page, const struct results_phase_read *p, bool named,
			    bool told)
{
	struct verdict v;

	verdict_of(page->file, p, &v);
	if (v.busy && !told)
		train_busy(page, p, named, &v);
	for (unsigned i = v.busy; i < v.count; i++)
		text_wrap(page->out, v.line[i], 0, 0);
}

const struct text_kind text_train = {.is = verdict_is, .sentences = train_sentences};
