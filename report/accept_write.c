/* Outcome of an acceptance as a document: a line for each criterion, and what follows from all. */
#include <math.h>
#include <stdio.h>

#include "report/accept.h"

struct accept_row {
	const char *phase, *criterion, *state, *file, *sweep, *sentence;
	uint32_t repeats;
	double value, bound, low, high;
};

static const struct column accept_columns[] = {
	FIELD(TEXT, struct accept_row, phase),
	FIELD(TEXT, struct accept_row, criterion),
	FIELD(TEXT, struct accept_row, state),
	FIELD(TEXT, struct accept_row, file),
	FIELD(TEXT, struct accept_row, sweep),
	FIELD(U32, struct accept_row, repeats),
	FIELD(REAL, struct accept_row, value),
	FIELD(REAL, struct accept_row, bound),
	COLUMN(REAL, struct accept_row, low, "ci95_low", NULL),
	COLUMN(REAL, struct accept_row, high, "ci95_high", NULL),
	FIELD(TEXT, struct accept_row, sentence),
	COLUMNS_END};

static void accept_write_verdict(struct document *d, const struct accept *a,
				 const struct accept_verdict *v)
{
	const struct accept_row row = {
		.phase = v->rule->phase,
		.criterion = accept_kinds[v->criterion].key,
		.state = accept_states[v->state],
		.file = v->file ? v->file->path : NULL,
		.sweep = v->line ? v->line->first->record.sweep : "",
		.sentence = v->sentence,
		.repeats = v->line ? v->line->repeats : 0,
		.value = v->value,
		.bound = v->bound,
		.low = v->line ? v->stats.low : NAN,
		.high = v->line ? v->stats.high : NAN,
	};
	char line[ACCEPT_SENTENCE_BYTES + RECORD_SWEEP_BYTES + 1200],
		where[RECORD_SWEEP_BYTES + 1100] = "";

	if (v->file && a->file_count > 1)
		snprintf(where, sizeof(where), " (%.1000s%s%s)", row.file, *row.sweep ? ", " : "",
			 row.sweep);
	else if (*row.sweep)
		snprintf(where, sizeof(where), " (%s)", row.sweep);
	snprintf(line, sizeof(line), "%s: %s%s: %s", row.state, row.phase, where, row.sentence);
	document_open_row(d, accept_columns, &row);
	document_wrap(d, 2, line);
	document_close(d);
}

bool accept_write(struct document *d, const void *about)
{
	const struct accept *a = about;
	const struct accept_total {
		bool accepted;
		uint32_t met, missed, unanswered;
	} total = {accept_is(a), a->states[ACCEPT_MET], a->states[ACCEPT_MISSED],
		   a->states[ACCEPT_UNANSWERED]};
	static const struct column total_columns[] = {
		FIELD(FLAG, struct accept_total, accepted), FIELD(U32, struct accept_total, met),
		FIELD(U32, struct accept_total, missed),
		FIELD(U32, struct accept_total, unanswered), COLUMNS_END};

	document_fields(d, total_columns, &total);
	document_open_list(d, "criteria");
	for (uint32_t i = 0; i < a->count; i++)
		accept_write_verdict(d, a, &a->verdicts[i]);
	document_close(d);
	document_say(d, "\n%s: %u met, %u missed, %u unanswered.\n",
		     total.accepted ? "Accepted" : "Not accepted", total.met, total.missed,
		     total.unanswered);
	return true;
}
