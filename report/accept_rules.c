/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of an acceptance, read from a JSON file: see accept.h. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/file_read.h"
#include "core/json.h"
#include "core/option/option.h"
#include "report/accept.h"

enum { RULES_BYTES_MAX = 1 << 20, RULES_DEPTH = 8, RULES_VALUES = 1 << 14 };

/* A criterion that is not asked for. */
static const double accept_none_real = -1;
#define ACCEPT_NONE UINT64_MAX

#define ACCEPT_DEFAULT_RATE .def = ACCEPT_NONE, .def_text = "none"
#define ACCEPT_DEFAULT_TIME .def = ACCEPT_NONE, .def_text = "none"
#define ACCEPT_DEFAULT_U64  .def = ACCEPT_NONE, .def_text = "none"
#define ACCEPT_DEFAULT_REAL .def_real = -1, .min_real = 0, .max_real = 1e15, .def_text = "none"
#define ACCEPT_DEFAULT_BOOL .def = 0

/* clang-format off */
static const struct option rule_options[] = {
	OPT_TEXT("phase", struct accept_rule, phase, .required = true, .help = "name or kind of the phase"),
	OPT_TEXT("histogram", struct accept_rule, histogram,
		 .help = "of most_p99; default: the phase's main one"),
#define ACCEPT_OPTION(id, key, type, least, label, unit, words) \
	OPT_##type(key, struct accept_rule, bound_##id, ACCEPT_DEFAULT_##type, .help = words),
	ACCEPT_LIST(ACCEPT_OPTION)
#undef ACCEPT_OPTION
	OPT_END
};
/* clang-format on */

static const char *const judges[] = {"mean", "interval", NULL};
static const struct option rules_options[] = {
	OPT_CHOICE("judge", struct accept_rules, judge, .choices = judges,
		   .help = "what is compared with a bound: the mean of the repeats, or the nearer "
			   "end of its interval"),
	OPT_LIST("rules", struct accept_rules, rules, count, .required = true, .min = 1,
		 .table = rule_options, .help = "the rules"),
	OPT_END};
static const struct option *const rules_tables[] = {rules_options, NULL};

bool accept_bound(const struct accept_rule *rule, enum accept_criterion criterion, double *bound)
{
	const struct accept_kind *kind = &accept_kinds[criterion];
	const struct column column = {.type = kind->type, .offset = kind->offset};
	double value = column_number(&column, rule);

	/* A flag asks that something is not, or does not ask at all. */
	*bound = kind->type == COLUMN_FLAG ? 0 : value;
	if (kind->type == COLUMN_FLAG)
		return value > 0;
	return kind->type == COLUMN_REAL ? value > accept_none_real : value < (double)ACCEPT_NONE;
}

static int accept_check(const struct accept_rules *r, struct err *err)
{
	double bound;

	for (uint32_t i = 0; i < r->count; i++) {
		bool any = false;

		for (int c = 0; c < ACCEPT_CRITERIA; c++)
			any |= accept_bound(&r->rules[i], (enum accept_criterion)c, &bound);
		if (!any)
			return err_set(err, -EINVAL, "/rules/%u: has no criterion", i);
	}
	return 0;
}

static int accept_parse(struct accept_rules *r, const char *text, size_t length, struct err *err)
{
	struct arena arena = {0};
	cJSON *json = NULL;
	int rc = json_parse(&json, text, length, RULES_DEPTH, RULES_VALUES, err);

	if (rc == 0 && !cJSON_IsObject(json))
		rc = err_set(err, -EINVAL, "is not an object of rules");
	if (rc == 0)
		rc = options_parse(rules_tables, r, json, "", &arena, err);
	if (rc == 0)
		rc = accept_check(r, err);
	cJSON_Delete(json);
	arena_free(&arena);
	return rc;
}

int accept_rules_read(struct accept_rules *r, const char *path, struct err *err)
{
	char *text = NULL;
	size_t length;
	int rc = file_read(path, RULES_BYTES_MAX, &text, &length, err);

	memset(r, 0, sizeof(*r));
	if (rc == 0 && length > RULES_BYTES_MAX)
		rc = err_set(err, -EINVAL, "is larger than 1 MiB");
	if (rc == 0)
		rc = accept_parse(r, text, length, err);
	free(text);
	return rc < 0 ? err_wrap(err, rc, "%s", path) : 0;
}
