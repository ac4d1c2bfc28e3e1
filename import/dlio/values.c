/* Values that are written differently: distributions, columns. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "import/dlio/dlio.h"

enum { RUNS_MAX = 8, RUN_BYTES = 64, COLUMNS_MAX = 10000 };

/* ---- drawn times ---- */

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

static int refuse(const struct dlio *d, const char *path, const char *sentence)
{
	return err_set(d->err, -EINVAL, "%s: %s", path, sentence);
}

static int check_parts(const struct dlio *d, const char *path, const cJSON *value, unsigned kind)
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

static int add_drawn(const struct dlio *d, const char *path, const cJSON *value, unsigned kind,
		     cJSON *out)
{
	int rc = check_parts(d, path, value, kind);

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
	/* numpy's poisson counts events; DLIO takes each for a second. */
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
		return refuse(d, path, "type must be a text");
	if (!value->child)
		return 0; /* {}: DLIO's default, none */
	if (!type && cJSON_IsNumber(mean) && !mean->next && mean == value->child) {
		*out = cJSON_CreateNumber(mean->valuedouble);
		return *out ? 0 : refuse(d, path, "no memory");
	}
	for (unsigned i = 0; i < sizeof(draws) / sizeof(draws[0]); i++) {
		if (strcmp(draws[i].type, name) != 0)
			continue;
		*out = cJSON_CreateObject();
		return *out ? add_drawn(d, path, value, i, *out) : refuse(d, path, "no memory");
	}
	return refuse(d, path, "type must be normal, uniform, gamma, exponential or poisson");
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
		cJSON_AddStringToObject(*out, "type", "normal");
		cJSON_AddNumberToObject(*out, "mean", value->valuedouble);
		cJSON_AddNumberToObject(*out, "stdev", stdev);
	} else if (value) {
		*out = cJSON_CreateNumber(value->valuedouble);
	}
	if (rc < 0) {
		cJSON_Delete(*out);
		*out = NULL;
	}
	return rc;
}

/* ---- columns of Parquet ---- */

struct run {
	uint64_t columns, bytes; /* a value */
	const char *type;
	bool read;
};

struct runs {
	unsigned count, columns;
	bool moved; /* columns of one type were put together */
	struct run run[RUNS_MAX];
};

static const struct {
	const char *name, *type;
	unsigned bytes;
} dtypes[] = {
	{"int8", "int8", 1},       {"uint8", "int8", 1},     {"bool", "int8", 1},
	{"int16", "int16", 2},     {"uint16", "int16", 2},   {"int32", "int32", 4},
	{"uint32", "int32", 4},    {"int64", "int64", 8},    {"uint64", "int64", 8},
	{"float16", "float16", 2}, {"fp16", "float16", 2},   {"float32", "float32", 4},
	{"fp32", "float32", 4},    {"float", "float32", 4},  {"float64", "float64", 8},
	{"fp64", "float64", 8},    {"double", "float64", 8},
};

static bool same(const struct run *a, const struct run *b)
{
	return strcmp(a->type, b->type) == 0 && a->bytes == b->bytes && a->read == b->read;
}

/* Beside the run before it where that is of the same kind (once columns are moved, beside any such);
 * else a run of its own, where there is room. */
static bool add_run(struct runs *r, const struct run *one)
{
	for (unsigned i = r->moved || !r->count ? 0 : r->count - 1; i < r->count; i++) {
		if (!same(&r->run[i], one))
			continue;
		r->run[i].columns += one->columns;
		return true;
	}
	if (r->count < RUNS_MAX) {
		r->run[r->count++] = *one;
		return true;
	}
	return false;
}

/* Puts columns of one kind together, wherever they stood. */
static bool gather(struct runs *r, const struct run *one)
{
	struct runs all = {.columns = r->columns, .moved = true};

	for (unsigned i = 0; i <= r->count; i++) {
		const struct run *next = i < r->count ? &r->run[i] : one;
		unsigned k;

		for (k = 0; k < all.count && !same(&all.run[k], next); k++)
			;
		if (k == RUNS_MAX)
			return false;
		if (k == all.count)
			all.run[all.count++] = *next;
		else
			all.run[k].columns += next->columns;
	}
	*r = all;
	return true;
}

static bool is_named(const cJSON *names, const char *name)
{
	const cJSON *item;

	if (cJSON_IsString(names))
		return strcmp(names->valuestring, name) == 0;
	cJSON_ArrayForEach(item, names)
	{
		if (strcmp(item->valuestring, name) == 0)
			return true;
	}
	return false;
}

/* {name, dtype, size, read}, or only a name. */
static int read_column(struct dlio *d, const cJSON *column, struct run *one)
{
	const cJSON *names = dlio_at(d, "storage.storage_options.columns");
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(column, "name");
	const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(column, "dtype");
	const cJSON *size = cJSON_GetObjectItemCaseSensitive(column, "size");
	const cJSON *read = cJSON_GetObjectItemCaseSensitive(column, "read");
	const char *type = cJSON_IsString(dtype) ? dtype->valuestring : "float32";
	double values = cJSON_IsNumber(size) ? size->valuedouble : 1;

	if (!cJSON_IsObject(column) || values < 1 || values > (1 << 28))
		return refuse(d, "dataset.parquet.columns",
			      "each must hold name, dtype, size and read");
	for (unsigned i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
		if (strcmp(dtypes[i].name, type) != 0)
			continue;
		*one = (struct run){.columns = 1,
				    .type = values > 1 ? "bytes" : dtypes[i].type,
				    .bytes = dtypes[i].bytes * (uint64_t)values,
				    .read = cJSON_IsTrue(read)};
		if (names)
			one->read = cJSON_IsString(name) && is_named(names, name->valuestring);
		return 0;
	}
	return err_set(d->err, -EINVAL, "dataset.parquet.columns: unknown dtype \"%.32s\"", type);
}

static int put_runs(struct dlio *d, const struct runs *r, cJSON **out, double *row_bytes)
{
	char text[RUN_BYTES];

	*row_bytes = 0;
	*out = cJSON_CreateArray();
	for (unsigned i = 0; i < r->count; i++) {
		const struct run *one = &r->run[i];
		int n = snprintf(text, sizeof(text), "%llu %s", (unsigned long long)one->columns,
				 one->type);

		if (strcmp(one->type, "bytes") == 0)
			n += snprintf(text + n, sizeof(text) - (size_t)n, ":%llu",
				      (unsigned long long)one->bytes);
		snprintf(text + n, sizeof(text) - (size_t)n, "%s", one->read ? " read" : "");
		cJSON_AddItemToArray(*out, cJSON_CreateString(text));
		*row_bytes += (double)one->columns * (double)one->bytes;
	}
	if (!r->moved)
		return 0;
	return dlio_find(d, IMPORT_CHANGED, "dataset.parquet.columns",
			 "columns of one type stand side by side: a file has %d runs at most",
			 RUNS_MAX);
}

int dlio_columns(struct dlio *d, struct cJSON **out, double *row_bytes)
{
	const cJSON *list = dlio_at(d, "dataset.parquet.columns"), *column;
	struct runs r = {0};
	struct run one;
	int rc;

	*out = NULL;
	if (!list || !list->child)
		return 0;
	cJSON_ArrayForEach(column, list)
	{
		rc = read_column(d, column, &one);
		if (rc < 0)
			return rc;
		if (++r.columns > COLUMNS_MAX)
			return refuse(d, "dataset.parquet.columns", "are too many");
		if (!add_run(&r, &one) && !gather(&r, &one))
			return refuse(d, "dataset.parquet.columns",
				      "are of more than 8 kinds (dtype, size and read)");
	}
	return put_runs(d, &r, out, row_bytes);
}
