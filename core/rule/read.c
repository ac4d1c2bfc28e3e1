/* SPDX-License-Identifier: Apache-2.0 */
/* Rules, read from a JSON file: see rule.h. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file_read.h"
#include "core/json.h"
#include "core/rule/rule.h"

enum { RULES_BYTES_MAX = 1 << 20, RULES_DEPTH = 8, RULES_VALUES = 1 << 14 };

static const char *const comparisons[] = {"one_of", "least",    "most", "equals",
					  "there",  "multiple", NULL};
static const char *const scopes[] = {"job", "result", "series", NULL};
static const char *const breaches[] = {"open", "invalid", NULL};

/* clang-format off */
static const struct option condition_options[] = {
	OPT_TEXT("fact", struct rule_condition, fact, .def_text = "", .help = "path in what is judged"),
	OPT_CHOICE("is", struct rule_condition, is, .choices = comparisons, .help = "how it is compared"),
	OPT_REAL("value", struct rule_condition, value, .min_real = -1e30, .max_real = 1e30,
		 .help = "with this number"),
	OPT_TEXT("of", struct rule_condition, of, .def_text = "", .help = "the number is times this fact"),
	OPT_BOOL("whole", struct rule_condition, whole, .help = "the number is rounded down"),
	OPT_TEXTS("texts", struct rule_condition, texts, .help = "with these texts or numbers"),
	OPT_END
};
static const struct option rule_options[] = {
	OPT_TEXT("name", struct rule, name, .required = true, .help = "name of the rule"),
	OPT_TEXT("number", struct rule, number, .def_text = "", .help = "number in the rules' text"),
	OPT_TEXT("source", struct rule, source, .def_text = "", .help = "where it is written"),
	OPT_TEXT("about", struct rule, about, .required = true, .help = "what is judged, in words"),
	OPT_TEXT("change", struct rule, change, .def_text = "", .help = "what would have to change"),
	OPT_TEXT("cannot", struct rule, cannot, .def_text = "", .help = "why nothing can decide it"),
	OPT_TEXT("unit", struct rule, unit, .def_text = "", .help = "what is lacking is counted in these"),
	OPT_TEXT("per", struct rule, per, .def_text = "", .help = "fact: units for one that is lacking"),
	OPT_CHOICE("scope", struct rule, scope, .choices = scopes, .help = "what it is a rule of"),
	OPT_CHOICE("otherwise", struct rule, otherwise, .def = 1, .choices = breaches,
		   .help = "what is not so is open, or invalid"),
	OPT_BOOL("workload", struct rule, workload,
		 .help = "it says which workloads the edition has: what is not so is a what-if"),
	OPT_LIST("when", struct rule, when, when_count, .table = condition_options,
		 .help = "it applies where all of these hold"),
	OPT_LIST("unless", struct rule, unless, unless_count, .table = condition_options,
		 .help = "and none of these does"),
	OPT_TABLE("asks", struct rule, asks, .table = condition_options, .help = "what must hold"),
	OPT_END
};
static const struct option rules_options[] = {
	OPT_TEXT("edition", struct rules, edition, .required = true, .help = "whose rules these are"),
	OPT_TEXT("source", struct rules, source, .def_text = "", .help = "where they are written"),
	OPT_TEXT("base", struct rules, base, .def_text = "",
		 .help = "a file in the same folder, whose rules count where these have none of their name"),
	OPT_TEXT("draft", struct rules, draft, .def_text = "", .help = "why it is no edition yet"),
	OPT_LIST("rules", struct rules, rules, count, .required = true, .min = 1,
		 .table = rule_options, .help = "the rules"),
	OPT_END
};
/* clang-format on */
static const struct option *const rules_tables[] = {rules_options, NULL};

static int condition_check(const struct rule_condition *c, const char *part, uint32_t i,
			   struct err *err)
{
	if (!*c->fact)
		return err_set(err, -EINVAL, "/rules/%u/%s: names no fact", i, part);
	if (c->is == RULE_ONE_OF && !c->texts.count)
		return err_set(err, -EINVAL, "/rules/%u/%s: needs texts, or another \"is\"", i,
			       part);
	return 0;
}

static int rules_check(const void *into, struct err *err)
{
	const struct rules *r = into;
	int rc = 0;

	for (uint32_t i = 0; i < r->count && rc == 0; i++) {
		const struct rule *rule = &r->rules[i];

		if (!*rule->cannot)
			rc = condition_check(&rule->asks, "asks", i, err);
		for (uint32_t k = 0; k < rule->when_count && rc == 0; k++)
			rc = condition_check(&rule->when[k], "when", i, err);
		for (uint32_t k = 0; k < rule->unless_count && rc == 0; k++)
			rc = condition_check(&rule->unless[k], "unless", i, err);
		for (uint32_t k = 0; k < i && rc == 0; k++)
			if (strcmp(r->rules[k].name, rule->name) == 0)
				rc = err_set(err, -EINVAL, "/rules/%u: is the second \"%s\"", i,
					     rule->name);
	}
	return rc;
}

int rule_file_parse(const struct rule_file *kind, void *into, struct arena *arena, const char *text,
		    size_t length, struct err *err)
{
	cJSON *json = NULL;
	int rc = json_parse(&json, text, length, RULES_DEPTH, RULES_VALUES, err);

	if (rc == 0 && !cJSON_IsObject(json))
		rc = err_set(err, -EINVAL, "is not an object of %s", kind->of);
	if (rc == 0)
		rc = options_parse(kind->tables, into, json, "", arena, err);
	if (rc == 0)
		rc = kind->check(into, err);
	cJSON_Delete(json);
	return rc;
}

int rule_file_read(const struct rule_file *kind, void *into, struct arena *arena, const char *path,
		   struct err *err)
{
	char *text = NULL;
	size_t length;
	int rc = file_read(path, RULES_BYTES_MAX, &text, &length, err);

	if (rc == 0 && length > RULES_BYTES_MAX)
		rc = err_set(err, -EINVAL, "is larger than 1 MiB");
	if (rc == 0)
		rc = rule_file_parse(kind, into, arena, text, length, err);
	free(text);
	return rc < 0 ? err_wrap(err, rc, "%s", path) : 0;
}

static const struct rule_file rules_file = {rules_tables, "rules", rules_check};

int rules_parse(struct rules *r, const char *text, size_t length, struct err *err)
{
	memset(r, 0, sizeof(*r));
	return rule_file_parse(&rules_file, r, &r->arena, text, length, err);
}

/* Adds those of the base that r does not have. */
static int rules_add(struct rules *r, const struct rules *base, struct err *err)
{
	uint32_t own = r->count;

	if (*base->base)
		return err_set(err, -EINVAL, "/base: %s has a base, too", r->base);
	for (uint32_t i = 0; i < base->count; i++) {
		bool there = false;

		for (uint32_t k = 0; k < own; k++)
			there |= strcmp(r->rules[k].name, base->rules[i].name) == 0;
		if (there)
			continue;
		if (r->count == RULES_MAX)
			return err_set(err, -EINVAL, "/rules: with those of %s more than %d",
				       r->base, RULES_MAX);
		r->rules[r->count++] = base->rules[i];
	}
	return 0;
}

int rules_read(struct rules *r, const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	struct rules *base;
	char beside[4096];
	int rc;

	memset(r, 0, sizeof(*r));
	rc = rule_file_read(&rules_file, r, &r->arena, path, err);
	if (rc < 0 || !*r->base)
		return rc;
	snprintf(beside, sizeof(beside), "%.*s%s", slash ? (int)(slash - path + 1) : 0, path,
		 r->base);
	base = calloc(1, sizeof(*base));
	rc = base ? rule_file_read(&rules_file, base, &r->arena, beside, err)
		  : err_set(err, -ENOMEM, "no memory for the rules");
	if (rc == 0)
		rc = rules_add(r, base, err);
	free(base);
	return rc < 0 ? err_wrap(err, rc, "%s", path) : 0;
}

struct rule_sizes rules_sizes(const struct rules *r)
{
	struct rule_sizes sizes = {0};

	for (uint32_t i = 0; i < r->count; i++) {
		if (strcmp(r->rules[i].name, "training.steps") == 0)
			sizes.steps = r->rules[i].asks.value;
		if (strcmp(r->rules[i].name, "training.memory") == 0)
			sizes.memories = r->rules[i].asks.value;
	}
	return sizes;
}

void rules_free(struct rules *r)
{
	arena_free(&r->arena);
}
