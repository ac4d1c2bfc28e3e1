/* SPDX-License-Identifier: Apache-2.0 */
/* Drawn times: options whose value is a distribution. Each distribution is an option table of its
 * own, so that its keys are parsed, printed and described like all others. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stddef.h>

#include "core/numbers.h"
#include "core/option/internal.h"

/* The two parameters of struct draw. Some distributions take a pure number as the first. */
struct draw_fields {
	uint32_t type;
	uint64_t a_ns, b_ns;
	double a;
};

#define DRAW_TYPE(word) \
	OPT_CHOICE("type", struct draw_fields, type, .required = true, \
		   .choices = (const char *const[]){word, NULL}, .help = "the distribution")

static const struct option normal_options[] = {
	DRAW_TYPE("normal"),
	OPT_TIME("mean", struct draw_fields, a_ns, .required = true, .help = "its mean"),
	OPT_TIME("stdev", struct draw_fields, b_ns, .required = true,
		 .help = "its standard deviation; negative draws count as 0"),
	OPT_END};
static const struct option uniform_options[] = {
	DRAW_TYPE("uniform"),
	OPT_TIME("min", struct draw_fields, a_ns, .required = true, .help = "the shortest"),
	OPT_TIME("max", struct draw_fields, b_ns, .required = true, .help = "the longest"),
	OPT_END};
static const struct option gamma_options[] = {
	DRAW_TYPE("gamma"),
	OPT_REAL("shape", struct draw_fields, a, .required = true, .min_real = 0.001,
		 .max_real = 1e6, .help = "its shape"),
	OPT_TIME("scale", struct draw_fields, b_ns, .required = true,
		 .help = "its scale: mean / shape"),
	OPT_END};
static const struct option exponential_options[] = {
	DRAW_TYPE("exponential"),
	OPT_TIME("mean", struct draw_fields, a_ns, .required = true, .help = "its mean"), OPT_END};
static const struct option poisson_options[] = {
	DRAW_TYPE("poisson"),
	OPT_REAL("mean", struct draw_fields, a, .required = true, .min_real = 0, .max_real = 1e6,
		 .help = "events on average"),
	OPT_TIME("unit", struct draw_fields, b_ns, .def = 1000000, .help = "the time of one event"),
	OPT_END};

static const char *const draw_names[] = {"normal",      "uniform", "gamma",
					 "exponential", "poisson", NULL};
/* In the order of draw_names. */
static const struct {
	enum draw_kind kind;
	bool pure; /* the first parameter is no time */
	const struct option *tables[2];
} draws[] = {{DRAW_NORMAL, false, {normal_options}},
	     {DRAW_UNIFORM, false, {uniform_options}},
	     {DRAW_GAMMA, true, {gamma_options}},
	     {DRAW_EXPONENTIAL, false, {exponential_options}},
	     {DRAW_POISSON, true, {poisson_options}}};

struct draw_type {
	uint32_t type;
};
static const struct option type_options[] = {OPT_CHOICE("type", struct draw_type, type,
							.required = true, .choices = draw_names,
							.help = "the distribution"),
					     OPT_END};

static uint64_t whole_ns(double ns)
{
	return ns <= 0 ? 0 : ns < 0x1p64 ? (uint64_t)ns : UINT64_MAX;
}

/* A constant is given and shown as a time. */
static struct option as_time(const struct option *o)
{
	struct option time = *o;

	time.kind = OPTION_TIME;
	time.def = (uint64_t)o->def_real;
	time.help = NULL;
	return time;
}

static int draw_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	(void)arena;
	(void)err;
	*(struct draw *)member = (struct draw){.kind = DRAW_CONSTANT, .a = o->def_real};
	return 0;
}

static int draw_parse(const struct option *o, void *member, const struct cJSON *value,
		      const char *where, struct arena *arena, struct err *err)
{
	const struct option time = as_time(o);
	struct draw *d = member;
	struct draw_fields fields = {0};
	struct draw_type chosen = {0};
	char at[OPTION_PATH_BYTES];
	const cJSON *type;
	uint64_t ns;
	int rc;

	if (!cJSON_IsObject(value)) {
		rc = option_time.parse(&time, &ns, value, where, arena, err);
		if (!rc)
			*d = (struct draw){.kind = DRAW_CONSTANT, .a = (double)ns};
		return rc;
	}
	option_path(at, where, "type");
	type = cJSON_GetObjectItemCaseSensitive(value, "type");
	if (!type)
		return err_set(err, -EINVAL, "%s: is missing; a distribution needs one", at);
	rc = option_parse_one(type_options, &chosen, type, at, arena, err);
	if (rc < 0)
		return rc;
	rc = options_parse(draws[chosen.type].tables, &fields, value, where, arena, err);
	if (rc < 0)
		return rc;
	*d = (struct draw){.kind = draws[chosen.type].kind,
			   .a = draws[chosen.type].pure ? fields.a : (double)fields.a_ns,
			   .b = (double)fields.b_ns};
	if (d->kind == DRAW_UNIFORM && d->b < d->a)
		return err_set(err, -EINVAL, "%s/max: must not be less than min", where);
	return 0;
}

static cJSON *draw_print(const struct option *o, const void *member)
{
	const struct option time = as_time(o);
	const struct draw *d = member;
	struct draw_fields fields = {.a_ns = whole_ns(d->a), .b_ns = whole_ns(d->b), .a = d->a};
	uint32_t i;

	for (i = 0; i < COUNT(draws); i++)
		if (draws[i].kind == d->kind)
			return options_to_json(draws[i].tables, &fields);
	return option_time.print(&time, &fields.a_ns);
}

static bool draw_schema(struct cJSON *schema, const struct option *o)
{
	const struct option time = as_time(o);
	cJSON *any = cJSON_AddArrayToObject(schema, "oneOf");
	bool ok = option_append(any, option_schema(&time));

	for (uint32_t i = 0; i < COUNT(draws) && ok; i++)
		ok = option_append(any, options_schema(draws[i].tables));
	return ok;
}

static void draw_range(char *out, size_t size, const struct option *o)
{
	const struct option time = as_time(o);

	option_time.range(out, size, &time);
}

static void draw_shown(char *out, size_t size, const struct option *o)
{
	const struct option time = as_time(o);

	option_time.shown_default(out, size, &time);
}

const struct option_rules option_draw = {.words = "time or distribution",
					 .start = draw_start,
					 .parse = draw_parse,
					 .print = draw_print,
					 .schema = draw_schema,
					 .schema_default = option_value_default,
					 .range = draw_range,
					 .shown_default = draw_shown};
