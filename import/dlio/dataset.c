/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets of a DLIO workload. */
#include "import/dlio/parts.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"

/* The share of record_length that a JPEG file of DLIO's has: it writes noise at quality 75. */
#define DLIO_JPEG_SHARE 0.5551

static const struct {
	const char *format, *haul;
} formats[] = {
	{"tfrecord", "tfrecord"},
	{"hdf5", "hdf5"},
	{"hdf5_opt", "hdf5"},
	{"csv", "csv"},
	{"npz", "npz"},
	{"npy", "npy"},
	{"jpeg", "jpeg"},
	{"png", "png"},
	{"indexed_binary", "indexed_binary"},
	{"mmap_indexed_binary", "mmap_indexed_binary"},
	{"parquet", "parquet"},
	{"synthetic", "raw"},
};

static const char *dataset_find_format(struct dlio *d)
{
	const char *given = dlio_text(d, "dataset.format"), *format = NULL;

	for (unsigned i = 0; i < COUNT(formats); i++)
		if (strcmp(formats[i].format, given) == 0)
			format = formats[i].haul;
	if (!format)
		dlio_refuse(d, "dataset.format: unknown format \"%.32s\"", given);
	else if (strcmp(given, "hdf5_opt") == 0)
		dlio_found(d, IMPORT_CHANGED, "dataset.format",
			   "DLIO has no reader for it; haul takes it for hdf5");
	else if (!dlio_at(d, "dataset.format"))
		dlio_found(d, IMPORT_CHANGED, "dataset.format",
			   "it is not given; DLIO's default is tfrecord");
	return format ? format : "";
}

static double element_bytes(struct dlio *d)
{
	static const struct {
		const char *type;
		double bytes;
	} types[] = {{"uint8", 1},   {"int8", 1},    {"bool", 1},   {"uint16", 2},
		     {"int16", 2},   {"float16", 2}, {"uint32", 4}, {"int32", 4},
		     {"float32", 4}, {"uint64", 8},  {"int64", 8},  {"float64", 8}};
	const char *type = dlio_text(d, "dataset.record_element_type");

	if (!dlio_at(d, "dataset.record_element_type") &&
	    dlio_at(d, "dataset.record_element_bytes"))
		return dlio_number(d, "dataset.record_element_bytes");
	for (unsigned i = 0; i < COUNT(types); i++)
		if (strcmp(types[i].type, type) == 0)
			return types[i].bytes;
	if (!dlio_at(d, "dataset.record_element_bytes"))
		dlio_refuse(
			d,
			"dataset.record_element_type: haul does not know the size of \"%.32s\"; give "
			"record_element_bytes, too",
			type);
	return dlio_number(d, "dataset.record_element_bytes");
}

/* The product of a list of numbers; 0 where the text gives no list. */
static double list_product(struct dlio *d, const char *path)
{
	const cJSON *list = dlio_at(d, path), *item;
	double product = list && list->child ? 1 : 0;

	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsNumber(item) || item->valuedouble < 1)
			dlio_refuse(d, "%s: must be a list of whole numbers of 1 or more", path);
		product *= item->valuedouble;
	}
	return product;
}

/* With IMPORT_AS_DLIO_BUGS: the sizes that DLIO writes in place of those that the text asks for. */
static void size_as_dlio(struct dlio *d, const char *format, bool dims, double *bytes,
			 double *stdev)
{
	if (d->as != IMPORT_AS_DLIO_BUGS)
		return;
	if (!dims && *stdev <= 0 && strcmp(format, "parquet") != 0)
		*bytes = floor(sqrt(*bytes)) * floor(sqrt(*bytes));
	if (*stdev > 0) {
		*stdev /= sqrt(2);
		dlio_found(d, IMPORT_CHANGED, "dataset.record_length_bytes_stdev",
			   "as DLIO draws it: 1/sqrt(2) of this value");
	}
	if (strcmp(format, "jpeg") == 0) {
		*bytes *= DLIO_JPEG_SHARE;
		*stdev *= DLIO_JPEG_SHARE;
		dlio_found(d, IMPORT_CHANGED, "dataset.record_length_bytes",
			   "as DLIO writes JPEG files: 0.555 of this size, all of which it counts");
	}
}

static void dataset_find_size(struct dlio *d, const char *format, double *bytes, double *stdev)
{
	double dims = list_product(d, "dataset.record_dims");
	static const char *const paths[] = {"dataset.record_length_bytes",
					    "dataset.record_length_bytes_stdev"};

	*bytes = dims > 0 ? dims * element_bytes(d) : dlio_number(d, paths[0]);
	*stdev = dims > 0 ? 0 : dlio_number(d, paths[1]);
	for (unsigned i = 0; dims > 0 && i < COUNT(paths); i++)
		if (dlio_at(d, paths[i]))
			dlio_found(d, IMPORT_LEFT, paths[i], "record_dims takes precedence");
	size_as_dlio(d, format, dims > 0, bytes, stdev);
}

static void dataset_add_hdf5(struct dlio *d, cJSON *dataset, double row)
{
	double datasets = dlio_number(d, "dataset.hdf5.num_dset_per_record");
	double chunk = list_product(d, "dataset.hdf5.chunk_dims") * element_bytes(d);
	cJSON *hdf5 = cJSON_AddObjectToObject(dataset, "hdf5");

	cJSON_AddNumberToObject(hdf5, "datasets", datasets > 1 ? datasets : 1);
	if (chunk <= 0 && dlio_bool(d, "dataset.enable_chunking")) {
		chunk = dlio_number(d, "dataset.chunk_size");
		dlio_found(
			d, IMPORT_CHANGED, "dataset.enable_chunking",
			"DLIO reads it and never uses it; haul makes chunks of chunk_size bytes");
	}
	if (chunk > 0)
		cJSON_AddNumberToObject(hdf5, "chunk_bytes", chunk < row ? chunk : row);
}

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

/* The runs as a list of texts such as "40 float32 read", and the bytes of one row. NULL where the
 * text describes no columns. */
static cJSON *dataset_columns(struct dlio *d, double *row_bytes)
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

static void dataset_add_parquet(struct dlio *d, cJSON *dataset, bool made, double *bytes)
{
	cJSON *columns, *parquet = cJSON_AddObjectToObject(dataset, "parquet");
	double row = 0;

	cJSON_AddNumberToObject(parquet, "row_group",
				dlio_number(d, "dataset.parquet.row_group_size"));
	columns = dataset_columns(d, &row);
	if (!columns)
		return;
	cJSON_AddItemToObject(parquet, "columns", columns);
	if (row != *bytes)
		dlio_found(d, IMPORT_CHANGED, "dataset.record_length_bytes",
			   "a row of these columns has %.0f bytes", row);
	*bytes = row;
	if (!made)
		dlio_found(d, IMPORT_CHANGED, "dataset.parquet.columns",
			   "haul reads files that it did not generate in equal parts, with all "
			   "columns; with generate_data it reads the columns given here");
}

static void dataset_add_format_options(struct dlio *d, cJSON *dataset, const char *format,
				       bool made, double *bytes)
{
	if (strcmp(dlio_text(d, "dataset.compression"), "none") != 0)
		dlio_found(d, IMPORT_LEFT, "dataset.compression",
			   made ? "haul writes files uncompressed"
				: "haul reads the bytes and does not decompress them");
	if (strcmp(format, "hdf5") == 0)
		dataset_add_hdf5(d, dataset, *bytes);
	if (strcmp(format, "parquet") == 0)
		dataset_add_parquet(d, dataset, made, bytes);
}

/* Samples per file; a picture has one, whatever the text says. */
static void dataset_add_samples(struct dlio *d, cJSON *dataset, const char *format)
{
	double samples = dlio_number(d, "dataset.num_samples_per_file");
	bool picture = strcmp(format, "jpeg") == 0 || strcmp(format, "png") == 0;

	cJSON_AddNumberToObject(dataset, "samples_per_file", picture ? 1 : samples);
	if (samples <= 1)
		return;
	if (picture)
		dlio_found(d, IMPORT_CHANGED, "dataset.num_samples_per_file",
			   "a picture is one sample; DLIO counts each picture several times");
	else if (strcmp(format, "tfrecord") != 0 && strcmp(format, "parquet") != 0 &&
		 strstr(format, "binary") == NULL && strcmp(format, "hdf5") != 0)
		dlio_found(d, IMPORT_CHANGED, "dataset.num_samples_per_file",
			   "haul reads the bytes of a sample; DLIO reads the whole file for each");
}

/* One of the two data sets that DLIO knows. */
struct dataset_part {
	const char *name, *folder, *names; /* in the job, DLIO's folder, the value of "names" */
	const char *files, *subfolders;    /* keys */
};
static const struct dataset_part train_part = {"train", "train", "dlio", "dataset.num_files_train",
					       "dataset.num_subfolders_train"};
static const struct dataset_part valid_part = {
	"valid", "valid", "dlio_valid", "dataset.num_files_eval", "dataset.num_subfolders_eval"};

/* The names that haul gives to files below "train" are DLIO's. Files that exist are read with the
 * size that they are found to have. */
static void dataset_add_names(struct dlio *d, cJSON *dataset, const struct dataset_part *part)
{
	double subfolders = dlio_number(d, part->subfolders);

	cJSON_AddStringToObject(dataset, "prefix", dlio_text(d, "dataset.file_prefix"));
	if (subfolders > 1)
		cJSON_AddNumberToObject(dataset, "subfolders", subfolders);
	if (subfolders == 1)
		dlio_found(d, IMPORT_CHANGED, part->subfolders,
			   "DLIO fails with one subfolder; haul makes none");
	if (d->generates) {
		cJSON_AddStringToObject(dataset, "folder", part->folder);
		dlio_found(
			d, IMPORT_CHANGED, part->files,
			"haul generates them under DLIO's names in %s/; move .haul-manifest.json "
			"out of that folder before DLIO lists it",
			part->folder);
		return;
	}
	cJSON_AddStringToObject(dataset, "names", part->names);
	cJSON_AddStringToObject(dataset, "sizes", "stat");
}

static void dataset_add(struct dlio *d, cJSON *dataset, const struct dataset_part *part)
{
	const char *format = dataset_find_format(d);
	double bytes = 0, stdev = 0;

	dataset_find_size(d, format, &bytes, &stdev);
	cJSON_AddStringToObject(dataset, "store", "data");
	cJSON_AddStringToObject(dataset, "format", format);
	cJSON_AddNumberToObject(dataset, "files", dlio_number(d, part->files));
	dataset_add_samples(d, dataset, format);
	dataset_add_format_options(d, dataset, format, d->generates || d->synthetic, &bytes);
	cJSON_AddNumberToObject(dataset, "sample_bytes", floor(bytes + 0.5));
	if (stdev > 0)
		cJSON_AddNumberToObject(dataset, "sample_bytes_stdev", floor(stdev + 0.5));
	if (!d->synthetic)
		dataset_add_names(d, dataset, part);
}

void dlio_add_datasets(struct dlio *d, struct cJSON *job)
{
	bool valid = dlio_number(d, "dataset.num_files_eval") > 0;
	uint32_t before;
	cJSON *all;

	if (valid && dlio_number(d, train_part.files) < 1) {
		dataset_add(d, cJSON_AddObjectToObject(job, "dataset"), &valid_part);
		return;
	}
	if (!valid || !(d->generates || d->evaluates)) {
		dataset_add(d, cJSON_AddObjectToObject(job, "dataset"), &train_part);
		if (valid)
			dlio_found(d, IMPORT_LEFT, "dataset.num_files_eval",
				   "workflow.evaluation is false, so nothing reads them");
		return;
	}
	all = cJSON_AddObjectToObject(job, "datasets");
	dataset_add(d, cJSON_AddObjectToObject(all, train_part.name), &train_part);
	/* Both find the same about the keys that they share: of the second's findings only those
	 * about its own keys are kept. */
	before = d->out->count;
	dataset_add(d, cJSON_AddObjectToObject(all, valid_part.name), &valid_part);
	for (uint32_t k = before; k < d->out->count; k++) {
		struct import_finding *f = &d->out->findings[k];

		if (strcmp(f->key, valid_part.subfolders) == 0 ||
		    strcmp(f->key, valid_part.files) == 0)
			d->out->findings[before++] = *f;
	}
	d->out->count = before;
}
