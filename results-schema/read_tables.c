/* Reading the tables of a phase, by the names that the file itself gives. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5.h"
#include "results-schema/h5_read.h"
#include "results-schema/read_phase.h"

void read_tables_free(struct results_phase_read *p)
{
	for (uint32_t i = 0; p->tables && i < p->table_count; i++) {
		struct results_rows *t = &p->tables[i];

		free(t->table.columns);
		free(t->table.cells);
		free(t->names);
		free(t->codes);
		for (uint32_t h = 0; t->hists && h < t->hist_count; h++) {
			free(t->hists[h].edges_ns);
			free(t->hists[h].counts);
		}
		free(t->hists);
		free(t->spread);
	}
	free(p->tables);
	p->tables = NULL;
	p->table_count = 0;
}

static int load_names(hid_t group, struct results_rows *t, struct err *err)
{
	const struct h5_extent wanted = {1, RESULTS_ROWS_MAX, TABLE_TEXT_BYTES};
	uint64_t count;
	hid_t type;
	int rc;

	if (H5Lexists(group, "names", H5P_DEFAULT) <= 0)
		return 0;
	type = h5_text_type(TABLE_TEXT_BYTES);
	rc = h5_read_records(group, "names", type, &wanted, (void **)&t->names, &count, err);
	if (rc == 0 && count != t->table.row_count)
		rc = err_set(err, -EINVAL, "there are %llu names for %llu rows",
			     (unsigned long long)count, (unsigned long long)t->table.row_count);
	for (uint64_t i = 0; rc == 0 && i < count; i++)
		t->names[i][TABLE_TEXT_BYTES - 1] = '\0';
	if (type >= 0)
		H5Tclose(type);
	return rc;
}

/* A data set of three columns: row, code, count. */
static int load_codes(hid_t group, const char *name, struct results_rows *t, struct err *err)
{
	const struct h5_extent wanted = {2, RESULTS_ROWS_MAX, sizeof(uint64_t)};
	uint64_t dims[2];
	int rc = h5_read_array(group, name, H5T_NATIVE_UINT64, &wanted, (void **)&t->codes, dims,
			       err);

	if (rc == 0 && dims[1] != 3)
		return err_set(err, -EINVAL, "%s has %llu columns, not 3", name,
			       (unsigned long long)dims[1]);
	if (rc == 0) {
		t->code_count = dims[0];
		snprintf(t->codes_name, sizeof(t->codes_name), "%s", name);
	}
	return rc;
}

static int load_row_hists(hid_t at, const char *name, struct results_rows *t, struct err *err)
{
	const struct h5_extent all = {2, RESULTS_ROWS_MAX, sizeof(uint64_t)};
	const struct h5_extent list = {1, RESULTS_ROWS_MAX, sizeof(uint64_t)};
	struct results_row_hists *h = &t->hists[t->hist_count++];
	uint64_t dims[2], edges;
	hid_t group = H5Gopen2(at, name, H5P_DEFAULT);
	int rc = group < 0 ? h5_fail(err, "%s cannot be read", name) : 0;

	snprintf(h->name, sizeof(h->name), "%s", name);
	if (rc == 0)
		rc = h5_read_array(group, "counts", H5T_NATIVE_UINT64, &all, (void **)&h->counts,
				   dims, err);
	if (rc == 0)
		rc = h5_read_records(group, "edges_ns", H5T_NATIVE_UINT64, &list,
				     (void **)&h->edges_ns, &edges, err);
	if (rc == 0 && (dims[0] != t->table.row_count || edges != dims[1] + 1))
		rc = err_set(err, -EINVAL, "%s does not fit the rows", name);
	if (rc == 0)
		h->bucket_count = (uint32_t)dims[1];
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

static H5I_type_t object_type(hid_t at, const char *name)
{
	hid_t object = H5Oopen(at, name, H5P_DEFAULT);
	H5I_type_t type = object < 0 ? H5I_BADID : H5Iget_type(object);

	if (object >= 0)
		H5Oclose(object);
	return type;
}

/* Reads what else a table's group holds: a group is a histogram, a data set of two dimensions has
 * codes. */
static int load_members(hid_t group, struct results_rows *t, struct err *err)
{
	H5G_info_t info;
	int rc = 0;

	if (H5Gget_info(group, &info) < 0 || info.nlinks > RESULTS_HISTS_MAX)
		return h5_fail(err, "it cannot be read");
	t->hists = calloc(info.nlinks + 1, sizeof(*t->hists));
	if (!t->hists)
		return err_set(err, -ENOMEM, "no memory for its histograms");
	for (hsize_t i = 0; rc == 0 && i < info.nlinks; i++) {
		char name[RESULTS_NAME_BYTES] = "";
		H5I_type_t type;

		if (H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
				       sizeof(name), H5P_DEFAULT) < 0)
			return h5_fail(err, "it cannot be read");
		type = object_type(group, name);
		if (type == H5I_GROUP)
			rc = load_row_hists(group, name, t, err);
		else if (!t->codes && strcmp(name, "rows") != 0 && strcmp(name, "names") != 0 &&
			 h5_rank_of(group, name) == 2 && h5_is_plain(group, name))
			rc = load_codes(group, name, t, err);
	}
	return rc;
}

static int load_left_out(hid_t at, const char *name, struct results_rows *t, struct err *err)
{
	hid_t dataset = H5Dopen2(at, name, H5P_DEFAULT);
	int rc = 0;

	if (dataset >= 0 && H5Aexists(dataset, "left_out") > 0)
		rc = h5_read_u64(dataset, "left_out", &t->left_out, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}

static int load_table(hid_t phase, const char *name, struct results_rows *t, struct err *err)
{
	hid_t group;
	int rc;

	snprintf(t->name, sizeof(t->name), "%s", name);
	if (object_type(phase, name) == H5I_DATASET) {
		rc = h5_read_table(phase, name, RESULTS_ROWS_MAX, &t->table, err);
		return rc < 0 ? rc : load_left_out(phase, name, t, err);
	}
	group = H5Gopen2(phase, name, H5P_DEFAULT);
	rc = group < 0 ? h5_fail(err, "it cannot be read")
		       : h5_read_table(group, "rows", RESULTS_ROWS_MAX, &t->table, err);
	if (rc == 0)
		rc = load_left_out(group, "rows", t, err);
	if (rc == 0)
		rc = load_names(group, t, err);
	if (rc == 0)
		rc = load_members(group, t, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

int read_tables(hid_t phase, struct results_phase_read *p, struct err *err)
{
	char(*names)[RESULTS_NAME_BYTES] = NULL;
	uint32_t count;
	int rc;

	if (H5Aexists(phase, "tables") <= 0)
		return 0;
	rc = h5_read_texts(phase, "tables", sizeof(*names), (char **)&names, &count, err);
	if (rc == 0 && count > RESULTS_TABLES_MAX)
		rc = err_set(err, -EINVAL, "it has %u tables", count);
	if (rc == 0) {
		p->tables = calloc(count + 1, sizeof(*p->tables));
		rc = p->tables ? 0 : err_set(err, -ENOMEM, "no memory for its tables");
	}
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		rc = load_table(phase, names[i], &p->tables[p->table_count++], err);
		if (rc < 0)
			err_wrap(err, rc, "%s", names[i]);
	}
	free(names);
	return rc;
}
