/* SPDX-License-Identifier: Apache-2.0 */
/* Criteria of an acceptance: their values in a phase's tree, and the file that has their bounds. See
 * accept.h. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json_path.h"
#include "core/numbers.h"
#include "report/accept/accept.h"
#include "report/client_side.h"
#include "report/doubt.h"

static double accept_latency(const struct accept_rule *r, const char *fact, const cJSON *tree)
{
	char path[ACCEPT_NAME_BYTES + 24];

	snprintf(path, sizeof(path), "/latency_ns/%s/p99", r->histogram);
	return json_number_at(tree, *r->histogram ? path : fact, NAN);
}

/* The figure that the fact names. */
static double accept_main(const struct accept_rule *r, const char *fact, const cJSON *tree)
{
	(void)r;
	return json_number_at(json_at(tree, "rates"), json_text_at(tree, fact, "none"), NAN);
}

/* The mean of a column over the checkpoints that have it. */
static double accept_checkpoints(const struct accept_rule *r, const char *fact, const cJSON *tree)
{
	const cJSON *row;
	double sum = 0;
	unsigned n = 0;

	(void)r;
	cJSON_ArrayForEach(row, json_at(tree, "checkpoints"))
	{
		double value = json_number_at(row, fact, 0);

		sum += value;
		n += value > 0;
	}
	return n ? sum / n : NAN;
}

/* Whether the kernel's ticks are too few to judge the client by. */
static bool accept_short(const cJSON *tree)
{
	return json_number_at(tree, "seconds", 0) < client_shortest_s;
}

/* 1: the client was the limit. NaN where that is not known. */
double accept_client(const struct accept_rule *r, const char *fact, const cJSON *tree)
{
	(void)r;
	if (accept_short(tree) || !json_at(tree, "client"))
		return NAN;
	return json_at(tree, fact) != NULL;
}

/* How many doubts make the figures void; NaN where there is none, and not all could be looked for. */
double accept_doubts(const struct accept_rule *r, const char *fact, const cJSON *tree)
{
	bool known = json_at(tree, "errors") && (json_at(tree, "client") || accept_short(tree));
	const cJSON *doubt;
	double n = 0;

	(void)r;
	cJSON_ArrayForEach(doubt, json_at(tree, fact))
	{
		const char *name = json_text_at(doubt, "doubt", "");

		n += json_true_at(doubt, "voids");
		known &= strcmp(name, doubt_kinds[DOUBT_CACHE_UNKNOWN].name) != 0 &&
			 strcmp(name, doubt_kinds[DOUBT_DETAILS].name) != 0;
	}
	return n > 0 || known ? n : NAN;
}

/* clang-format off */
#define FIGURE(k, l, u, f, h, ...) {.key = (k), .label = (l), .unit = (u), .fact = (f), .help = (h), __VA_ARGS__}
#define RATE(k, l, f, h) FIGURE(k, l, "B/s", f, h, .type = OPTION_RATE, .least = true)
#define REAL(k, l, u, f, h, ...) FIGURE(k, l, u, f, h, .type = OPTION_REAL, __VA_ARGS__)
#define TIME(k, l, f, h, ...) FIGURE(k, l, "ns", f, h, .type = OPTION_TIME, __VA_ARGS__)
#define UNKNOWN(w, s) .why = (w), .settles = (s)
const struct accept_kind accept_kinds[] = {
	RATE("least_rate", "bandwidth", "rates.bytes_per_second", "bytes per second of all ranks"),
	RATE("least_write_rate", "bandwidth of writing", "rates.bytes_written_per_second",
	     "bytes per second written by all ranks: checkpoints, caches, replays"),
	RATE("least_read_rate", "bandwidth of reading", "rates.bytes_read_per_second",
	     "bytes per second read by all ranks: checkpoints, caches, replays"),
	REAL("least_operations", "operations", "1/s", "rates.operations_per_second", "operations per second", .least = true),
	REAL("least_samples", "samples", "1/s", "rates.samples_per_second", "samples per second", .least = true),
	REAL("least_au", "AU", "fraction", "rates.au", "accelerator utilisation, 0 to 1", .least = true, .possible = 1),
	TIME("most_p99", "99th percentile", "rates.p99_ns", "of the latencies of the histogram",
	     .value = accept_latency,
	     UNKNOWN("the phase has no such latencies", "let \"histogram\" name some that it has")),
	REAL("least_node_share", "the slowest node", "fraction", "slowest_node_share",
	     "bytes per second of the slowest node, as a share of the median node's", .least = true,
	     UNKNOWN("there are no rates of several nodes", "run on several nodes")),
	REAL("most_cv", "coefficient of variation", "fraction", "rates.main",
	     "of the phase's rate over the repeats", .over = ACCEPT_VARIATION,
	     .value = accept_main,
	     UNKNOWN("that takes several repeats with a rate", "run with --repeat 3")),
	FIGURE("most_errors", "errors", "", "errors", "operations that failed for good, in any repeat",
	       .type = OPTION_U64, .over = ACCEPT_WORST, .finished = true),
	REAL("most_cached", "share from the page cache", "fraction", "rates.cached_share",
	     "of the bytes looked at, in any repeat", .over = ACCEPT_WORST,
	     UNKNOWN("what the page cache held is not known",
		     "read with \"cold\", as a user who may write the files")),
	FIGURE("client_not_limit", "the client", "", "client.limit",
	       "the nodes that ran haul were not the limit, in any repeat", .type = OPTION_BOOL,
	       .over = ACCEPT_WORST, .value = accept_client,
	       UNKNOWN("what the nodes did is not known, or the phase was too short to tell",
		       "let the phase run for a second or longer")),
	FIGURE("no_doubt", "doubts", "", "doubts",
	       "nothing makes the figures void (docs/targets.md), in any repeat", .type = OPTION_BOOL,
	       .over = ACCEPT_WORST, .value = accept_doubts,
	       UNKNOWN("whether something makes the figures void is not known",
		       "run for a second or longer, and read as a user who may write the files")),
	TIME("most_checkpoint_time", "time of a checkpoint", "write_ns",
	     "until its slowest rank had written it, on average", .value = accept_checkpoints,
	     UNKNOWN("no checkpoint was written", "let the rule name a phase that writes some")),
	TIME("most_restore_time", "time of a restore", "read_ns",
	     "until its slowest rank had read the checkpoint, on average", .value = accept_checkpoints,
	     UNKNOWN("no checkpoint was read", "let the rule name a phase that reads some")),
	{.key = NULL},
};
_Static_assert(COUNT(accept_kinds) <= ACCEPT_CRITERIA_MAX + 1, "a rule has a place for each bound");
/* clang-format on */

/* A criterion that is not asked for. */
#define ACCEPT_NONE UINT64_MAX
static const double accept_none = -1, accept_most = 1e15;
enum { RULE_OPTIONS = 2 }; /* before those of the criteria */

/* The options of a rule: a criterion is one. */
static void accept_options(struct option options[RULE_OPTIONS + ACCEPT_CRITERIA_MAX + 1])
{
	const struct option first[RULE_OPTIONS] = {
		OPT_TEXT("phase", struct accept_rule, phase, .required = true,
			 .help = "name or kind of the phase"),
		OPT_TEXT("histogram", struct accept_rule, histogram,
			 .help = "of most_p99; default: the phase's main one")};
	struct option *end = options + RULE_OPTIONS;

	memcpy(options, first, sizeof(first));
	for (int i = 0; accept_kinds[i].key; i++) {
		const struct accept_kind *kind = &accept_kinds[i];
		struct option *o = end++;

		*o = (struct option){.name = kind->key,
				     .kind = kind->type,
				     .offset = (uint32_t)offsetof(struct accept_rule, bounds[i]),
				     .size = sizeof(uint64_t),
				     .def = kind->type == OPTION_BOOL ? 0 : ACCEPT_NONE,
				     .def_text = kind->type == OPTION_BOOL ? NULL : "none",
				     .help = kind->help};
		if (kind->type == OPTION_BOOL)
			o->size = sizeof(bool);
		if (kind->type == OPTION_REAL) {
			o->def_real = accept_none;
			o->max_real = accept_most;
		}
	}
	*end = (struct option)OPT_END;
}

bool accept_bound(const struct accept_rule *r, int criterion, double *bound)
{
	switch (accept_kinds[criterion].type) {
	case OPTION_BOOL: /* asks that something is not */
		*bound = 0;
		return r->bounds[criterion].flag;
	case OPTION_REAL:
		*bound = r->bounds[criterion].real;
		return *bound > accept_none;
	default:
		*bound = (double)r->bounds[criterion].whole;
		return r->bounds[criterion].whole != ACCEPT_NONE;
	}
}

static int accept_check(const void *into, struct err *err)
{
	const struct accept_rules *r = into;
	double bound;

	for (uint32_t i = 0; i < r->count; i++) {
		bool any = false;

		for (int c = 0; accept_kinds[c].key; c++)
			any |= accept_bound(&r->rules[i], c, &bound);
		if (!any)
			return err_set(err, -EINVAL, "/rules/%u: has no criterion", i);
	}
	return 0;
}

int accept_rules_read(struct accept_rules *r, const char *path, struct err *err)
{
	static const char *const judges[] = {"mean", "interval", NULL};
	struct option rule[RULE_OPTIONS + ACCEPT_CRITERIA_MAX + 1];
	const struct option options[] = {
		OPT_CHOICE("judge", struct accept_rules, judge, .choices = judges,
			   .help = "what is compared with a bound: the mean of the repeats, or the "
				   "nearer end of its interval"),
		OPT_LIST("rules", struct accept_rules, rules, count, .required = true, .min = 1,
			 .table = rule, .help = "the rules"),
		OPT_END};
	const struct option *const tables[] = {options, NULL};
	const struct rule_file kind = {tables, "rules", accept_check};
	struct arena arena = {0};
	int rc;

	memset(r, 0, sizeof(*r));
	accept_options(rule);
	rc = rule_file_read(&kind, r, &arena, path, err);
	arena_free(&arena);
	return rc;
}
