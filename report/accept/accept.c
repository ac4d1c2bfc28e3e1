/* SPDX-License-Identifier: Apache-2.0 */
/* Acceptance: see accept.h. */
#include "report/accept/accept.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_path.h"
#include "core/target.h"
#include "report/doubt.h"
#include "report/json/json.h"
#include "report/phase.h"
#include "report/say.h"

enum { VALUE_DIGITS = 4, JUDGE_INTERVAL = 1 };

#define SAY(v, ...) say((v)->sentence, sizeof((v)->sentence), __VA_ARGS__)

static void accept_say_value(struct accept_verdict *v, double value)
{
	char text[TARGET_TEXT_BYTES];

	SAY(v, "%s", target_value(text, v->kind->unit, value, VALUE_DIGITS));
}

static void accept_unknown(struct accept_verdict *v, const char *why, const char *settles)
{
	v->state = CLAIM_UNKNOWN;
	v->value = NAN;
	SAY(v, "%s: %s; %s", v->kind->label, why, settles);
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

static void accept_say_basis(struct accept_verdict *v, bool interval)
{
	const struct stats *s = &v->stats;
	enum accept_over over = v->kind->over;

	if (over == ACCEPT_WORST)
		SAY(v, s->n > 1 ? " (the worst of %u repeats)" : " (one run)", s->n);
	else if (over == ACCEPT_VARIATION)
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
static void accept_say_doubts(struct accept_verdict *v, const struct doubts *d)
{
	const char *before = "doubts: ";

	for (int i = 0; i < DOUBTS; i++) {
		if (!d->raised[i] || !doubt_kinds[i].voids)
			continue;
		SAY(v, "%s%s", before, d->why[i]);
		before = "; ";
	}
	if (*before == 'd')
		SAY(v, "nothing makes the figures void");
}

static void accept_say(struct accept_verdict *v, const struct doubts *d, bool interval)
{
	if (v->kind->value == accept_client) {
		SAY(v, "the client was %sthe limit", v->value > 0 ? "" : "not ");
	} else if (v->kind->value == accept_doubts) {
		accept_say_doubts(v, d);
	} else {
		SAY(v, "%s ", v->kind->label);
		accept_say_value(v, v->value);
		SAY(v, ", at %s ", v->kind->least ? "least" : "most");
		accept_say_value(v, v->bound);
	}
	accept_say_basis(v, interval);
}

/* What core/rule says of the number. */
static enum claim_state accept_state(const struct accept_verdict *v, double judged)
{
	struct rule rule = {.asks = {.fact = "",
				     .is = v->kind->least ? RULE_LEAST : RULE_MOST,
				     .value = v->bound}};
	struct cJSON *number = json_number(judged);
	struct rule_verdict said;

	rule_judge(&rule, number, &said);
	json_free(number);
	return said.state == RULE_HELD     ? CLAIM_HELD
	       : said.state == RULE_BROKEN ? CLAIM_MISSED
					   : CLAIM_UNKNOWN;
}

/* values: of the criterion in each repeat. d: about them. Figures that are void, or may be, tell nothing;
 * what the worst repeat has done stands. */
static void accept_judge(struct accept_verdict *v, const double *values, const struct doubts *d,
			 bool interval)
{
	const struct accept_kind *kind = v->kind;
	struct stats s = stats_of(values, v->line->repeats);
	uint32_t unfinished = kind->finished ? accept_unfinished(v) : 0;

	s = v->stats = stats_possible(s, kind->possible > 0 ? kind->possible : INFINITY);
	if (unfinished) {
		v->state = CLAIM_MISSED;
		SAY(v, "%s: %u of its runs did not finish", kind->label, unfinished);
		return;
	}
	v->value = kind->over == ACCEPT_WORST       ? s.max
		   : kind->over == ACCEPT_VARIATION ? s.cv
						    : s.mean;
	/* A repeat that is too bad decides, whatever the others are. */
	if (s.n < v->line->repeats && !(kind->over == ACCEPT_WORST && s.max > v->bound))
		v->value = NAN;
	interval = interval && s.n > 1 && kind->over == ACCEPT_MEAN;
	v->state = accept_state(v, isnan(v->value) || !interval ? v->value
				   : kind->least                ? s.low
								: s.high);
	if (v->state != CLAIM_UNKNOWN) {
		accept_say(v, d, interval);
		if (kind->over == ACCEPT_WORST || (!doubts_void(d) && !d->raised[DOUBT_DETAILS]))
			return;
		v->state = CLAIM_UNKNOWN;
		doubts_say(v->sentence, sizeof(v->sentence), d, true);
	} else if (v->line->first->gone) {
		accept_unknown(v, "its side files are not beside this file",
			       doubt_kinds[DOUBT_DETAILS].remedy);
	} else {
		accept_unknown(v, kind->why ? kind->why : "the phase has no such figure",
			       kind->why ? kind->settles : "let the rule name a phase that has it");
	}
}

/* The next verdict; NULL: no memory. */
static struct accept_verdict *accept_add(struct accept *a, const struct accept_rule *rule,
					 int criterion, double bound)
{
	struct accept_verdict *v = realloc(a->verdicts, (a->count + 1) * sizeof(*v));

	if (!v)
		return NULL;
	a->verdicts = v;
	v += a->count;
	*v = (struct accept_verdict){.rule = rule,
				     .kind = &accept_kinds[criterion],
				     .value = NAN,
				     .bound = bound,
				     .number = a->count++};
	return v;
}

static bool accept_is_phase(const struct accept_rule *rule, const struct series_line *line)
{
	return strcmp(line->first->record.name, rule->phase) == 0 ||
	       strcmp(line->first->record.kind, rule->phase) == 0;
}

/* The facts of a phase, as haul report --json has them; without rows of single steps, ranks and
 * seconds, of which no rule asks. Without its details a phase does not tell which of its figures is
 * the main one. */
static cJSON *accept_tree(const struct results_file *f, const struct results_phase_read *p)
{
	const struct report_options o = {.steps_rows = 1, .unit_rows = 1, .time_rows = 1};
	cJSON *tree = json_phase(f, p, &o);

	json_add_number(tree, "slowest_node_share", phase_slowest_node(f, p));
	if (p->gone)
		cJSON_DeleteItemFromObject(json_at(tree, "rates"), "main");
	return tree;
}

static double accept_value(const struct accept_verdict *v, const cJSON *tree)
{
	const struct accept_kind *kind = v->kind;

	return kind->value ? kind->value(v->rule, kind->fact, tree)
			   : json_number_at(tree, kind->fact, NAN);
}

/* Judges all criteria that are about a line. trees, values: [line->repeats]. */
static bool accept_line(struct accept *a, const struct accept_rules *rules,
			const struct results_file *f, const struct series_line *line, cJSON **trees,
			double *values)
{
	struct doubts doubts;
	double bound;

	doubts_of_line(&doubts, f, line);
	for (uint32_t k = 0; k < line->repeats; k++)
		trees[k] = accept_tree(f, line->phases[k]);
	for (uint32_t i = 0; i < rules->count; i++)
		for (int c = 0; accept_is_phase(&rules->rules[i], line) && accept_kinds[c].key;
		     c++) {
			const struct accept_rule *rule = &rules->rules[i];
			struct accept_verdict *v;

			if (!accept_bound(rule, c, &bound))
				continue;
			v = accept_add(a, rule, c, bound);
			if (!v)
				return false;
			v->file = f;
			v->line = line;
			for (uint32_t k = 0; k < line->repeats; k++)
				values[k] = accept_value(v, trees[k]);
			accept_judge(v, values, &doubts, rules->judge == JUDGE_INTERVAL);
		}
	return true;
}

static bool accept_lines(struct accept *a, const struct accept_rules *rules,
			 const struct results_file *f, const struct series_lines *lines)
{
	bool whole = true;

	for (uint32_t i = 0; whole && i < lines->count; i++) {
		uint32_t n = lines->lines[i].repeats;
		cJSON **trees = calloc(n, sizeof(*trees));
		double *values = calloc(n, sizeof(*values));

		whole = trees && values &&
			accept_line(a, rules, f, &lines->lines[i], trees, values);
		for (uint32_t k = 0; trees && k < n; k++)
			json_free(trees[k]);
		free(trees);
		free(values);
	}
	return whole;
}

/* Criteria of which no file can tell. */
static bool accept_rest(struct accept *a, const struct accept_rules *rules)
{
	double bound;

	for (uint32_t i = 0; i < rules->count; i++)
		for (int c = 0; accept_kinds[c].key; c++) {
			bool asked = accept_bound(&rules->rules[i], c, &bound);
			struct accept_verdict *v;

			for (uint32_t k = 0; asked && k < a->count; k++)
				asked = a->verdicts[k].rule != &rules->rules[i] ||
					a->verdicts[k].kind != &accept_kinds[c];
			if (!asked)
				continue;
			v = accept_add(a, &rules->rules[i], c, bound);
			if (!v)
				return false;
			accept_unknown(v, "no file has finished the phase",
				       "run it to its end, or correct its name");
		}
	return true;
}

/* In the order of the rules and of their criteria, then of the files and their lines. */
static int accept_order(const void *x, const void *y)
{
	const struct accept_verdict *a = x, *b = y;

	if (a->rule != b->rule)
		return a->rule < b->rule ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

bool accept_make(struct accept *a, const struct accept_rules *rules,
		 const struct results_file *const *files, unsigned count)
{
	bool whole;

	*a = (struct accept){.lines = calloc(count + 1, sizeof(*a->lines))};
	claim_begin(&a->claim);
	whole = a->lines != NULL;
	for (unsigned i = 0; whole && i < count; i++)
		whole = series_make(&a->lines[a->file_count++], files[i]) &&
			accept_lines(a, rules, files[i], &a->lines[i]);
	whole = whole && accept_rest(a, rules);
	if (a->count)
		qsort(a->verdicts, a->count, sizeof(*a->verdicts), accept_order);
	for (uint32_t i = 0; i < a->count; i++)
		claim_add(&a->claim, a->verdicts[i].state, a->verdicts[i].sentence, NULL);
	return whole;
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
		.criterion = v->kind->key,
		.state = target_state_names[v->state],
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
	} total = {claim_holds(a->claim.state), a->claim.parts[CLAIM_HELD],
		   a->claim.parts[CLAIM_MISSED], a->claim.parts[CLAIM_UNKNOWN]};
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
	document_say(d, "\n%s: %u met, %u missed, %u unknown.\n",
		     total.accepted ? "Accepted" : "Not accepted", total.met, total.missed,
		     total.unanswered);
	return true;
}
