/* Drawn times: options whose value is a distribution. Each distribution is an option table of its
 * own, so that its keys are parsed, printed and described like all others. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stddef.h>

#include "core/json.h"
#include "core/numbers.h"
#include "core/option/internal.h"

struct draw_fields {
	uint32_t type;
	uint64_t mean_ns, stdev_ns, min_ns, max_ns, scale_ns, unit_ns;
	double shape, mean;
};

#define DRAW_TYPE(word) \
	OPT_CHOICE("type", struct draw_fields, type, .required = true, \
		   .choices = (const char *const[]){word, NULL}, .help = "the distribution")

static const struct option normal_options[] = {
	DRAW_TYPE("normal"),
	OPT_TIME("mean", struct draw_fields, mean_ns, .required = true, .help = "its mean"),
	OPT_TIME("stdev", struct draw_fields, stdev_ns, .required = true,
		 .help = "its standard deviation; negative draws count as 0"),
	OPT_END};
static const struct option uniform_options[] = {
	DRAW_TYPE("uniform"),
	OPT_TIME("min", struct draw_fields, min_ns, .required = true, .help = "the shortest"),
	OPT_TIME("max", struct draw_fields, max_ns, .required = true, .help = "the longest"),
	OPT_END};
static const struct option gamma_options[] = {
	DRAW_TYPE("gamma"),
	OPT_REAL("shape", struct draw_fields, shape, .required = true, .min_real = 0.001,
		 .max_real = 1e6, .help = "its shape"),
	OPT_TIME("scale", struct draw_fields, scale_ns, .required = true,
		 .help = "its scale: mean / shape"),
	OPT_END};
static const struct option exponential_options[] = {
	DRAW_TYPE("exponential"),
	OPT_TIME("mean", struct draw_fields, mean_ns, .required = true, .help = "its mean"),
	OPT_END};
static const struct option poisson_options[] = {
	DRAW_TYPE("poisson"),
	OPT_REAL("mean", struct draw_fields, mean, .required = true, .min_real = 0, .max_real = 1e6,
		 .help = "events on average"),
	OPT_TIME("unit", struct draw_fields, unit_ns, .def = 1000000,
		 .help = "the time of one event"),
	OPT_END};

static const char *const draw_names[] = {"normal",      "uniform", "gamma",
					 "exponential", "poisson", NULL};
static const struct option *const draw_tables[][2] = {
	{normal_options, NULL},      {uniform_options, NULL}, {gamma_options, NULL},
	{exponential_options, NULL}, {poisson_options, NULL},
};
static const enum draw_kind draw_kinds[] = {DRAW_NORMAL, DRAW_UNIFORM, DRAW_GAMMA, DRAW_EXPONENTIAL,
					    DRAW_POISSON};
enum { DRAW_NAMES = COUNT(draw_kinds) };

struct draw_type {
	uint32_t type;
};
static const struct option type_options[] = {OPT_CHOICE("type", struct draw_type, type,
							.required = true, .choices = draw_names,
							.help = "the distribution"),
					     OPT_END};

static struct draw from_fields(enum draw_kind kind, const struct draw_fields *f)
{
	struct draw d = {.kind = kind};

	switch (kind) {
	case DRAW_NORMAL:
		d.a = (double)f->mean_ns;
		d.b = (double)f->stdev_ns;
		break;
	case DRAW_UNIFORM:
		d.a = (double)f->min_ns;
		d.b = (double)f->max_ns;
		break;
	case DRAW_GAMMA:
		d.a = f->shape;
		d.b = (double)f->scale_ns;
		break;
	case DRAW_POISSON:
		d.a = f->mean;
		d.b = (double)f->unit_ns;
		break;
	default:
		d.a = (double)f->mean_ns;
	}
	return d;
}

static uint64_t whole_ns(double ns)
{
	return ns <= 0 ? 0 : ns < 0x1p64 ? (uint64_t)ns : UINT64_MAX;
}

static struct draw_fields to_fields(const struct draw *d)
{
	uint64_t a = whole_ns(d->a), b = whole_ns(d->b);

	return (struct draw_fields){.mean_ns = a,
				    .stdev_ns = b,
				    .min_ns = a,
				    .max_ns = b,
				    .scale_ns = b,
				    .unit_ns = b,
				    .shape = d->a,
				    .mean = d->a};
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
	rc = options_parse(draw_tables[chosen.type], &fields, value, where, arena, err);
	if (rc < 0)
		return rc;
	*d = from_fields(draw_kinds[chosen.type], &fields);
	if (d->kind == DRAW_UNIFORM && d->b < d->a)
		return err_set(err, -EINVAL, "%s/max: must not be less than min", where);
	return 0;
}

static cJSON *draw_print(const struct option *o, const void *member)
{
	const struct option time = as_time(o);
	const struct draw *d = member;
	struct draw_fields fields = to_fields(d);
	uint32_t i;

	for (i = 0; i < DRAW_NAMES; i++)
		if (draw_kinds[i] == d->kind)
			return options_to_json(draw_tables[i], &fields);
	return option_time.print(&time, &fields.mean_ns);
}

static bool draw_schema(struct cJSON *schema, const struct option *o)
{
	const struct option time = as_time(o);
	cJSON *any = cJSON_AddArrayToObject(schema, "oneOf");
	bool ok = option_append(any, option_schema(&time));

	for (uint32_t i = 0; i < DRAW_NAMES && ok; i++)
		ok = option_append(any, options_schema(draw_tables[i]));
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
