/* Outcome of an acceptance as text: a line for each criterion, and what follows from all. */
#include <stdio.h>
#include <stdlib.h>

#include "report/accept.h"
#include "report/shapes.h"
#include "report/text/table.h"

static void accept_text_line(FILE *out, const struct accept *a, const struct accept_verdict *v)
{
	char line[ACCEPT_SENTENCE_BYTES + RECORD_SWEEP_BYTES + 1200],
		where[RECORD_SWEEP_BYTES + 1100] = "";
	const char *sweep = v->line ? v->line->first->record.sweep : "";

	if (v->file && a->file_count > 1)
		snprintf(where, sizeof(where), " (%.1000s%s%s)", v->file->path, *sweep ? ", " : "",
			 sweep);
	else if (*sweep)
		snprintf(where, sizeof(where), " (%s)", sweep);
	snprintf(line, sizeof(line), "%s: %s%s: %s", accept_states[v->state], v->rule->phase, where,
		 v->sentence);
	text_wrap(out, line, 0, 2);
}

char *report_accept_text(const struct accept *a)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < a->count; i++)
		accept_text_line(out, a, &a->verdicts[i]);
	fprintf(out, "\n%s: %u met, %u missed, %u unanswered.\n",
		accept_is(a) ? "Accepted" : "Not accepted", a->states[ACCEPT_MET],
		a->states[ACCEPT_MISSED], a->states[ACCEPT_UNANSWERED]);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
