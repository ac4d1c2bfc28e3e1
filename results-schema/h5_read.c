/* Reading HDF5 files without trusting them: see h5_read.h. */
#include "results-schema/h5_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5.h"

hid_t h5_read_open(const char *path)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = H5I_INVALID_HID;

	/* Locks fail on file systems that are mounted without them, and a published file never
	 * changes. */
	if (access >= 0 && H5Pset_file_locking(access, false, true) >= 0)
		file = H5Fopen(path, H5F_ACC_RDONLY, access);
	if (access >= 0)
		H5Pclose(access);
	return file;
}

static int read_scalar(hid_t at, const char *name, hid_t type, H5T_class_t class, void *value,
		       struct err *err)
{
	hid_t attr = H5Aexists(at, name) > 0 ? H5Aopen(at, name, H5P_DEFAULT) : H5I_INVALID_HID;
	hid_t space = attr < 0 ? attr : H5Aget_space(attr),
	      found = attr < 0 ? attr : H5Aget_type(attr);
	int rc = 0;

	if (space < 0 || found < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
	    H5Tget_class(found) != class || H5Aread(attr, type, value) < 0)
		rc = err_set(err, -EINVAL, "the attribute %s is missing or of the wrong type",
			     name);
	if (found >= 0)
		H5Tclose(found);
	if (space >= 0)
		H5Sclose(space);
	if (attr >= 0)
		H5Aclose(attr);
	return rc;
}

int h5_read_u64(hid_t at, const char *attribute, uint64_t *value, struct err *err)
{
	return read_scalar(at, attribute, H5T_NATIVE_UINT64, H5T_INTEGER, value, err);
}

int h5_read_real(hid_t at, const char *attribute, double *value, struct err *err)
{
	return read_scalar(at, attribute, H5T_NATIVE_DOUBLE, H5T_FLOAT, value, err);
}

/* Reads count fixed-length texts of width bytes, each followed by a zero byte. */
static int read_texts(hid_t at, const char *name, char **texts, uint64_t *count, size_t *width,
		      struct err *err)
{
	hid_t attr = H5Aexists(at, name) > 0 ? H5Aopen(at, name, H5P_DEFAULT) : H5I_INVALID_HID;
	hid_t space = attr < 0 ? attr : H5Aget_space(attr),
	      found = attr < 0 ? attr : H5Aget_type(attr);
	hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
	int rc = 0;

	*texts = NULL;
	*width = 0;
	if (n > 0 && found >= 0 && H5Tget_class(found) == H5T_STRING &&
	    H5Tis_variable_str(found) == 0)
		*width = H5Tget_size(found);
	if (!*width || *width * (uint64_t)n > H5_TEXT_MAX) {
		rc = err_set(err, -EINVAL, "the attribute %s is missing or of the wrong type",
			     name);
	} else {
		*texts = calloc((size_t)n * *width + 1, 1);
		if (!*texts)
			rc = err_set(err, -ENOMEM, "no memory for the attribute %s", name);
		else if (H5Aread(attr, found, *texts) < 0)
			rc = h5_fail(err, "the attribute %s cannot be read", name);
	}
	*count = n > 0 ? (uint64_t)n : 0;
	if (found >= 0)
		H5Tclose(found);
	if (space >= 0)
		H5Sclose(space);
	if (attr >= 0)
		H5Aclose(attr);
	return rc;
}

int h5_read_text(hid_t at, const char *attribute, char **text, struct err *err)
{
	uint64_t count;
	size_t width;

	return read_texts(at, attribute, text, &count, &width, err);
}

int h5_read_into(hid_t at, const char *attribute, char *text, size_t size, struct err *err)
{
	char *all = NULL;
	int rc = h5_read_text(at, attribute, &all, err);

	if (rc == 0)
		snprintf(text, size, "%s", all);
	free(all);
	return rc;
}

int h5_read_texts(hid_t at, const char *attribute, size_t bytes, char **texts, uint32_t *count,
		  struct err *err)
{
	uint64_t found;
	size_t width;
	char *all = NULL;
	int rc = read_texts(at, attribute, &all, &found, &width, err);

	*texts = NULL;
	if (rc == 0)
		*texts = calloc(found, bytes);
	if (rc == 0 && !*texts)
		rc = err_set(err, -ENOMEM, "no memory for the attribute %s", attribute);
	for (uint64_t i = 0; rc == 0 && i < found; i++)
		snprintf(*texts + i * bytes, bytes, "%.*s", (int)width, all + i * width);
	*count = rc == 0 ? (uint32_t)found : 0;
	free(all);
	return rc;
}

int h5_read_text_dataset(hid_t at, const char *name, char **text, struct err *err)
{
	hid_t dataset = H5Lexists(at, name, H5P_DEFAULT) > 0 ? H5Dopen2(at, name, H5P_DEFAULT)
							     : H5I_INVALID_HID;
	hid_t type = dataset < 0 ? dataset : H5Dget_type(dataset);
	size_t size = type >= 0 && H5Tget_class(type) == H5T_STRING ? H5Tget_size(type) : 0;
	int rc = 0;

	*text = size && size < RESULTS_BYTES_MAX ? calloc(size + 1, 1) : NULL;
	if (!*text || H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *text) < 0)
		rc = h5_fail(err, "/%s cannot be read", name);
	if (type >= 0)
		H5Tclose(type);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}

int h5_open_shape(hid_t at, const char *name, const struct h5_extent *wanted, hid_t *dataset,
		  hsize_t dims[2], struct err *err)
{
	hid_t space;
	int rank = -1;

	dims[0] = 0;
	dims[1] = 1;
	*dataset = H5Lexists(at, name, H5P_DEFAULT) > 0 ? H5Dopen2(at, name, H5P_DEFAULT)
							: H5I_INVALID_HID;
	space = *dataset < 0 ? H5I_INVALID_HID : H5Dget_space(*dataset);
	if (space >= 0) {
		rank = H5Sget_simple_extent_ndims(space);
		if (rank == wanted->rank)
			H5Sget_simple_extent_dims(space, dims, NULL);
		H5Sclose(space);
	}
	if (rank != wanted->rank)
		return err_set(err, -EINVAL, "the data set %s is missing or of the wrong shape",
			       name);
	if (dims[0] > wanted->rows_max)
		return err_set(err, -EINVAL, "%s has %llu rows; a results file has at most %llu",
			       name, (unsigned long long)dims[0],
			       (unsigned long long)wanted->rows_max);
	return 0;
}

/* The extents of a data set that is read at once. Refuses those that no results file of haul may have. */
static int open_extent(hid_t at, const char *name, const struct h5_extent *wanted, hid_t *dataset,
		       hsize_t dims[2], struct err *err)
{
	int rc = h5_open_shape(at, name, wanted, dataset, dims, err);

	if (rc == 0 && (dims[1] > RESULTS_BYTES_MAX ||
			(dims[0] && dims[1] * wanted->size > RESULTS_BYTES_MAX / dims[0])))
		return err_set(err, -EINVAL, "%s is larger than %d MiB", name,
			       RESULTS_BYTES_MAX >> 20);
	return rc;
}

int h5_read_array(hid_t at, const char *name, hid_t type, const struct h5_extent *wanted,
		  void **data, uint64_t dims[2], struct err *err)
{
	hsize_t found[2];
	hid_t dataset, transfer = H5I_INVALID_HID;
	int rc = open_extent(at, name, wanted, &dataset, found, err);

	*data = NULL;
	dims[0] = found[0];
	dims[1] = found[1];
	if (rc == 0) {
		*data = calloc(found[0] * found[1] + 1, wanted->size);
		transfer = h5_transfer(dataset, type, (hssize_t)(found[0] * found[1]));
		if (!*data)
			rc = err_set(err, -ENOMEM, "no memory for %s", name);
		else if (found[0] && (transfer < 0 || H5Dread(dataset, type, H5S_ALL, H5S_ALL,
							      transfer, *data) < 0))
			rc = h5_fail(err, "the data set %s cannot be read", name);
	}
	if (transfer >= 0)
		H5Pclose(transfer);
	if (dataset >= 0)
		H5Dclose(dataset);
	if (rc < 0) {
		free(*data);
		*data = NULL;
	}
	return rc;
}

int h5_read_records(hid_t at, const char *name, hid_t type, const struct h5_extent *wanted,
		    void **data, uint64_t *count, struct err *err)
{
	struct h5_extent list = *wanted;
	uint64_t dims[2];
	int rc;

	list.rank = 1;
	rc = h5_read_array(at, name, type, &list, data, dims, err);
	*count = rc < 0 ? 0 : dims[0];
	return rc;
}

/* Makes columns from the members of a compound type. */
static int table_shape(hid_t dataset, struct results_table *t, struct err *err)
{
	hid_t found = H5Dget_type(dataset);
	int members =
		found >= 0 && H5Tget_class(found) == H5T_COMPOUND ? H5Tget_nmembers(found) : 0;
	int rc = 0;

	t->columns = members > 0 ? calloc((size_t)members, sizeof(*t->columns)) : NULL;
	if (!t->columns)
		rc = err_set(err, -EINVAL, "it has no columns");
	for (int i = 0; rc == 0 && i < members; i++) {
		char *name = H5Tget_member_name(found, (unsigned)i);

		t->columns[i].real = H5Tget_member_class(found, (unsigned)i) == H5T_FLOAT;
		if (!name || strlen(name) >= sizeof(t->columns[i].name))
			rc = h5_fail(err, "its columns cannot be read");
		else
			strcpy(t->columns[i].name, name);
		H5free_memory(name);
	}
	t->column_count = (uint32_t)members;
	if (found >= 0)
		H5Tclose(found);
	return rc;
}

static int table_units(hid_t at, struct results_table *t, struct err *err)
{
	char *texts = NULL;
	uint64_t count;
	size_t width;
	int rc = read_texts(at, "units", &texts, &count, &width, err);

	if (rc == 0 && count != t->column_count)
		rc = err_set(err, -EINVAL, "there are %llu units for %u columns",
			     (unsigned long long)count, t->column_count);
	for (uint32_t i = 0; rc == 0 && i < t->column_count; i++)
		snprintf(t->columns[i].unit, sizeof(t->columns[i].unit), "%.*s", (int)width,
			 texts + i * width);
	free(texts);
	return rc;
}

static int table_roles(hid_t at, struct results_table *t, struct err *err)
{
	char *texts = NULL, role[RESULTS_NAME_BYTES];
	uint64_t count;
	size_t width;
	int rc = read_texts(at, "roles", &texts, &count, &width, err);

	if (rc == 0 && count != t->column_count)
		rc = err_set(err, -EINVAL, "there are %llu roles for %u columns",
			     (unsigned long long)count, t->column_count);
	for (uint32_t i = 0; rc == 0 && i < t->column_count; i++) {
		snprintf(role, sizeof(role), "%.*s", (int)width, texts + i * width);
		t->columns[i].role = role_of(role);
	}
	free(texts);
	return rc;
}

/* Tables without times that may be of nothing do not tell. */
static int table_counts(hid_t at, struct results_table *t, struct err *err)
{
	char *texts = NULL;
	uint64_t count;
	size_t width;
	int rc;

	if (H5Aexists(at, "counted_by") <= 0)
		return 0;
	rc = read_texts(at, "counted_by", &texts, &count, &width, err);
	if (rc == 0 && count != t->column_count)
		rc = err_set(err, -EINVAL, "counted_by has %llu texts for %u columns",
			     (unsigned long long)count, t->column_count);
	for (uint32_t i = 0; rc == 0 && i < t->column_count; i++)
		snprintf(t->columns[i].counted_by, sizeof(t->columns[i].counted_by), "%.*s",
			 (int)width, texts + i * width);
	free(texts);
	return rc;
}

/* Leaves only the chosen columns; NULL: all. */
static void table_choose(struct results_table *t, h5_column_choice choice)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; choice && i < t->column_count; i++)
		if (choice(&t->columns[i]))
			t->columns[kept++] = t->columns[i];
	if (choice)
		t->column_count = kept;
}

/* The memory type with which the columns are read: of each a word. HDF5 finds them by their names. */
static int table_memory(const struct results_table *t, hid_t *memory, struct err *err)
{
	if (!t->column_count)
		return err_set(err, -EINVAL, "it has none of the columns that are wanted");
	*memory = H5Tcreate(H5T_COMPOUND, 8 * (size_t)t->column_count);
	for (uint32_t i = 0; *memory >= 0 && i < t->column_count; i++)
		if (H5Tinsert(*memory, t->columns[i].name, 8 * (size_t)i,
			      t->columns[i].real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT64) < 0)
			return h5_fail(err, "its columns cannot be read");
	return *memory < 0 ? h5_fail(err, "its columns cannot be read") : 0;
}

int h5_read_table(hid_t at, const char *name, uint64_t rows_max, struct results_table *table,
		  struct err *err)
{
	return h5_read_columns(at, name, rows_max, NULL, table, err);
}

int h5_read_columns(hid_t at, const char *name, uint64_t rows_max, h5_column_choice choice,
		    struct results_table *table, struct err *err)
{
	struct h5_extent wanted = {.rank = 1, .rows_max = rows_max, .size = 8};
	hid_t dataset, memory = H5I_INVALID_HID;
	hsize_t dims[2];
	int rc = open_extent(at, name, &wanted, &dataset, dims, err);

	if (rc == 0)
		rc = table_shape(dataset, table, err);
	if (rc == 0)
		rc = table_units(dataset, table, err);
	if (rc == 0)
		rc = table_roles(dataset, table, err);
	if (rc == 0)
		rc = table_counts(dataset, table, err);
	if (rc == 0)
		table_choose(table, choice);
	if (rc == 0)
		rc = table_memory(table, &memory, err);
	wanted.size = 8 * (size_t)table->column_count;
	if (rc == 0)
		rc = h5_read_records(at, name, memory, &wanted, (void **)&table->cells,
				     &table->row_count, err);
	if (memory >= 0)
		H5Tclose(memory);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc < 0 ? err_wrap(err, rc, "%s", name) : 0;
}

int h5_rank_of(hid_t at, const char *name)
{
	hid_t dataset = H5Dopen2(at, name, H5P_DEFAULT);
	hid_t space = dataset < 0 ? dataset : H5Dget_space(dataset);
	int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);

	if (space >= 0)
		H5Sclose(space);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rank;
}

bool h5_is_plain(hid_t at, const char *name)
{
	hid_t dataset = H5Dopen2(at, name, H5P_DEFAULT);
	hid_t type = dataset < 0 ? dataset : H5Dget_type(dataset);
	bool plain = type >= 0 && H5Tget_class(type) == H5T_INTEGER;

	if (type >= 0)
		H5Tclose(type);
	if (dataset >= 0)
		H5Dclose(dataset);
	return plain;
}

static int headline_cell(hid_t group, struct results_column *column, union results_cell *cell,
			 struct err *err)
{
	hid_t attr = H5Aexists(group, column->name) > 0 ? H5Aopen(group, column->name, H5P_DEFAULT)
							: H5I_INVALID_HID;
	hid_t type = attr < 0 ? attr : H5Aget_type(attr);

	column->real = type >= 0 && H5Tget_class(type) == H5T_FLOAT;
	if (type >= 0)
		H5Tclose(type);
	if (attr >= 0)
		H5Aclose(attr);
	return column->real ? h5_read_real(group, column->name, &cell->real, err)
			    : h5_read_u64(group, column->name, &cell->count, err);
}

int h5_read_headline(hid_t group, struct results_table *t, struct err *err)
{
	char *names = NULL;
	uint64_t count;
	size_t width;
	int rc = read_texts(group, "columns", &names, &count, &width, err);

	if (rc < 0)
		goto out_names;
	t->columns = calloc(count, sizeof(*t->columns));
	t->cells = calloc(count, sizeof(*t->cells));
	if (!t->columns || !t->cells) {
		rc = err_set(err, -ENOMEM, "no memory for its headline");
		goto out_names;
	}
	t->column_count = (uint32_t)count;
	t->row_count = 1;
	rc = table_units(group, t, err);
	if (rc == 0)
		rc = table_roles(group, t, err);
	for (uint64_t i = 0; rc == 0 && i < count; i++) {
		snprintf(t->columns[i].name, sizeof(t->columns[i].name), "%.*s", (int)width,
			 names + i * width);
		rc = headline_cell(group, &t->columns[i], &t->cells[i], err);
	}
out_names:
	free(names);
	return rc;
}
