/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of rules: see rule.h. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_path.h"
#include "core/rule/rule.h"
#include "core/units.h"

const char *const rule_categories[RULE_CATEGORIES] = {"closed", "open", "invalid"};
const char *const rule_states[RULE_STATES] = {"held", "broken", "unknown", "undecided"};

enum { FACT_BYTES = 64 };
/* Beyond these, numbers are shown with an exponent; and two that differ by less are equal. */
static const double whole_most = 1e15, same_most = 1e-9;

static void rule_say_number(char text[FACT_BYTES], double value)
{
	if (value >= 0 && value < whole_most && value == floor(value))
		units_count(text, (uint64_t)value);
	else
		snprintf(text, FACT_BYTES, "%.6g", value);
}

static void rule_say_fact(char text[FACT_BYTES], const cJSON *fact)
{
	if (cJSON_IsString(fact))
		snprintf(text, FACT_BYTES, "\"%.40s\"", fact->valuestring);
	else if (cJSON_IsBool(fact))
		snprintf(text, FACT_BYTES, "%s", cJSON_IsTrue(fact) ? "true" : "false");
	else if (cJSON_IsNumber(fact))
		rule_say_number(text, fact->valuedouble);
	else
		snprintf(text, FACT_BYTES, "nothing");
}

static bool rule_same(double a, double b)
{
	return fabs(a - b) <= same_most * fmax(fabs(a), fabs(b));
}

static bool rule_is_text(const cJSON *fact, const char *text)
{
	char *end;
	double number = strtod(text, &end);

	if (cJSON_IsString(fact))
		return strcmp(fact->valuestring, text) == 0;
	if (cJSON_IsBool(fact))
		return strcmp(cJSON_IsTrue(fact) ? "true" : "false", text) == 0;
	return cJSON_IsNumber(fact) && end != text && !*end && rule_same(fact->valuedouble, number);
}

/* NaN: the tree does not have what the value is times of. */
static double rule_bound(const struct rule_condition *c, const cJSON *tree)
{
	double bound = *c->of ? c->value * json_number_at(tree, c->of, NAN) : c->value;

	return c->whole ? floor(bound) : bound;
}

/* The least multiple that is not below the value. */
static double rule_multiple(double value, double bound)
{
	return bound > 0 ? fmax(ceil(value / bound - same_most), 1) * bound : NAN;
}

/* 1: it holds, 0: it does not, -1: the tree cannot tell. */
static int rule_holds(const struct rule_condition *c, const cJSON *tree)
{
	const cJSON *fact = json_at(tree, c->fact);
	double value = json_number_at(fact, "", NAN), bound = rule_bound(c, tree);
	bool any = false;

	if (c->is == RULE_THERE)
		return fact && !cJSON_IsNull(fact);
	if (c->is == RULE_ONE_OF) {
		for (uint32_t i = 0; i < c->texts.count; i++)
			any |= rule_is_text(fact, c->texts.items[i]);
		return fact && !cJSON_IsNull(fact) ? any : -1;
	}
	if (!isfinite(value) || !isfinite(bound))
		return -1;
	if (c->is == RULE_MULTIPLE)
		return rule_same(value, rule_multiple(value, bound));
	if (rule_same(value, bound))
		return 1;
	return c->is == RULE_LEAST ? value > bound : c->is == RULE_MOST ? value < bound : 0;
}

static void __attribute__((format(printf, 2, 3)))
rule_say(struct rule_verdict *v, const char *format, ...)
{
	size_t at = strlen(v->sentence);
	va_list args;

	va_start(args, format);
	vsnprintf(v->sentence + at, sizeof(v->sentence) - at, format, args);
	va_end(args);
}

static void rule_say_wanted(struct rule_verdict *v)
{
	static const char *const words[] = {
		[RULE_ONE_OF] = "one of",   [RULE_LEAST] = "at least",
		[RULE_MOST] = "at most",    [RULE_EQUALS] = "exactly",
		[RULE_THERE] = "something", [RULE_MULTIPLE] = "a multiple of"};
	const struct rule_condition *c = &v->rule->asks;
	char text[FACT_BYTES];

	rule_say(v, "%s", c->is == RULE_ONE_OF && c->texts.count == 1 ? "" : words[c->is]);
	if (c->is == RULE_ONE_OF)
		for (uint32_t i = 0; i < c->texts.count; i++)
			rule_say(v, "%s%s",
				 i                     ? ", "
				 : c->texts.count == 1 ? ""
						       : " ",
				 c->texts.items[i]);
	else if (c->is != RULE_THERE && isfinite(v->bound)) {
		rule_say_number(text, v->bound);
		rule_say(v, " %s", text);
	} else if (c->is != RULE_THERE) {
		rule_say_number(text, c->value);
		rule_say(v, " %s times %s", text, c->of);
	}
}

/* How many more units would do. */
static void rule_say_lacking(struct rule_verdict *v, const cJSON *tree)
{
	const struct rule *r = v->rule;
	double per = *r->per ? json_number_at(tree, r->per, NAN) : 1;
	double wanted = r->asks.is == RULE_MULTIPLE ? rule_multiple(v->value, v->bound) : v->bound;
	double lacking = ceil((wanted - v->value) * per - same_most);
	char text[FACT_BYTES];

	if (*r->unit && isfinite(lacking) && lacking != 0) {
		rule_say_number(text, fabs(lacking));
		rule_say(v, ": %s %s %s", text, r->unit, lacking > 0 ? "more" : "less");
	}
	if (*r->change)
		rule_say(v, ": %s", r->change);
}

bool rule_judge(const struct rule *rule, const struct cJSON *tree, struct rule_verdict *out)
{
	const cJSON *fact = json_at(tree, rule->asks.fact);
	char text[FACT_BYTES];
	int holds;

	for (uint32_t i = 0; i < rule->when_count; i++)
		if (rule_holds(&rule->when[i], tree) != 1)
			return false;
	for (uint32_t i = 0; i < rule->unless_count; i++)
		if (rule_holds(&rule->unless[i], tree) == 1)
			return false;
	*out = (struct rule_verdict){.rule = rule, .value = NAN, .bound = NAN};
	if (*rule->cannot) {
		out->state = RULE_UNDECIDED;
		rule_say(out, "%s: %s", rule->about, rule->cannot);
		return true;
	}
	holds = rule_holds(&rule->asks, tree);
	/* What a run has is not known before it. */
	if (rule->asks.is == RULE_THERE && rule->scope == RULE_OF_RESULT &&
	    !json_at(tree, "result"))
		holds = -1;
	out->state = holds < 0 ? RULE_UNKNOWN : holds ? RULE_HELD : RULE_BROKEN;
	if (rule->asks.is != RULE_ONE_OF && rule->asks.is != RULE_THERE) {
		out->value = json_number_at(fact, "", NAN);
		out->bound = rule_bound(&rule->asks, tree);
	}
	if (holds < 0) {
		rule_say(out, "%s: not known, wanted: ", rule->about);
		rule_say_wanted(out);
		return true;
	}
	rule_say_fact(text, fact);
	rule_say(out, "%s %s, wanted: ", rule->about, text);
	rule_say_wanted(out);
	if (!holds)
		rule_say_lacking(out, tree);
	return true;
}

enum rule_category rule_category(const struct rule_verdict *v)
{
	if (v->state != RULE_BROKEN)
		return RULE_CLOSED;
	return v->rule->otherwise ? RULE_INVALID : RULE_OPEN;
}
