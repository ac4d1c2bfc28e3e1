/* Columns of Parquet files: see columns.h. */
#include "import/dlio/columns.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"

#define COLUMNS "dataset.parquet.columns"
enum { COLUMN_RUNS_MAX = 8, COLUMN_RUN_BYTES = 64, COLUMNS_MAX = 10000 };

/* Columns side by side of one type, all read or none. */
struct column_run {
	uint64_t columns, bytes; /* bytes of one value */
	const char *type;
	bool read;
};

struct column_runs {
	unsigned count, columns;
	bool moved; /* columns of one kind have been put side by side */
	struct column_run run[COLUMN_RUNS_MAX];
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

static bool column_run_equal(const struct column_run *a, const struct column_run *b)
{
	return strcmp(a->type, b->type) == 0 && a->bytes == b->bytes && a->read == b->read;
}

/* Adds a column to the last run where that is of the same kind; once columns have been moved, to
 * any run of that kind. Otherwise the column begins a run. False: there is no room for another
 * one. */
static bool column_runs_add(struct column_runs *r, const struct column_run *one)
{
	for (unsigned i = r->moved || !r->count ? 0 : r->count - 1; i < r->count; i++) {
		if (!column_run_equal(&r->run[i], one))
			continue;
		r->run[i].columns += one->columns;
		return true;
	}
	if (r->count < COLUMN_RUNS_MAX) {
		r->run[r->count++] = *one;
		return true;
	}
	return false;
}

/* Puts columns of one kind side by side, wherever they were. */
static bool column_runs_gather(struct column_runs *r, const struct column_run *one)
{
	struct column_runs all = {.columns = r->columns, .moved = true};

	for (unsigned i = 0; i <= r->count; i++) {
		const struct column_run *next = i < r->count ? &r->run[i] : one;
		unsigned k;

		for (k = 0; k < all.count && !column_run_equal(&all.run[k], next); k++)
			;
		if (k == COLUMN_RUNS_MAX)
			return false;
		if (k == all.count)
			all.run[all.count++] = *next;
		else
			all.run[k].columns += next->columns;
	}
	*r = all;
	return true;
}

static bool column_named(const cJSON *names, const char *name)
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

/* {name, dtype, size, read} as a run of one column. */
static void column_read(struct dlio *d, const cJSON *column, struct column_run *one)
{
	const cJSON *names = dlio_at(d, "storage.storage_options.columns");
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(column, "name");
	const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(column, "dtype");
	const cJSON *size = cJSON_GetObjectItemCaseSensitive(column, "size");
	const cJSON *read = cJSON_GetObjectItemCaseSensitive(column, "read");
	const char *type = cJSON_IsString(dtype) ? dtype->valuestring : "float32";
	double values = cJSON_IsNumber(size) ? size->valuedouble : 1;

	*one = (struct column_run){.type = ""};
	if (!cJSON_IsObject(column) || values < 1 || values > (1 << 28)) {
		dlio_refuse(d, COLUMNS ": each must hold name, dtype, size and read");
		return;
	}
	for (unsigned i = 0; i < COUNT(dtypes); i++) {
		if (strcmp(dtypes[i].name, type) != 0)
			continue;
		*one = (struct column_run){.columns = 1,
					   .type = values > 1 ? "bytes" : dtypes[i].type,
					   .bytes = dtypes[i].bytes * (uint64_t)values,
					   .read = cJSON_IsTrue(read)};
		if (names)
			one->read = cJSON_IsString(name) && column_named(names, name->valuestring);
		return;
	}
	dlio_refuse(d, COLUMNS ": unknown dtype \"%.32s\"", type);
}

static cJSON *column_runs_put(struct dlio *d, const struct column_runs *r, double *row_bytes)
{
	cJSON *out = cJSON_CreateArray();
	char text[COLUMN_RUN_BYTES];

	*row_bytes = 0;
	for (unsigned i = 0; i < r->count; i++) {
		const struct column_run *one = &r->run[i];
		int n = snprintf(text, sizeof(text), "%llu %s", (unsigned long long)one->columns,
				 one->type);

		if (strcmp(one->type, "bytes") == 0)
			n += snprintf(text + n, sizeof(text) - (size_t)n, ":%llu",
				      (unsigned long long)one->bytes);
		snprintf(text + n, sizeof(text) - (size_t)n, "%s", one->read ? " read" : "");
		cJSON_AddItemToArray(out, cJSON_CreateString(text));
		*row_bytes += (double)one->columns * (double)one->bytes;
	}
	if (r->moved)
		dlio_found(
			d, IMPORT_CHANGED, COLUMNS,
			"columns of one type are put side by side: a file has at most %d runs of "
			"them",
			COLUMN_RUNS_MAX);
	return out;
}

struct cJSON *dlio_columns(struct dlio *d, double *row_bytes)
{
	const cJSON *list = dlio_at(d, COLUMNS), *column;
	struct column_runs r = {0};
	struct column_run one;

	if (!list || !list->child)
		return NULL;
	cJSON_ArrayForEach(column, list)
	{
		column_read(d, column, &one);
		if (++r.columns > COLUMNS_MAX)
			dlio_refuse(d, COLUMNS ": holds more than %d columns", COLUMNS_MAX);
		else if (!column_runs_add(&r, &one) && !column_runs_gather(&r, &one))
			dlio_refuse(d,
				    COLUMNS ": the columns are of more than %d kinds (dtype, size "
					    "and read)",
				    COLUMN_RUNS_MAX);
		if (d->rc < 0)
			return NULL;
	}
	return column_runs_put(d, &r, row_bytes);
}
