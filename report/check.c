/* SPDX-License-Identifier: Apache-2.0 */
/* What an edition says: see check.h. */
#include "report/check.h"

#include <stdlib.h>
#include <string.h>

static const char *const verdicts[] = {"closed",  "closed if", "open",
				       "invalid", "what-if",   "no rules"};

void check_tree(struct check *c, enum rule_scope scope, const struct cJSON *tree, const char *file,
		const char *phase)
{
	for (uint32_t i = 0; i < c->rules->count; i++) {
		const struct rule *rule = &c->rules->rules[i];
		struct check_line line = {.file = file}, *more;

		if (rule->scope != scope || !rule_judge(rule, tree, &line.verdict))
			continue;
		more = realloc(c->lines, (c->count + 1) * sizeof(*more));
		if (!more) {
			c->failed = true;
			return;
		}
		snprintf(line.phase, sizeof(line.phase), "%s", phase);
		c->lines = more;
		more[c->count++] = line;
		c->states[line.verdict.state]++;
	}
}

void check_class(struct check *c, const char *file, const struct workload_class *class)
{
	struct check_class *more = realloc(c->classes, (c->class_count + 1) * sizeof(*more));

	if (!more) {
		c->failed = true;
		return;
	}
	c->classes = more;
	more[c->class_count++] = (struct check_class){file, *class};
}

void check_workload(struct check *c, const char *file, const char *phase, const char *name,
		    bool whatif, const struct edition_differences *differences)
{
	uint32_t count =
		differences->count < DIFFERENCES_MAX ? differences->count : DIFFERENCES_MAX;
	size_t bytes = count * sizeof(*differences->rows);
	struct check_workload *more =
		realloc(c->workloads, (c->workload_count + 1) * sizeof(*more));
	struct check_workload one = {
		.file = file, .whatif = whatif, .count = count, .differences = malloc(bytes + 1)};

	c->workloads = more ? more : c->workloads;
	if (!more || !one.differences) {
		free(one.differences);
		c->failed = true;
		return;
	}
	memcpy(one.differences, differences->rows, bytes);
	snprintf(one.phase, sizeof(one.phase), "%s", phase);
	snprintf(one.name, sizeof(one.name), "%s", name);
	more[c->workload_count++] = one;
	c->differences[RULE_OPEN] += differences->open;
	c->differences[RULE_INVALID] += differences->count - differences->open;
}

void check_free(struct check *c)
{
	for (uint32_t i = 0; i < c->workload_count; i++)
		free(c->workloads[i].differences);
	free(c->workloads);
	free(c->classes);
	free(c->lines);
}

enum rule_category check_category(const struct check *c)
{
	enum rule_category worst = c->differences[RULE_INVALID] ? RULE_INVALID
				   : c->differences[RULE_OPEN]  ? RULE_OPEN
								: RULE_CLOSED;

	for (uint32_t i = 0; i < c->count; i++)
		if (rule_category(&c->lines[i].verdict) > worst)
			worst = rule_category(&c->lines[i].verdict);
	return worst;
}

static bool check_line_is_whatif(const struct rule_verdict *v)
{
	return v->rule->workload && v->state == RULE_BROKEN;
}

static bool check_is_whatif(const struct check *c)
{
	for (uint32_t i = 0; i < c->workload_count; i++)
		if (c->workloads[i].whatif)
			return true;
	for (uint32_t i = 0; i < c->count; i++)
		if (check_line_is_whatif(&c->lines[i].verdict))
			return true;
	return false;
}

enum check_verdict check_verdict(const struct check *c)
{
	enum rule_category category = check_category(c);

	if (check_is_whatif(c))
		return CHECK_WHATIF;
	if (category != RULE_CLOSED)
		return category == RULE_OPEN ? CHECK_OPEN : CHECK_INVALID;
	if (!c->count)
		return CHECK_NO_RULES;
	/* Nothing is closed by what is not known. */
	return c->states[RULE_HELD] && !c->states[RULE_UNKNOWN] && !c->states[RULE_UNDECIDED]
		       ? CHECK_CLOSED
		       : CHECK_CLOSED_IF;
}

struct check_row {
	const char *rule, *number, *source, *phase, *file, *state, *category, *sentence;
	double value, bound;
	bool whatif;
};
static const struct column check_columns[] = {
	FIELD(TEXT, struct check_row, rule),     FIELD(TEXT, struct check_row, number),
	FIELD(TEXT, struct check_row, source),   FIELD(TEXT, struct check_row, phase),
	FIELD(TEXT, struct check_row, file),     FIELD(TEXT, struct check_row, state),
	FIELD(TEXT, struct check_row, category), FIELD(REAL, struct check_row, value),
	FIELD(REAL, struct check_row, bound),    FIELD(TEXT, struct check_row, sentence),
	FIELD(FLAG, struct check_row, whatif),   COLUMNS_END};

static void check_write_line(struct document *d, const struct check *c, const struct check_line *l)
{
	const struct rule_verdict *v = &l->verdict;
	const char *category = rule_categories[rule_category(v)];
	const struct check_row row = {.rule = v->rule->name,
				      .number = v->rule->number,
				      .source = v->rule->source,
				      .phase = l->phase,
				      .file = l->file,
				      .state = rule_states[v->state],
				      .category = category,
				      .sentence = v->sentence,
				      .value = v->value,
				      .bound = v->bound,
				      .whatif = check_line_is_whatif(v)};
	char text[RULE_SENTENCE_BYTES + 2 * RULE_PATH_BYTES + 1200];

	snprintf(text, sizeof(text), "%s: %s%s%s, %s%s%.1000s: %s",
		 row.whatif                ? "what-if"
		 : v->state == RULE_BROKEN ? category
		 : v->state == RULE_HELD   ? "held"
					   : "if",
		 v->rule->name, *row.number ? " " : "", row.number, l->phase, l->file ? " of " : "",
		 l->file ? l->file : "", v->sentence);
	document_open_row(d, check_columns, &row);
	if (v->state != RULE_HELD || c->all)
		document_wrap(d, 2, text);
	document_close(d);
}

static void check_write_class(struct document *d, const struct check_class *c)
{
	const struct class_row {
		const char *phase, *file, *hash, *of, *editions;
	} row = {c->class.phase, c->file, c->class.hash, c->class.of, c->class.editions};
	static const struct column columns[] = {
		FIELD(TEXT, struct class_row, phase),    FIELD(TEXT, struct class_row, file),
		FIELD(TEXT, struct class_row, hash),     FIELD(TEXT, struct class_row, of),
		FIELD(TEXT, struct class_row, editions), COLUMNS_END};
	char said[256], text[CLASS_PHASE_BYTES + 1400];

	class_say(said, sizeof(said), &c->class);
	snprintf(text, sizeof(text), "class of %s%s%.1000s: %s", row.phase, c->file ? " of " : "",
		 c->file ? c->file : "", said);
	document_open_row(d, columns, &row);
	document_wrap(d, 2, text);
	document_close(d);
}

static void check_write_difference(struct document *d, const struct check_workload *w,
				   const struct edition_difference *one)
{
	const struct difference_row {
		const char *key, *value, *wanted, *category, *sentence;
	} row = {one->key, one->value, one->wanted,
		 rule_categories[one->open ? RULE_OPEN : RULE_INVALID], one->sentence};
	static const struct column columns[] = {FIELD(TEXT, struct difference_row, key),
						FIELD(TEXT, struct difference_row, value),
						FIELD(TEXT, struct difference_row, wanted),
						FIELD(TEXT, struct difference_row, category),
						FIELD(TEXT, struct difference_row, sentence),
						COLUMNS_END};
	char text[DIFFERENCE_TEXT_BYTES + CHECK_PHASE_BYTES + 1100];

	snprintf(text, sizeof(text), "%s: %s%s%.1000s%s%s", row.category, w->phase,
		 w->file ? " of " : "", w->file ? w->file : "", *w->phase ? ": " : "",
		 one->sentence);
	document_open_row(d, columns, &row);
	document_wrap(d, 2, text);
	document_close(d);
}

static void check_write_workload(struct document *d, const struct check_workload *w)
{
	const struct workload_row {
		const char *phase, *file, *workload;
		bool whatif;
	} row = {w->phase, w->file, w->name, w->whatif};
	static const struct column columns[] = {
		FIELD(TEXT, struct workload_row, phase), FIELD(TEXT, struct workload_row, file),
		FIELD(TEXT, struct workload_row, workload),
		FIELD(FLAG, struct workload_row, whatif), COLUMNS_END};

	document_open_row(d, columns, &row);
	if (w->whatif && *w->name)
		document_say(d, "what-if: %s is %s %s, of which the edition takes no submission\n",
			     w->phase, w->count ? "nearest to" : "as", w->name);
	else if (w->whatif)
		document_say(d, "what-if: %s is of a benchmark that the edition has not\n",
			     w->phase);
	else if (w->count && *w->name)
		document_say(d, "%s beside %s, which it is nearest to:\n", w->phase, w->name);
	document_open_list(d, "differences");
	for (uint32_t i = 0; i < w->count; i++)
		check_write_difference(d, w, &w->differences[i]);
	document_close(d);
	document_close(d);
}

static uint32_t check_broken(const struct check *c)
{
	return c->states[RULE_BROKEN] + c->differences[RULE_OPEN] + c->differences[RULE_INVALID];
}

/* The category stays what the rules make of it: what asks for closed need not know of this. */
static void check_say_whatif(struct document *d, const struct check *c)
{
	char text[2 * RULE_TEXT_BYTES + 256];

	snprintf(text, sizeof(text),
		 "%s has no such workload: this is a what-if. It compares with other runs of the "
		 "same job, and with no result of the edition: %u held, %u broken.",
		 c->rules->edition, c->states[RULE_HELD], check_broken(c));
	document_wrap(d, 2, text);
}

static void check_say(struct document *d, const struct check *c)
{
	const char *edition = c->rules->edition;
	uint32_t conditions = c->states[RULE_UNKNOWN] + c->states[RULE_UNDECIDED];
	enum check_verdict verdict = check_verdict(c);

	if (verdict == CHECK_WHATIF)
		check_say_whatif(d, c);
	else if (verdict == CHECK_NO_RULES)
		document_say(d, "%s has no rules for this.\n", edition);
	else if (verdict == CHECK_CLOSED_IF)
		document_say(d,
			     "By the rules of %s this is closed if the %u conditions below hold, "
			     "which %s cannot show.\n",
			     edition, conditions, c->ran ? "these results" : "a job");
	else
		document_say(d, "By the rules of %s this is %s%s: %u held, %u broken.\n", edition,
			     verdicts[verdict], c->ran ? "" : ", as far as a job tells",
			     c->states[RULE_HELD], check_broken(c));
}

static void check_say_rest(struct document *d, const struct check *c)
{
	char text[2 * RULE_TEXT_BYTES + 32];

	if (c->states[RULE_HELD] && !c->all)
		document_say(d, "%u rule%s held; --all lists %s\n", c->states[RULE_HELD],
			     c->states[RULE_HELD] == 1 ? " is" : "s are",
			     c->states[RULE_HELD] == 1 ? "it" : "them");
	if (!*c->rules->draft)
		return;
	snprintf(text, sizeof(text), "%s is a draft: %s.", c->rules->edition, c->rules->draft);
	document_wrap(d, 2, text);
}

static bool check_write(struct document *d, const void *about)
{
	static const enum rule_state order[] = {RULE_BROKEN, RULE_UNKNOWN, RULE_UNDECIDED,
						RULE_HELD};
	const struct check *c = about;
	const struct check_total {
		const char *edition, *draft, *verdict, *category;
		bool closed, whatif;
		uint32_t held, broken, unknown, undecided;
		const char *note;
	} total = {c->rules->edition,
		   c->rules->draft,
		   verdicts[check_verdict(c)],
		   rule_categories[check_category(c)],
		   check_verdict(c) == CHECK_CLOSED,
		   check_is_whatif(c),
		   c->states[RULE_HELD],
		   check_broken(c),
		   c->states[RULE_UNKNOWN],
		   c->states[RULE_UNDECIDED],
		   *c->note ? c->note : NULL};
	static const struct column total_columns[] = {
		FIELD(TEXT, struct check_total, edition), FIELD(TEXT, struct check_total, draft),
		FIELD(TEXT, struct check_total, verdict), FIELD(TEXT, struct check_total, category),
		FIELD(FLAG, struct check_total, closed),  FIELD(FLAG, struct check_total, whatif),
		FIELD(U32, struct check_total, held),     FIELD(U32, struct check_total, broken),
		FIELD(U32, struct check_total, unknown),  FIELD(U32, struct check_total, undecided),
		FIELD(TEXT, struct check_total, note),    COLUMNS_END};

	document_fields(d, total_columns, &total);
	check_say(d, c);
	if (*c->note)
		document_wrap(d, 2, c->note);
	document_open_list(d, "workloads");
	for (uint32_t i = 0; i < c->workload_count; i++)
		check_write_workload(d, &c->workloads[i]);
	document_close(d);
	document_open_list(d, "rules");
	for (unsigned o = 0; o < RULE_STATES; o++)
		for (uint32_t i = 0; i < c->count; i++)
			if (c->lines[i].verdict.state == order[o])
				check_write_line(d, c, &c->lines[i]);
	document_close(d);
	document_open_list(d, "classes");
	for (uint32_t i = 0; i < c->class_count; i++)
		check_write_class(d, &c->classes[i]);
	document_close(d);
	check_say_rest(d, c);
	return !c->failed;
}

int check_print(FILE *out, enum report_shape shape, const struct check *c, struct err *err)
{
	return document_print(out, shape, check_write, c, err);
}
