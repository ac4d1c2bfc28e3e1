/* Drawn times of a DLIO workload: see draw.h. */
#include "import/dlio/draw.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "core/numbers.h"

static const struct {
	const char *type;
	const char *from[2], *to[2]; /* DLIO's names, haul's */
} draws[] = {
	{"normal", {"mean", "stdev"}, {"mean", "stdev"}},
	{"uniform", {"min", "max"}, {"min", "max"}},
	{"gamma", {"shape", "scale"}, {"shape", "scale"}},
	{"exponential", {"scale", NULL}, {"mean", NULL}},
	{"poisson", {"lam", NULL}, {"mean", NULL}},
};

static void draw_check_parts(struct dlio *d, const char *path, const cJSON *value, unsigned kind)
{
	const cJSON *child;

	cJSON_ArrayForEach(child, value)
	{
		bool known = strcmp(child->string, "type") == 0;

		for (unsigned i = 0; i < 2; i++)
			known |= draws[kind].from[i] &&
				 strcmp(child->string, draws[kind].from[i]) == 0;
		if (!known)
			dlio_refuse(d, "%s.%.64s: %s has no such key", path, child->string,
				    draws[kind].type);
	}
}

static cJSON *draw_make(struct dlio *d, const char *path, const cJSON *value, unsigned kind)
{
	cJSON *out = cJSON_CreateObject();

	draw_check_parts(d, path, value, kind);
	cJSON_AddStringToObject(out, "type", draws[kind].type);
	for (unsigned i = 0; i < 2 && draws[kind].from[i]; i++) {
		const cJSON *part = cJSON_GetObjectItemCaseSensitive(value, draws[kind].from[i]);

		if (!cJSON_IsNumber(part))
			dlio_refuse(d, "%s.%s: must be a number", path, draws[kind].from[i]);
		else
			cJSON_AddNumberToObject(out, draws[kind].to[i], part->valuedouble);
	}
	/* numpy's Poisson distribution counts events; DLIO takes each of them as one second. */
	if (strcmp(draws[kind].type, "poisson") == 0)
		cJSON_AddNumberToObject(out, "unit", 1);
	return out;
}

static cJSON *draw_object(struct dlio *d, const char *path, const cJSON *value)
{
	const cJSON *type = cJSON_GetObjectItemCaseSensitive(value, "type");
	const cJSON *mean = cJSON_GetObjectItemCaseSensitive(value, "mean");
	const char *name = cJSON_IsString(type) ? type->valuestring : "normal";

	if (type && !cJSON_IsString(type))
		dlio_refuse(d, "%s: type must be a text", path);
	if (!type && cJSON_IsNumber(mean) && !mean->next && mean == value->child)
		return cJSON_CreateNumber(mean->valuedouble);
	for (unsigned i = 0; i < COUNT(draws); i++)
		if (strcmp(draws[i].type, name) == 0)
			return draw_make(d, path, value, i);
	dlio_refuse(d, "%s: type must be normal, uniform, gamma, exponential or poisson", path);
	return NULL;
}

void dlio_add_draw(struct dlio *d, struct cJSON *to, const char *name, const char *path,
		   const char *stdev_path)
{
	const cJSON *value = dlio_at(d, path);
	double stdev = cJSON_IsNumber(value) ? dlio_number(d, stdev_path) : 0;
	cJSON *draw;

	/* {} is DLIO's default: no time at all. */
	if (!value || (cJSON_IsObject(value) && !value->child))
		return;
	if (cJSON_IsObject(value)) {
		draw = draw_object(d, path, value);
	} else if (stdev > 0) {
		draw = cJSON_CreateObject();
		cJSON_AddStringToObject(draw, "type", "normal");
		cJSON_AddNumberToObject(draw, "mean", value->valuedouble);
		cJSON_AddNumberToObject(draw, "stdev", stdev);
	} else {
		draw = cJSON_CreateNumber(value->valuedouble);
	}
	if (!cJSON_AddItemToObject(to, name, draw)) {
		cJSON_Delete(draw);
		dlio_no_memory(d);
	}
}
