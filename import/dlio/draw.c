/* Drawn times of a DLIO workload: see draw.h. */
#include "import/dlio/draw.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

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

static int draw_check_parts(const struct dlio *d, const char *path, const cJSON *value,
			    unsigned kind)
{
	const cJSON *child;

	cJSON_ArrayForEach(child, value)
	{
		bool known = strcmp(child->string, "type") == 0;

		for (unsigned i = 0; i < 2; i++)
			known |= draws[kind].from[i] &&
				 strcmp(child->string, draws[kind].from[i]) == 0;
		if (!known)
			return err_set(d->err, -EINVAL, "%s.%.64s: %s has no such key", path,
				       child->string, draws[kind].type);
	}
	return 0;
}

static int draw_add(const struct dlio *d, const char *path, const cJSON *value, unsigned kind,
		    cJSON *out)
{
	int rc = draw_check_parts(d, path, value, kind);

	if (rc < 0)
		return rc;
	cJSON_AddStringToObject(out, "type", draws[kind].type);
	for (unsigned i = 0; i < 2 && draws[kind].from[i]; i++) {
		const cJSON *part = cJSON_GetObjectItemCaseSensitive(value, draws[kind].from[i]);

		if (!cJSON_IsNumber(part))
			return err_set(d->err, -EINVAL, "%s.%s: must be a number", path,
				       draws[kind].from[i]);
		cJSON_AddNumberToObject(out, draws[kind].to[i], part->valuedouble);
	}
	/* numpy's Poisson distribution counts events; DLIO takes each of them as one second. */
	if (strcmp(draws[kind].type, "poisson") == 0)
		cJSON_AddNumberToObject(out, "unit", 1);
	return 0;
}

static int draw_object(const struct dlio *d, const char *path, const cJSON *value, cJSON **out)
{
	const cJSON *type = cJSON_GetObjectItemCaseSensitive(value, "type");
	const cJSON *mean = cJSON_GetObjectItemCaseSensitive(value, "mean");
	const char *name = cJSON_IsString(type) ? type->valuestring : "normal";

	if (type && !cJSON_IsString(type))
		return err_set(d->err, -EINVAL, "%s: type must be a text", path);
	if (!value->child)
		return 0; /* {} is DLIO's default: no time at all */
	if (!type && cJSON_IsNumber(mean) && !mean->next && mean == value->child) {
		*out = cJSON_CreateNumber(mean->valuedouble);
		return *out ? 0 : dlio_no_memory(d);
	}
	for (unsigned i = 0; i < sizeof(draws) / sizeof(draws[0]); i++) {
		if (strcmp(draws[i].type, name) != 0)
			continue;
		*out = cJSON_CreateObject();
		return *out ? draw_add(d, path, value, i, *out) : dlio_no_memory(d);
	}
	return err_set(d->err, -EINVAL,
		       "%s: type must be normal, uniform, gamma, exponential or poisson", path);
}

int dlio_draw(struct dlio *d, const char *path, const char *stdev_path, struct cJSON **out)
{
	const cJSON *value = dlio_at(d, path);
	double stdev = cJSON_IsNumber(value) ? dlio_number(d, stdev_path) : 0;
	int rc = 0;

	*out = NULL;
	if (cJSON_IsObject(value)) {
		rc = draw_object(d, path, value, out);
	} else if (value && stdev > 0) {
		*out = cJSON_CreateObject();
		rc = *out ? 0 : dlio_no_memory(d);
		cJSON_AddStringToObject(*out, "type", "normal");
		cJSON_AddNumberToObject(*out, "mean", value->valuedouble);
		cJSON_AddNumberToObject(*out, "stdev", stdev);
	} else if (value) {
		*out = cJSON_CreateNumber(value->valuedouble);
		rc = *out ? 0 : dlio_no_memory(d);
	}
	if (rc < 0) {
		cJSON_Delete(*out);
		*out = NULL;
	}
	return rc;
}
