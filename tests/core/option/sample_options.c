/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/core/option/sample_options.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <string.h>

#include "core/json.h"
#include "tests/unit.h"

const char *const inner_names[] = {"slow", "quick", NULL};
const char *const phase_filter_names[] = {"red", "green", "blue", NULL};
const struct option inner_options[] = {
	OPT_CHOICE("kind", struct inner, kind, .choices = inner_names, .help = "how"),
	OPT_U64("workers", struct inner, workers, .def = 4, .max = 8, .help = "how many"), OPT_END};
const struct option all_options[] = {
	OPT_U64("number", struct all, number, .def = 1, .min = 1, .max = 1 << 20,
		.help = "samples a rank takes each step"),
	OPT_BYTES("size", struct all, size, .def = 65536, .min = 4096, .max = 1 << 30,
		  .help = "of a request"),
	OPT_TIME("time", struct all, time_ns, .def = 5000000, .min = 1000, .max = 60000000000,
		 .help = "to wait"),
	OPT_RATE("rate", struct all, rate, .help = "at most"),
	OPT_U64("unset", struct all, unset, .def = 0, .min = 5, .help = "not given by default"),
	OPT_REAL("real", struct all, real, .def_real = 0.9, .min_real = 0, .max_real = 1,
		 .help = "share"),
	OPT_BOOL("yes", struct all, yes, .def = true, .help = "or no"),
	OPT_TEXT("text", struct all, text, .def_text = "abc", .help = "some words"),
	OPT_TEXTS("texts", struct all, texts, .def_text = "one", .help = "more words"),
	OPT_END};
static const struct option more_options[] = {
	OPT_CHOICE("choice", struct all, choice, .def = 1, .choices = phase_filter_names,
		   .help = "of a colour"),
	OPT_DRAW("draw", struct all, draw, .def_real = 2e6, .help = "a time"),
	OPT_FACTORS("factors", struct all, factors, .min_real = 0.5, .max_real = 2,
		    .help = "by index"),
	OPT_TABLE("inner", struct all, inner, .table = inner_options, .help = "more"),
	OPT_LIST("list", struct all, list, listed, .table = inner_options, .help = "several"),
	OPT_END};
const struct option *const tables[] = {all_options, more_options, NULL};

int parse(const char *text, struct all *all, struct arena *arena, struct err *err)
{
	struct cJSON *tree = NULL;
	int rc = json_parse(&tree, text, strlen(text), 32, 10000, err);

	CU_ASSERT_EQUAL_FATAL(rc, 0);
	rc = options_parse(tables, all, tree, "/p", arena, err);
	cJSON_Delete(tree);
	return rc;
}
