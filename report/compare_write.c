/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison in sentences: verdicts in plain words; and as a document: the sides, what differs
 * between them, and for each phase a table and a verdict. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "report/compare.h"
#include "report/doubt.h"
#include "report/phase.h"
#include "report/say.h"

#define COMPARE_SAY(sentence, ...) say(sentence, COMPARE_SENTENCE_BYTES, __VA_ARGS__)

/* "A is 1.35 times as fast as B (1.31 to 1.39)". The faster one comes first. */
static void compare_say_faster(char sentence[COMPARE_SENTENCE_BYTES], const struct comparison *c,
			       const struct compare_pair *pair)
{
	const struct ratio *r = &pair->ratios[pair->metric];
	bool less = compare_metrics[pair->metric].less_is_better;
	double times = less ? 1 / r->ratio : r->ratio, low = less ? 1 / r->high : r->low,
	       high = less ? 1 / r->low : r->high;
	const char *first = c->sides[0].letter, *second = c->sides[pair->side].letter;

	if (times < 1) {
		double swapped = low;

		first = c->sides[pair->side].letter;
		second = c->sides[0].letter;
		times = 1 / times;
		low = 1 / high;
		high = 1 / swapped;
	}
	/* What may be chance is not said as a fact. */
	COMPARE_SAY(sentence, "%s %s ", first, pair->judged && r->verdict ? "is" : "came out");
	say_times(sentence, COMPARE_SENTENCE_BYTES, times);
	COMPARE_SAY(sentence, " times as fast as %s", second);
	say_range(sentence, COMPARE_SENTENCE_BYTES, times, low, high);
	if (!r->verdict && isfinite(low) && isfinite(high) && !ratio_is_vague(r))
		COMPARE_SAY(sentence, ", which may be chance");
}

/* What a drift of all values means for speed. */
static void compare_drift(char sentence[COMPARE_SENTENCE_BYTES], const struct compare_pair *pair)
{
	const struct ratio *r = &pair->ratios[pair->metric];
	double faster = compare_metrics[pair->metric].less_is_better ? 1 / r->drift : r->drift;

	if (!isfinite(r->drift) || (r->paired && fabs(r->drift - 1) < 0.05))
		return;
	COMPARE_SAY(sentence, "From the first repeat to the last one, everything became %.0f %% %s",
		    fabs(faster - 1) * 100, faster > 1 ? "faster" : "slower");
	if (r->paired)
		COMPARE_SAY(sentence, ", which the comparison of pairs leaves out.\n");
	else
		COMPARE_SAY(sentence,
			    ". The interval is widened by this drift, since the repeats were not "
			    "taken in turn: run them with --interleave.\n");
}

static void compare_basis(char sentence[COMPARE_SENTENCE_BYTES], const struct comparison *c,
			  const struct compare_pair *pair)
{
	const struct ratio *r = &pair->ratios[pair->metric];

	if (!r->paired && !r->widened && c->sides[0].file == c->sides[pair->side].file)
		COMPARE_SAY(sentence, "The repeats were not taken in turn, so what changed in "
				      "between counts as a difference: run them with "
				      "--interleave.\n");
	compare_drift(sentence, pair);
}

/* Why a verdict would say nothing of the storages: a doubt that makes the figures of a side void, or
 * that details are missing by which one would know. Returns the
 * side's letter; NULL: there is none. */
static const char *compare_void(const struct comparison *c, const struct compare_pair *pair,
				char why[DOUBT_BYTES])
{
	const struct compare_side *sides[2] = {&c->sides[0], &c->sides[pair->side]};
	struct doubts doubts;

	for (int i = 0; i < 2; i++) {
		doubts_of_line(&doubts, sides[i]->file, pair->line[i]);
		for (int k = 0; k < DOUBTS; k++)
			if (doubts.raised[k] && (doubt_kinds[k].voids || k == DOUBT_DETAILS)) {
				snprintf(why, DOUBT_BYTES, "%s", doubts.why[k]);
				return sides[i]->letter;
			}
	}
	return NULL;
}

/* The letter of the faster side by the verdict; NULL: there is none. */
static const char *compare_faster(const struct comparison *c, const struct compare_pair *pair)
{
	char why[DOUBT_BYTES];
	int verdict = pair->judged && !compare_void(c, pair, why)
			      ? pair->ratios[pair->metric].verdict
			      : 0;

	if (verdict && compare_metrics[pair->metric].less_is_better)
		verdict = -verdict;
	return verdict > 0 ? c->sides[0].letter : verdict < 0 ? c->sides[pair->side].letter : NULL;
}

void compare_sentence(char sentence[COMPARE_SENTENCE_BYTES], const struct comparison *c,
		      const struct compare_pair *pair)
{
	const struct ratio *r = &pair->ratios[pair->metric];
	const char *a = c->sides[0].letter, *b = c->sides[pair->side].letter, *void_side;
	char why[DOUBT_BYTES];

	sentence[0] = '\0';
	if (pair->metric == COMPARE_METRICS) {
		COMPARE_SAY(sentence, "%s and %s have no figure in common.\n", a, b);
		return;
	}
	void_side = compare_void(c, pair, why);
	if (void_side) {
		COMPARE_SAY(sentence,
			    "Not judged, since the figures of %s do not count (%s). In them, ",
			    void_side, why);
		compare_say_faster(sentence, c, pair);
		COMPARE_SAY(sentence, ".\n");
		return;
	}
	if (!pair->judged) {
		COMPARE_SAY(sentence, "Not judged, since ");
		COMPARE_SAY(sentence, "%s ran only once: ",
			    pair->line[1]->repeats > 1   ? a
			    : pair->line[0]->repeats > 1 ? b
							 : "each");
		compare_say_faster(sentence, c, pair);
		COMPARE_SAY(sentence, ". Repeats show whether that is chance (--repeat 5).\n");
		return;
	}
	if (r->verdict == 0)
		COMPARE_SAY(sentence, "%s and %s are not shown to differ: ", a, b);
	compare_say_faster(sentence, c, pair);
	COMPARE_SAY(sentence, ".\n");
	compare_basis(sentence, c, pair);
}

enum { SIGNED_BYTES = 10, VALUE_COLUMNS = 30, WHAT_COLUMNS = 36, VALUES_COLUMNS = 64 };

/* A figure of a pair. */
struct metric_row {
	enum compare_metric metric;
	const char *key;
	char name[64];
	const struct compare_pair *pair;
	uint32_t repeats[2];
	struct ratio is;
};

static double percent_of(double ratio)
{
	return (ratio - 1) * 100;
}

/* A percentage above this has too many digits for its cell. */
#define DIGITS_MOST 1e6

/* "+35", "-0.1". What is rounded to nothing has no sign. */
static char *signed_percent(char text[SIGNED_BYTES], double ratio, int places)
{
	double percent = percent_of(ratio), nothing = places ? 0.05 : 0.5;

	if (fabs(percent) < nothing)
		snprintf(text, SIGNED_BYTES, "%.*f", places, 0.0);
	else if (fabs(percent) >= DIGITS_MOST)
		snprintf(text, SIGNED_BYTES, "%+.0e", percent);
	else
		snprintf(text, SIGNED_BYTES, "%+.*f", places, percent);
	return text;
}

/* Decimals of the whole cell: few where an end of the interval is large, unless that would leave
 * nothing of the difference. */
static int percent_places(double ratio, double high)
{
	double percent = fabs(percent_of(ratio));
	double most = fmax(percent, isfinite(high) ? fabs(percent_of(high)) : 0);

	return most < 10 || (percent >= 0.05 && percent < 1) ? 1 : 0;
}

/* "+35 % (+31 to +39)": by how much A is more than the other side. */
static void show_compared(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct ratio *r = &((const struct metric_row *)row)->is;
	bool vague = ratio_is_vague(r);
	double low = vague ? RATIO_VAGUE_LEAST : r->low, high = vague ? RATIO_VAGUE_MOST : r->high;
	int places = percent_places(r->ratio, high);
	char is[SIGNED_BYTES], from[SIGNED_BYTES], to[SIGNED_BYTES];

	if (isfinite(r->low))
		snprintf(cell, TABLE_CELL_BYTES, "%s %% (%s to %s%s)",
			 signed_percent(is, r->ratio, places), signed_percent(from, low, places),
			 signed_percent(to, high, places), vague ? " or wider" : "");
	else
		snprintf(cell, TABLE_CELL_BYTES, "%s %%", signed_percent(is, r->ratio, places));
}

static enum column_format metric_format(const void *row)
{
	return compare_metrics[((const struct metric_row *)row)->metric].format;
}

static bool metric_shown(const void *row)
{
	return isfinite(((const struct metric_row *)row)->is.ratio);
}

static double metric_value(const struct metric_row *m, int side, int repeat)
{
	return m->pair->line[side]->values[compare_metrics[m->metric].figure][repeat];
}

static double metric_value_a(const void *row, int repeat)
{
	return metric_value(row, 0, repeat);
}

static double metric_value_b(const void *row, int repeat)
{
	return metric_value(row, 1, repeat);
}

static const struct column metric_columns[] = {
	COLUMN(TEXT, struct metric_row, key, "name", NULL),
	COLUMN(NAME, struct metric_row, name, NULL, "Metric"),
	COLUMN(REAL, struct metric_row, is.mean[0], "a", "A", .format_of = metric_format),
	COLUMN(REAL, struct metric_row, is.mean[1], "b", "B", .format_of = metric_format),
	COLUMN(REAL, struct metric_row, is.ratio, "ratio", NULL),
	COLUMN(REAL, struct metric_row, is.low, "low", NULL),
	COLUMN(REAL, struct metric_row, is.high, "high", NULL),
	COLUMN(REAL, struct metric_row, is.drift, "drift", NULL),
	COLUMN(FLAG, struct metric_row, is.widened, "widened", NULL),
	COLUMN(VALUES, struct metric_row, repeats[0], "a_values", NULL, .number = metric_value_a),
	COLUMN(VALUES, struct metric_row, repeats[1], "b_values", NULL, .number = metric_value_b),
	SHOWN("Difference", show_compared),
	COLUMNS_END};

static void write_metrics(struct document *d, const struct comparison *c,
			  const struct compare_pair *pair)
{
	struct column columns[COUNT(metric_columns)];
	struct metric_row rows[COMPARE_METRICS];
	const struct report_table table = {.key = "metrics",
					   .columns = columns,
					   .keyed = true,
					   .flat = true,
					   .shown = metric_shown,
					   TABLE_ROWS(rows, COMPARE_METRICS)};
	const struct results_phase_read *first = pair->line[0]->first;
	const char *items = phase_items(first);

	memcpy(columns, metric_columns, sizeof(columns));
	/* The first side is always A. */
	for (struct column *column = columns; column->type; column++)
		if (column->heading && strcmp(column->heading, "B") == 0)
			column->heading = c->sides[pair->side].letter;
	for (int m = 0; m < COMPARE_METRICS; m++) {
		rows[m] = (struct metric_row){
			.metric = (enum compare_metric)m,
			.key = compare_metrics[m].key,
			.pair = pair,
			.repeats = {pair->line[0]->repeats, pair->line[1]->repeats},
			.is = pair->ratios[m]};
		if (m == COMPARE_SAMPLES && *items)
			snprintf(rows[m].name, sizeof(rows[m].name), "%.20s/s", items);
		else
			snprintf(rows[m].name, sizeof(rows[m].name), "%.20s%s%s",
				 m == COMPARE_P99 ? first->record.main_hist : "",
				 m == COMPARE_P99 ? " " : "", compare_metrics[m].word);
	}
	document_table(d, &table);
}

/* "train: 5 repeats of A, 4 of B, taken in turn; geometric means" */
static void write_repeats(struct document *d, const struct comparison *c,
			  const struct compare_pair *pair)
{
	const struct ratio *r = &pair->ratios[pair->metric == COMPARE_METRICS ? 0 : pair->metric];
	uint32_t a = pair->line[0]->repeats, b = pair->line[1]->repeats;

	document_say(d, "\n%s: ", pair->line[0]->first->record.name);
	if (a == b)
		document_say(d, "%u repeat%s each", a, a == 1 ? "" : "s");
	else
		document_say(d, "%u repeat%s of %s, %u of %s", a, a == 1 ? "" : "s",
			     c->sides[0].letter, b, c->sides[pair->side].letter);
	document_say(d, "%s%s\n",
		     r->paired        ? ", taken in turn"
		     : a > 1 && b > 1 ? ", not taken in turn"
				      : "",
		     a > 1 || b > 1 ? "; geometric means" : "");
}

struct pair_row {
	const char *phase, *kind, *a, *b, *metric, *faster, *sentence, *claim;
	uint32_t a_repeats, b_repeats;
	bool in_turn, judged;
};

static const struct column pair_columns[] = {FIELD(TEXT, struct pair_row, phase),
					     FIELD(TEXT, struct pair_row, kind),
					     FIELD(TEXT, struct pair_row, a),
					     FIELD(TEXT, struct pair_row, b),
					     FIELD(U32, struct pair_row, a_repeats),
					     FIELD(U32, struct pair_row, b_repeats),
					     FIELD(FLAG, struct pair_row, in_turn),
					     FIELD(FLAG, struct pair_row, judged),
					     FIELD(TEXT, struct pair_row, metric),
					     FIELD(TEXT, struct pair_row, faster),
					     FIELD(TEXT, struct pair_row, sentence),
					     FIELD(TEXT, struct pair_row, claim),
					     COLUMNS_END};

/* What either side's figures are worth. */
static void write_doubts(struct document *d, const struct comparison *c,
			 const struct compare_pair *pair)
{
	const struct compare_side *sides[2] = {&c->sides[0], &c->sides[pair->side]};
	struct doubts doubts;

	document_open_list(d, "doubts");
	for (int i = 0; i < 2; i++) {
		doubts_of_line(&doubts, sides[i]->file, pair->line[i]);
		/* That there are too few repeats is in the sentence. */
		doubts_drop(&doubts, DOUBT_REPEATS);
		doubts_write(d, &doubts, sides[i]->letter, "");
	}
	document_close(d);
}

static void write_pair(struct document *d, const struct comparison *c,
		       const struct compare_pair *pair)
{
	const struct phase_record *r = &pair->line[0]->first->record;
	bool main = pair->metric != COMPARE_METRICS;
	char sentence[COMPARE_SENTENCE_BYTES], why[DOUBT_BYTES], *rest, *line;
	const struct pair_row row = {
		.phase = r->name,
		.kind = r->kind,
		.a = c->sides[0].letter,
		.b = c->sides[pair->side].letter,
		.metric = main ? compare_metrics[pair->metric].key : NULL,
		.faster = compare_faster(c, pair),
		.sentence = sentence,
		.a_repeats = pair->line[0]->repeats,
		.b_repeats = pair->line[1]->repeats,
		.in_turn = main && pair->ratios[pair->metric].paired,
		.judged = pair->judged && !compare_void(c, pair, why),
		/* That one side is faster. */
		.claim = claim_words[compare_faster(c, pair) ? CLAIM_HELD : CLAIM_UNKNOWN],
	};

	compare_sentence(sentence, c, pair);
	document_open_row(d, pair_columns, &row);
	write_repeats(d, c, pair);
	write_metrics(d, c, pair);
	for (line = strtok_r(sentence, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		document_wrap(d, 2, line);
	write_doubts(d, c, pair);
	document_close(d);
}

/* A side in the order of what it reached. */
struct ranked_row {
	const char *letter, *name;
	enum compare_metric metric;
	double value, of_best;
};

static enum column_format ranked_format(const void *row)
{
	return compare_metrics[((const struct ranked_row *)row)->metric].format;
}

static int ranked_order(const void *a, const void *b)
{
	const struct ranked_row *x = a, *y = b;
	double sign = compare_metrics[x->metric].less_is_better ? -1 : 1;

	return x->value * sign < y->value * sign ? 1 : x->value * sign > y->value * sign ? -1 : 0;
}

/* Of many sides of which none is judged, a text has one table, the best first, in place of a
 * paragraph for each pair. */
static bool write_is_ranked(const struct comparison *c, const struct compare_phase *phase)
{
	for (unsigned k = 0; k < phase->pair_count; k++)
		if (phase->pairs[k].judged || phase->pairs[k].metric != phase->pairs[0].metric)
			return false;
	return c->side_count > 2 && phase->pair_count > 1 &&
	       phase->pairs[0].metric != COMPARE_METRICS;
}

static void write_ranking(struct document *d, const struct comparison *c,
			  const struct compare_phase *phase)
{
	enum compare_metric metric = phase->pairs[0].metric;
	const struct column columns[] = {
		COLUMN(TEXT, struct ranked_row, letter, NULL, "side"),
		COLUMN(REAL, struct ranked_row, value, NULL, compare_metrics[metric].word,
		       .format_of = ranked_format),
		COLUMN(REAL, struct ranked_row, of_best, NULL, "of the best",
		       .format = FORMAT_SHARE),
		COLUMN(TEXT, struct ranked_row, name, NULL, "sets", .width = VALUES_COLUMNS - 20),
		COLUMNS_END};
	struct ranked_row rows[COMPARE_SIDES_MAX];
	const struct report_table table = {.columns = columns,
					   TABLE_ROWS(rows, phase->pair_count + 1)};

	for (unsigned k = 0; k <= phase->pair_count; k++) {
		const struct compare_pair *pair = &phase->pairs[k ? k - 1 : 0];
		const struct compare_side *side = &c->sides[k ? pair->side : 0];
		const char *sweep = pair->line[k ? 1 : 0]->first->record.sweep;

		rows[k] = (struct ranked_row){.letter = side->letter,
					      .name = *sweep ? sweep : side->name,
					      .metric = metric,
					      .value = pair->ratios[metric].mean[k ? 1 : 0]};
	}
	qsort(rows, phase->pair_count + 1, sizeof(*rows), ranked_order);
	for (unsigned k = 0; k <= phase->pair_count; k++)
		rows[k].of_best = compare_metrics[metric].less_is_better
					  ? rows[0].value / rows[k].value
					  : rows[k].value / rows[0].value;
	document_say(d, "\n%s, the best first\n", phase->line->first->record.name);
	document_table(d, &table);
	document_say(d, "Not judged: repeats show what is chance (--repeat 5).\n");
}

static void write_missing(struct document *d, const struct comparison *c,
			  const struct compare_phase *phase)
{
	char letters[4 * COMPARE_SIDES_MAX] = "";
	unsigned sides = 0;

	for (unsigned i = 0; i < c->side_count; i++)
		if (!(phase->missing & 1u << i)) {
			if (sides++)
				strcat(letters, ", ");
			strcat(letters, c->sides[i].letter);
		}
	document_say(d, "\n%s: only %s %s finished it.\n", phase->line->first->record.name, letters,
		     sides > 1 ? "have" : "has");
}

static const char *side_path(const void *row)
{
	return ((const struct compare_side *)row)->file->path;
}

static const struct column side_columns[] = {
	COLUMN(NAME, struct compare_side, letter, "side", NULL),
	{.type = COLUMN_WORD, .key = "file", .word = side_path},
	FIELD(U64, struct compare_side, combination),
	FIELD(NAME, struct compare_side, name),
	COLUMNS_END};

static void write_sides(struct document *d, const struct comparison *c)
{
	char line[COMPARE_NAME_BYTES + 8];

	document_open_list(d, "sides");
	for (unsigned i = 0; i < c->side_count; i++) {
		snprintf(line, sizeof(line), "%s   %s", c->sides[i].letter, c->sides[i].name);
		document_open_row(d, side_columns, &c->sides[i]);
		document_wrap(d, 4, line);
		document_close(d);
	}
	document_close(d);
}

static const char *difference_about(const void *row)
{
	return difference_abouts[((const struct difference *)row)->about];
}

static void write_differences(struct document *d, const struct comparison *c)
{
	unsigned sides = c->side_count < TABLE_TEXTS_SHOWN ? c->side_count : TABLE_TEXTS_SHOWN;
	unsigned width = VALUES_COLUMNS / sides - 3;
	const char *letters[COMPARE_SIDES_MAX];
	const struct column columns[] = {
		COLUMN(NAME, struct difference, title, NULL, "What differs", .width = WHAT_COLUMNS),
		{.type = COLUMN_WORD, .key = "about", .word = difference_about},
		FIELD(NAME, struct difference, what),
		COLUMN(TEXTS, struct difference, values, "values", NULL, .headings = letters,
		       .count = c->side_count,
		       .width = width < VALUE_COLUMNS ? width : VALUE_COLUMNS),
		COLUMNS_END};
	const struct report_table table = {.key = "differences",
					   .columns = columns,
					   TABLE_ROWS(c->differences.rows, c->differences.count)};

	for (unsigned i = 0; i < c->side_count; i++)
		letters[i] = c->sides[i].letter;
	document_say(d, c->differences.count
				? "\n"
				: "\nJob, machine and client are the same on all sides.\n");
	document_table(d, &table);
	if (c->differences.count && sides < c->side_count)
		document_say(d, "%u more sides are in --json.\n", c->side_count - sides);
}

bool compare_write(struct document *d, const void *about)
{
	static const struct column columns[] = {FIELD(REAL, struct comparison, level),
						FIELD(U32, struct comparison, verdicts),
						COLUMNS_END};
	const struct comparison *c = about;

	document_fields(d, columns, c);
	write_sides(d, c);
	write_differences(d, c);
	document_open_list(d, "pairs");
	for (unsigned i = 0; i < c->phase_count; i++) {
		bool ranked = d->shape == REPORT_TEXT && write_is_ranked(c, &c->phases[i]);

		if (ranked)
			write_ranking(d, c, &c->phases[i]);
		for (unsigned k = 0; k < c->phases[i].pair_count && !ranked; k++)
			write_pair(d, c, &c->phases[i].pairs[k]);
		if (c->phases[i].missing)
			write_missing(d, c, &c->phases[i]);
	}
	document_close(d);
	if (c->verdicts)
		document_say(d,
			     "\nDifference: by how much A is more than the other side, with its "
			     "%.3g %% interval.\n",
			     c->level * 100);
	if (c->verdicts > 1)
		document_say(d,
			     "All %u verdicts together are wrong by chance in at most 5 of 100 "
			     "comparisons.\n",
			     c->verdicts);
	return true;
}
