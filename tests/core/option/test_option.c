/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of option tables: parsing, defaults, bounds, presets and messages. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "tests/core/option/sample_options.h"
#include "tests/unit.h"

static void defaults(void)
{
	struct arena arena = {0};
	struct err err;
	struct all a;

	memset(&a, 0xff, sizeof(a));
	CU_ASSERT_EQUAL_FATAL(options_parse(tables, &a, NULL, "/p", &arena, &err), 0);
	CU_ASSERT_EQUAL(a.number, 1);
	CU_ASSERT_EQUAL(a.size, 65536);
	CU_ASSERT_EQUAL(a.time_ns, 5000000);
	CU_ASSERT_EQUAL(a.rate, 0);
	CU_ASSERT_EQUAL(a.unset, 0);
	CU_ASSERT_EQUAL(a.real, 0.9);
	CU_ASSERT_TRUE(a.yes);
	CU_ASSERT_STRING_EQUAL(a.text, "abc");
	CU_ASSERT_EQUAL(a.texts.count, 1);
	CU_ASSERT_STRING_EQUAL(a.texts.items[0], "one");
	CU_ASSERT_EQUAL(a.choice, 1);
	CU_ASSERT_EQUAL(a.draw.kind, DRAW_CONSTANT);
	CU_ASSERT_EQUAL(a.draw.a, 2e6);
	CU_ASSERT_EQUAL(a.factors.count, 0);
	CU_ASSERT_EQUAL(a.inner.kind, 0);
	CU_ASSERT_EQUAL(a.inner.workers, 4);
	CU_ASSERT_EQUAL(a.listed, 0);
	arena_free(&arena);
}

static void values(void)
{
	static const char text[] =
		"{\"number\": \"12\", \"size\": \"1 MiB\", \"time\": 0.25, \"rate\": \"2 GB/s\", \"unset\": 7,"
		"\"real\": 1, \"yes\": false, \"text\": \"seven77\", \"texts\": [\"a\", \"b\"], \"choice\": \"blue\","
		"\"draw\": {\"type\": \"uniform\", \"min\": \"1 ms\", \"max\": 0.002},"
		"\"factors\": {\"7\": 0.5, \"0\": 2}, \"inner\": \"quick\","
		"\"list\": [{\"workers\": 7}, \"quick\", {\"kind\": \"quick\", \"workers\": 1}]}";
	struct arena arena = {0};
	struct err err;
	struct all a;

	CU_ASSERT_EQUAL_FATAL(parse(text, &a, &arena, &err), 0);
	CU_ASSERT_EQUAL(a.number, 12);
	CU_ASSERT_EQUAL(a.size, 1 << 20);
	CU_ASSERT_EQUAL(a.time_ns, 250000000);
	CU_ASSERT_EQUAL(a.rate, 2000000000);
	CU_ASSERT_EQUAL(a.unset, 7);
	CU_ASSERT_EQUAL(a.real, 1);
	CU_ASSERT_FALSE(a.yes);
	CU_ASSERT_STRING_EQUAL(a.text, "seven77");
	CU_ASSERT_EQUAL(a.texts.count, 2);
	CU_ASSERT_STRING_EQUAL(a.texts.items[1], "b");
	CU_ASSERT_EQUAL(a.choice, 2);
	CU_ASSERT_EQUAL(a.draw.kind, DRAW_UNIFORM);
	CU_ASSERT_EQUAL(a.draw.a, 1e6);
	CU_ASSERT_EQUAL(a.draw.b, 2e6);
	CU_ASSERT_EQUAL(a.factors.count, 2);
	CU_ASSERT_EQUAL(a.factors.index[0], 7);
	CU_ASSERT_EQUAL(a.factors.factor[1], 2);
	CU_ASSERT_EQUAL(a.inner.kind, 1);
	CU_ASSERT_EQUAL(a.inner.workers, 4);
	CU_ASSERT_EQUAL_FATAL(a.listed, 3);
	CU_ASSERT_EQUAL(a.list[0].kind, 0);
	CU_ASSERT_EQUAL(a.list[0].workers, 7);
	CU_ASSERT_EQUAL(a.list[1].kind, 1);
	CU_ASSERT_EQUAL(a.list[1].workers, 4);
	CU_ASSERT_EQUAL(a.list[2].workers, 1);
	arena_free(&arena);
}

static void draws(void)
{
	static const struct {
		const char *text;
		struct draw draw;
	} cases[] = {
		{"{\"draw\": \"93.254 ms\"}", {DRAW_CONSTANT, 93254000, 0}},
		{"{\"draw\": {\"type\": \"normal\", \"mean\": \"5 ms\", \"stdev\": 0.001}}",
		 {DRAW_NORMAL, 5e6, 1e6}},
		{"{\"draw\": {\"type\": \"gamma\", \"shape\": 2.5, \"scale\": \"3 us\"}}",
		 {DRAW_GAMMA, 2.5, 3000}},
		{"{\"draw\": {\"type\": \"exponential\", \"mean\": \"1 s\"}}",
		 {DRAW_EXPONENTIAL, 1e9, 0}},
		{"{\"draw\": {\"type\": \"poisson\", \"mean\": 5}}", {DRAW_POISSON, 5, 1e6}},
		{"{\"draw\": {\"mean\": 0.5, \"unit\": \"1 us\", \"type\": \"poisson\"}}",
		 {DRAW_POISSON, 0.5, 1000}},
	};
	struct arena arena = {0};
	struct err err;
	struct all a;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL_FATAL(parse(cases[i].text, &a, &arena, &err), 0);
		CU_ASSERT_EQUAL(a.draw.kind, cases[i].draw.kind);
		CU_ASSERT_EQUAL(a.draw.a, cases[i].draw.a);
		CU_ASSERT_EQUAL(a.draw.b, cases[i].draw.b);
	}
	arena_free(&arena);
}

static void refusals(void)
{
	static const char *const cases[][2] = {
		{"{\"numbr\": 1}", "/p/numbr: unknown key; did you mean \"number\"?"},
		{"{\"NUMBER\": 1}", "/p/NUMBER: unknown key; did you mean \"number\"?"},
		{"{\"zzzzzz\": 1}",
		 "/p/zzzzzz: unknown key; known are: number, size, time, rate, unset, real, yes, text, "
		 "texts, choice, draw, factors, inner, list"},
		{"{\"a/b~\\n\": 1}",
		 "/p/a~1b~0\\n: unknown key; known are: number, size, time, rate, unset, real, yes, text, "
		 "texts, choice, draw, factors, inner, list"},
		{"{\"number\": 1, \"number\": 1}", "/p/number: given twice"},
		{"{\"number\": 0}", "/p/number: must be at least 1, is 0"},
		{"{\"number\": -3}", "/p/number: must be at least 1, is -3"},
		{"{\"number\": 1048577}", "/p/number: must be at most 1048576, is 1048577"},
		{"{\"number\": 1.5}", "/p/number: must be a whole number, is 1.5"},
		{"{\"number\": \"1.5\"}", "/p/number: must be a whole number, is \"1.5\""},
		{"{\"number\": \"-1\"}", "/p/number: must be a whole number, is \"-1\""},
		{"{\"number\": \"\"}", "/p/number: must be a whole number, is \"\""},
		{"{\"number\": \"four\"}", "/p/number: must be a whole number, is \"four\""},
		{"{\"number\": true}", "/p/number: must be a whole number, is true"},
		{"{\"number\": null}", "/p/number: must be a whole number, is null"},
		{"{\"number\": []}", "/p/number: must be a whole number, is a list"},
		{"{\"number\": {}}", "/p/number: must be a whole number, is an object"},
		{"{\"number\": 9007199254740992}",
		 "/p/number: whole numbers of 2^53 and more are written as strings, in quotes"},
		{"{\"number\": \"18446744073709551616\"}",
		 "/p/number: must be below 2^64, is \"18446744073709551616\""},
		{"{\"size\": 1.5}", "/p/size: must be a whole number of bytes, is 1.5"},
		{"{\"size\": 1}", "/p/size: must be at least 4 KiB, is 1 B"},
		{"{\"size\": \"2 GiB\"}", "/p/size: must be at most 1 GiB, is 2 GiB"},
		{"{\"size\": true}",
		 "/p/size: must be a number of bytes or a size such as \"140 MiB\", is true"},
		{"{\"size\": \"-1 MiB\"}",
		 "/p/size: \"-1 MiB\" is not a size: it must not be negative"},
		{"{\"time\": 1e-7}", "/p/time: must be at least 1 us, is 100 ns"},
		{"{\"time\": -1}", "/p/time: must be at least 1 us, is -1"},
		{"{\"time\": 61}", "/p/time: must be at most 1 min, is 61 s"},
		{"{\"time\": 1e11}", "/p/time: must be below 2^64 ns, is 100000000000 s"},
		{"{\"time\": []}",
		 "/p/time: must be a number of seconds or a time such as \"323 ms\", is a list"},
		{"{\"rate\": false}",
		 "/p/rate: must be a number of bytes per second or a rate such as \"2 GB/s\", is false"},
		{"{\"rate\": \"2 kg\"}",
		 "/p/rate: \"2 kg\" is not a rate: unknown unit \"kg\"; known are B/s, kB/s, MB/s, GB/s, "
		 "TB/s, PB/s, EB/s, KiB/s, MiB/s, GiB/s, TiB/s, PiB/s, EiB/s"},
		{"{\"unset\": 0}", "/p/unset: must be at least 5, is 0"},
		{"{\"real\": \"0.5\"}", "/p/real: must be a number, is \"0.5\""},
		{"{\"real\": 1.01}", "/p/real: must be at most 1, is 1.01"},
		{"{\"real\": -0.1}", "/p/real: must be at least 0, is -0.1"},
		{"{\"yes\": 1}", "/p/yes: must be true or false, is 1"},
		{"{\"text\": 1}", "/p/text: must be a string, is 1"},
		{"{\"text\": \"eight888\"}", "/p/text: must be at most 7 bytes long, is 8"},
		{"{\"text\": \"a\\nb\"}",
		 "/p/text: must not hold control characters, is \"a\\nb\""},
		{"{\"texts\": 1}", "/p/texts: must be a string or a list of strings, is 1"},
		{"{\"texts\": [\"a\", 1]}", "/p/texts/1: must be a string, is 1"},
		{"{\"texts\": [\"a\", \"\\u0007\"]}",
		 "/p/texts/1: must not hold control characters, is \"\\u0007\""},
		{"{\"choice\": \"gren\"}",
		 "/p/choice: must be \"red\", \"green\" or \"blue\", is \"gren\"; did you mean \"green\"?"},
		{"{\"choice\": 1}", "/p/choice: must be \"red\", \"green\" or \"blue\", is 1"},
		{"{\"draw\": true}",
		 "/p/draw: must be a number of seconds or a time such as \"323 ms\", is true"},
		{"{\"draw\": {}}", "/p/draw/type: is missing; a distribution needs one"},
		{"{\"draw\": {\"type\": \"normall\"}}",
		 "/p/draw/type: must be \"normal\", \"uniform\", \"gamma\", \"exponential\" or \"poisson\", is \"normall\"; "
		 "did you mean \"normal\"?"},
		{"{\"draw\": {\"type\": \"normal\", \"mean\": 1}}", "/p/draw/stdev: is missing"},
		{"{\"draw\": {\"type\": \"normal\", \"mean\": -1, \"stdev\": 1}}",
		 "/p/draw/mean: must be at least 0 s, is -1"},
		{"{\"draw\": {\"type\": \"normal\", \"mean\": 1, \"stdv\": 1}}",
		 "/p/draw/stdv: unknown key; did you mean \"stdev\"?"},
		{"{\"draw\": {\"type\": \"uniform\", \"min\": 2, \"max\": 1}}",
		 "/p/draw/max: must not be less than min"},
		{"{\"draw\": {\"type\": \"gamma\", \"shape\": 0, \"scale\": 1}}",
		 "/p/draw/shape: must be at least 0.001, is 0"},
		{"{\"factors\": [1]}",
		 "/p/factors: must be an object such as {\"3\": 0.25}, is a list"},
		{"{\"factors\": {\"x\": 1}}",
		 "/p/factors/x: the key must be an index, such as \"3\""},
		{"{\"factors\": {\"01\": 1}}",
		 "/p/factors/01: the key must be an index, such as \"3\""},
		{"{\"factors\": {\"4294967295\": 1}}",
		 "/p/factors/4294967295: the key must be an index, such as \"3\""},
		{"{\"factors\": {\"1\": 1, \"1\": 1}}", "/p/factors/1: given twice"},
		{"{\"factors\": {\"1\": 0.25}}", "/p/factors/1: must be at least 0.5, is 0.25"},
		{"{\"inner\": {\"workers\": 9}}", "/p/inner/workers: must be at most 8, is 9"},
		{"{\"inner\": {\"worker\": 9}}",
		 "/p/inner/worker: unknown key; did you mean \"workers\"?"},
		{"{\"inner\": \"swift\"}", "/p/inner: must be \"slow\" or \"quick\", is \"swift\""},
		{"{\"inner\": []}", "/p/inner: must be an object, is a list"},
		{"{\"inner\": null}", "/p/inner: must be an object, is null"},
		{"{\"list\": {}}", "/p/list: must be a list, is an object"},
		{"{\"list\": \"quick\"}", "/p/list: must be a list, is \"quick\""},
		{"{\"list\": [{}, {\"workers\": 9}]}",
		 "/p/list/1/workers: must be at most 8, is 9"},
		{"{\"list\": [{}, {}, {\"wokers\": 9}]}",
		 "/p/list/2/wokers: unknown key; did you mean \"workers\"?"},
		{"{\"list\": [{}, \"swift\"]}",
		 "/p/list/1: must be \"slow\" or \"quick\", is \"swift\""},
		{"{\"list\": [[]]}", "/p/list/0: must be an object, is a list"},
		{"{\"list\": [{}, {}, {}, {}]}", "/p/list: must hold at most 3 entries"},
		{"[]", "/p: must be an object, is a list"},
		{"7", "/p: must be an object, is 7"},
	};
	struct arena arena = {0};
	struct err err;
	struct all a;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err.text[0] = '\0';
		CU_ASSERT_EQUAL(parse(cases[i][0], &a, &arena, &err), -EINVAL);
		if (strcmp(err.text, cases[i][1])) {
			fprintf(stderr, "%s\nfound:    %s\nexpected: %s\n", cases[i][0], err.text,
				cases[i][1]);
			CU_FAIL("a different sentence");
		}
	}
	arena_free(&arena);
}

static void too_many_factors(void)
{
	char text[1024] = "{\"factors\": {\"0\": 1";
	struct arena arena = {0};
	struct err err;
	struct all a;
	int i;

	for (i = 1; i <= FACTORS_MAX; i++)
		sprintf(text + strlen(text), ",\"%d\":1", i);
	strcat(text, "}}");
	CU_ASSERT_EQUAL(parse(text, &a, &arena, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "/p/factors: must hold at most 64 factors");
	arena_free(&arena);
}

/* An object of a hundred thousand keys is refused at its first key and is not compared pair by
 * pair. */
static void many_keys_are_cheap(void)
{
	size_t n = 100000, i;
	char *text = malloc(n * 16), *p = text;
	struct arena arena = {0};
	struct cJSON *tree;
	struct err err;
	struct all a;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	*p++ = '{';
	for (i = 0; i < n; i++)
		p += sprintf(p, "%s\"k%zu\":0", i ? "," : "", i);
	*p++ = '}';
	CU_ASSERT_EQUAL_FATAL(json_parse(&tree, text, (size_t)(p - text), 32, 1 << 20, &err), 0);
	CU_ASSERT_EQUAL(options_parse(tables, &a, tree, "/p", &arena, &err), -EINVAL);
	CU_ASSERT_NSTRING_EQUAL(err.text, "/p/k0: unknown key", 18);
	cJSON_Delete(tree);
	arena_free(&arena);
	free(text);
}

static void parts_and_others(void)
{
	static const struct option *const first[] = {all_options, NULL}, *const second[] = {
										 inner_options,
										 NULL};
	static const char *const others[] = {"stores", NULL};
	static const char good[] = "{\"stores\": 1, \"workers\": 2, \"number\": 3}",
			  near[] = "{\"store\": 1}", twice[] = "{\"stores\": 1, \"stores\": 2}";
	struct inner inner;
	struct all all;
	struct option_part parts[] = {{first, &all}, {second, &inner}};
	struct arena arena = {0};
	struct cJSON *tree;
	struct err err;

	CU_ASSERT_EQUAL_FATAL(json_parse(&tree, good, strlen(good), 2, 9, &err), 0);
	CU_ASSERT_EQUAL(options_parse_parts(parts, 2, others, tree, "", &arena, &err), 0);
	CU_ASSERT_EQUAL(inner.workers, 2);
	CU_ASSERT_EQUAL(all.number, 3);
	cJSON_Delete(tree);
	CU_ASSERT_EQUAL_FATAL(json_parse(&tree, near, strlen(near), 2, 9, &err), 0);
	CU_ASSERT_EQUAL(options_parse_parts(parts, 2, others, tree, "", &arena, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "/store: unknown key; did you mean \"stores\"?");
	cJSON_Delete(tree);
	CU_ASSERT_EQUAL_FATAL(json_parse(&tree, twice, strlen(twice), 2, 9, &err), 0);
	CU_ASSERT_EQUAL(options_parse_parts(parts, 2, others, tree, "", &arena, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "/stores: given twice");
	cJSON_Delete(tree);
	arena_free(&arena);
}

/* A preset of the choice: it sets other options, which the job may still override. */
static void paint(void *into)
{
	struct all *a = into;

	a->number = a->choice == 2 ? 77 : 1;
	a->inner.workers = a->choice == 2 ? 8 : 4;
	a->inner.kind = 1;
}

/* A choice can set defaults of other options, whatever the order of the keys. */
static void presets(void)
{
	static const struct option painted[] = {
		OPT_CHOICE("choice", struct all, choice, .def = 1, .choices = phase_filter_names,
			   .preset = paint, .help = "of a colour"),
		OPT_TABLE("inner", struct all, inner, .table = inner_options, .help = "more"),
		OPT_END};
	static const struct option *const with[] = {all_options, painted, NULL};
	static const struct {
		const char *text;
		uint64_t number, workers;
		uint32_t kind;
	} cases[] = {
		{"{}", 1, 4, 0},
		{"{\"choice\": \"blue\"}", 77, 8, 1},
		{"{\"choice\": \"green\"}", 1, 4, 1},
		{"{\"number\": 5, \"choice\": \"blue\"}", 5, 8, 1},
		{"{\"choice\": \"blue\", \"number\": 1}", 1, 8, 1},
		{"{\"inner\": {\"workers\": 2}, \"choice\": \"blue\"}", 77, 2, 1},
		{"{\"inner\": \"slow\", \"choice\": \"blue\"}", 77, 8, 0},
	};
	struct cJSON *tree;
	struct err err;
	struct all a;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena arena = {0};

		CU_ASSERT_EQUAL_FATAL(
			json_parse(&tree, cases[i].text, strlen(cases[i].text), 32, 10000, &err),
			0);
		CU_ASSERT_EQUAL(options_parse(with, &a, tree, "/p", &arena, &err), 0);
		CU_ASSERT_EQUAL(a.number, cases[i].number);
		CU_ASSERT_EQUAL(a.inner.workers, cases[i].workers);
		CU_ASSERT_EQUAL(a.inner.kind, cases[i].kind);
		cJSON_Delete(tree);
		arena_free(&arena);
	}
}

static void hurry(void *into)
{
	struct inner *i = into;

	i->workers = i->kind ? 7 : 3;
}

/* A bare value that stands for a table's first option has that option's preset, too. */
static void preset_of_a_bare_value(void)
{
	static const struct option hurried[] = {
		OPT_CHOICE("kind", struct inner, kind, .choices = inner_names, .preset = hurry,
			   .help = "how"),
		OPT_U64("workers", struct inner, workers, .def = 4, .max = 8, .help = "how many"),
		OPT_END};
	static const struct option outer[] = {
		OPT_TABLE("inner", struct all, inner, .table = hurried, .help = "more"), OPT_END};
	static const struct option *const with[] = {outer, NULL};
	static const struct {
		const char *text;
		uint64_t workers;
	} cases[] = {
		{"{}", 4},
		{"{\"inner\": \"slow\"}", 3},
		{"{\"inner\": \"quick\"}", 7},
		{"{\"inner\": {\"kind\": \"quick\"}}", 7},
		{"{\"inner\": {\"workers\": 2, \"kind\": \"quick\"}}", 2},
	};
	struct cJSON *tree;
	struct err err;
	struct all a;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena arena = {0};

		CU_ASSERT_EQUAL_FATAL(
			json_parse(&tree, cases[i].text, strlen(cases[i].text), 32, 10000, &err),
			0);
		CU_ASSERT_EQUAL(options_parse(with, &a, tree, "/p", &arena, &err), 0);
		CU_ASSERT_EQUAL(a.inner.workers, cases[i].workers);
		cJSON_Delete(tree);
		arena_free(&arena);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"defaults", defaults},
		{"values", values},
		{"draws", draws},
		{"refusals", refusals},
		{"too many factors", too_many_factors},
		{"many keys are cheap", many_keys_are_cheap},
		{"parts and others", parts_and_others},
		{"presets", presets},
		{"preset of a bare value", preset_of_a_bare_value},
		CU_TEST_INFO_NULL,
	};

	return unit_main("option", tests);
}
