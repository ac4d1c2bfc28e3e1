/* SPDX-License-Identifier: Apache-2.0 */
/* Acceptance: see accept.h. */
#include "report/accept.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/target.h"
#include "report/doubt.h"
#include "report/say.h"

const struct accept_kind accept_kinds[ACCEPT_CRITERIA] = {
#define ACCEPT_KIND(id, key, type, least, label, unit, help) \
	[ACCEPT_##id] = {key, \
			 label, \
			 unit, \
			 least, \
			 ACCEPT_COLUMN_##type, \
			 offsetof(struct accept_rule, bound_##id)},
	ACCEPT_LIST(ACCEPT_KIND)
#undef ACCEPT_KIND
};
const char *const accept_states[ACCEPT_STATES] = {
	[ACCEPT_MET] = "met", [ACCEPT_MISSED] = "missed", [ACCEPT_UNANSWERED] = "unanswered"};

enum { VALUE_DIGITS = 4, JUDGE_INTERVAL = 1 };

/* Of these the worst repeat counts, not the mean. */
static bool accept_by_worst(enum accept_criterion criterion)
{
	return criterion == ACCEPT_ERRORS || criterion == ACCEPT_CACHED ||
	       criterion == ACCEPT_CLIENT || criterion == ACCEPT_DOUBT;
}

#define SAY(v, ...) say((v)->sentence, sizeof((v)->sentence), __VA_ARGS__)

static void accept_say_value(struct accept_verdict *v, double value)
{
	char text[TARGET_TEXT_BYTES];

	SAY(v, "%s", target_value(text, accept_kinds[v->criterion].unit, value, VALUE_DIGITS));
}

/* Runs of the same phase that did not finish. Their errors are not in the line. */
static uint32_t accept_unfinished(const struct accept_verdict *v)
{
	const struct phase_record *r = &v->line->first->record;
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->file->phase_count; i++) {
		const struct results_phase_read *p = &v->file->phases[i];

		n += !p->record.warmup && !series_counts(p) &&
		     p->record.combination == r->combination &&
		     strcmp(p->record.name, r->name) == 0 && strcmp(p->record.kind, r->kind) == 0;
	}
	return n;
}

/* Why a file cannot answer. */
static const char *accept_why(const struct accept_verdict *v)
{
	switch (v->criterion) {
	case ACCEPT_P99:
		return "the phase has no such latencies";
	case ACCEPT_NODES:
		return "there are no rates of several nodes";
	case ACCEPT_CV:
		return "that takes several repeats with a rate";
	case ACCEPT_CACHED:
		return "what the page cache held is not known";
	case ACCEPT_CLIENT:
		return "what the nodes did is not known, or the phase was too short to tell";
	case ACCEPT_CHECKPOINT:
		return "no checkpoint was written";
	case ACCEPT_RESTORE:
		return "no checkpoint was read";
	default:
		return "the phase has no such figure";
	}
}

static void accept_unanswered(struct accept_verdict *v, const char *why)
{
	v->state = ACCEPT_UNANSWERED;
	v->value = NAN;
	SAY(v, "%s: %s", accept_kinds[v->criterion].label, why);
}

static void accept_say_basis(struct accept_verdict *v, bool interval)
{
	const struct stats *s = &v->stats;

	if (accept_by_worst(v->criterion))
		SAY(v, s->n > 1 ? " (the worst of %u repeats)" : " (one run)", s->n);
	else if (v->criterion == ACCEPT_CV)
		SAY(v, " (%u repeats)", s->n);
	else if (s->n > 1) {
		SAY(v, " (");
		accept_say_value(v, s->low);
		SAY(v, " to ");
		accept_say_value(v, s->high);
		SAY(v, " in %u repeats%s)", s->n, interval ? "; the nearer end is judged" : "");
	} else {
		SAY(v, " (one run, so without an interval)");
	}
}

/* What makes the figures void. */
static void accept_say_doubts(struct accept_verdict *v)
{
	const char *before = "doubts: ";
	struct doubts d;

	doubts_of_line(&d, v->file, v->line);
	for (int i = 0; i < DOUBTS; i++) {
		if (!d.raised[i] || !doubt_kinds[i].voids)
			continue;
		SAY(v, "%s%s", before, d.why[i]);
		before = "; ";
	}
	if (*before == 'd')
		SAY(v, "nothing makes the figures void");
}

static void accept_compare(struct accept_verdict *v, bool interval)
{
	const struct accept_kind *kind = &accept_kinds[v->criterion];
	double judged = v->value;

	if (v->criterion == ACCEPT_CLIENT) {
		v->state = v->value > 0 ? ACCEPT_MISSED : ACCEPT_MET;
		SAY(v, "the client was %sthe limit", v->value > 0 ? "" : "not ");
		accept_say_basis(v, interval);
		return;
	}
	if (v->criterion == ACCEPT_DOUBT) {
		v->state = v->value > 0 ? ACCEPT_MISSED : ACCEPT_MET;
		accept_say_doubts(v);
		accept_say_basis(v, interval);
		return;
	}
	if (interval && v->stats.n > 1 && !accept_by_worst(v->criterion) &&
	    v->criterion != ACCEPT_CV)
		judged = kind->least ? v->stats.low : v->stats.high;
	v->state = (kind->least ? judged >= v->bound : judged <= v->bound) ? ACCEPT_MET
									   : ACCEPT_MISSED;
	SAY(v, "%s ", kind->label);
	accept_say_value(v, v->value);
	SAY(v, ", at %s ", kind->least ? "least" : "most");
	accept_say_value(v, v->bound);
	accept_say_basis(v, interval);
}

static void accept_judge(struct accept_verdict *v, const double *values, bool interval)
{
	v->stats = stats_possible(stats_of(values, v->line->repeats),
				  v->criterion == ACCEPT_AU ? 1 : INFINITY);
	if (v->criterion == ACCEPT_ERRORS && accept_unfinished(v)) {
		v->state = ACCEPT_MISSED;
		v->value = NAN;
		SAY(v, "errors: %u of its runs did not finish", accept_unfinished(v));
		return;
	}
	v->value = accept_by_worst(v->criterion) ? v->stats.max
		   : v->criterion == ACCEPT_CV   ? v->stats.cv
						 : v->stats.mean;
	if (v->stats.n < v->line->repeats || !isfinite(v->value))
		accept_unanswered(v, accept_why(v));
	else
		accept_compare(v, interval);
}

static bool accept_line(struct accept_verdict *v, bool interval)
{
	double *values = calloc(v->line->repeats, sizeof(*values));

	for (uint32_t i = 0; values && i < v->line->repeats; i++)
		values[i] = accept_value(v->file, v->line->phases[i], v->rule, v->criterion);
	if (values)
		accept_judge(v, values, interval);
	free(values);
	return values != NULL;
}

static struct accept_verdict *accept_add(struct accept *a, const struct accept_verdict *v)
{
	struct accept_verdict *more = realloc(a->verdicts, (a->count + 1) * sizeof(*a->verdicts));

	if (!more)
		return NULL;
	a->verdicts = more;
	more[a->count] = *v;
	return &more[a->count++];
}

static bool accept_is_phase(const struct accept_rule *rule, const struct series_line *line)
{
	return strcmp(line->first->record.name, rule->phase) == 0 ||
	       strcmp(line->first->record.kind, rule->phase) == 0;
}

static bool accept_criterion_of(struct accept *a, const struct accept_verdict *empty,
				const struct results_file *const *files, bool interval)
{
	struct accept_verdict *v;
	bool any = false;

	for (unsigned f = 0; f < a->file_count; f++)
		for (uint32_t i = 0; i < a->lines[f].count; i++) {
			if (!accept_is_phase(empty->rule, &a->lines[f].lines[i]))
				continue;
			v = accept_add(a, empty);
			if (!v)
				return false;
			any = true;
			v->file = files[f];
			v->line = &a->lines[f].lines[i];
			if (!accept_line(v, interval))
				return false;
		}
	if (any)
		return true;
	v = accept_add(a, empty);
	if (v)
		accept_unanswered(v, "no file has finished the phase");
	return v != NULL;
}

bool accept_make(struct accept *a, const struct accept_rules *rules,
		 const struct results_file *const *files, unsigned count)
{
	bool whole;

	*a = (struct accept){.lines = calloc(count + 1, sizeof(*a->lines))};
	whole = a->lines != NULL;
	for (unsigned i = 0; whole && i < count; i++)
		whole = series_make(&a->lines[a->file_count++], files[i]);
	for (uint32_t i = 0; i < rules->count; i++)
		for (int c = 0; whole && c < ACCEPT_CRITERIA; c++) {
			struct accept_verdict v = {.rule = &rules->rules[i],
						   .criterion = (enum accept_criterion)c,
						   .value = NAN};

			if (accept_bound(v.rule, v.criterion, &v.bound))
				whole = accept_criterion_of(a, &v, files,
							    rules->judge == JUDGE_INTERVAL);
		}
	for (uint32_t i = 0; i < a->count; i++)
		a->states[a->verdicts[i].state]++;
	return whole;
}

bool accept_is(const struct accept *a)
{
	return a->count > 0 && a->states[ACCEPT_MET] == a->count;
}

void accept_free(struct accept *a)
{
	for (unsigned i = 0; i < a->file_count; i++)
		series_free_lines(&a->lines[i]);
	free(a->lines);
	free(a->verdicts);
}

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

/* Doubts about each phase that was judged, once. */
static void accept_write_doubts(struct document *d, const struct accept *a)
{
	struct doubts doubts;

	document_open_list(d, "doubts");
	for (uint32_t i = 0; i < a->count; i++) {
		const struct accept_verdict *v = &a->verdicts[i];
		bool told = !v->line;

		for (uint32_t k = 0; k < i; k++)
			told |= a->verdicts[k].line == v->line;
		if (told)
			continue;
		doubts_of_line(&doubts, v->file, v->line);
		doubts_write(d, &doubts, a->file_count > 1 ? v->file->path : "",
			     v->line->first->record.name);
	}
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
	accept_write_doubts(d, a);
	document_say(d, "\n%s: %u met, %u missed, %u unanswered.\n",
		     total.accepted ? "Accepted" : "Not accepted", total.met, total.missed,
		     total.unanswered);
	return true;
}
