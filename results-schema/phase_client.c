#include "results-schema/phase_client.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "results-schema/h5.h"
#include "results-schema/rows.h"

static const char *const keys[] = {"node", "time_ns"};
enum { KEYS = 2 };

/* One data set for all nodes and columns: a collective write is dear where ranks outnumber cores. */
static int write_rows(hid_t group, const struct merged_client *c, const struct phase_writer *w,
		      struct err *err)
{
	const struct row_shape shape = {keys, KEYS, &client_columns};
	size_t words = rows_words(&shape);
	uint64_t *rows = calloc(c->rows * words, sizeof(*rows));
	hsize_t dims = (hsize_t)c->nodes * c->rows, start = 0, count = 0;
	hid_t type = rows_type(&shape), dataset = H5I_INVALID_HID;
	int rc = rows ? 0 : err_set(err, -ENOMEM, "no memory for the rows of a node");

	if (rc == 0)
		rc = h5_dataset(group, "rows", type, 1, &dims, &dataset, err);
	if (rc == 0)
		rc = rows_units(dataset, &shape, err);
	for (uint32_t i = 0; rc == 0 && c->own && i < c->rows; i++) {
		uint64_t key[KEYS] = {w->node, i * c->interval_ns};

		rows_fill(&shape, key, c->own->row[i], rows + i * words);
	}
	if (c->own) {
		start = (hsize_t)w->node * c->rows;
		count = c->rows;
	}
	if (rc == 0)
		rc = h5_write_rows(dataset, type, 1, &start, &count, rows, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	if (type >= 0)
		H5Tclose(type);
	free(rows);
	return rc;
}

/* What is plotted: the share of the ranks' cores that was busy, by node and time. */
static int write_busy(hid_t group, const struct merged_client *c, const struct phase_writer *w,
		      struct err *err)
{
	hsize_t dims[2] = {c->nodes, c->rows}, start[2] = {0, 0}, count[2] = {0, c->rows};
	double busy[CLIENT_ROWS];
	hid_t dataset;
	int rc = h5_dataset(group, "cores_busy", H5T_NATIVE_DOUBLE, 2, dims, &dataset, err);

	for (uint32_t i = 0; c->own && i < c->rows; i++) {
		const uint64_t *row = c->own->row[i];

		busy[i] = row[CLIENT_RANK_CORES_NS] ? (double)row[CLIENT_RANK_CORES_BUSY_NS] /
							      (double)row[CLIENT_RANK_CORES_NS]
						    : NAN;
	}
	if (c->own) {
		start[0] = w->node;
		count[0] = 1;
	}
	if (rc == 0)
		rc = h5_attr_text(dataset, "units", "fraction", err);
	if (rc == 0)
		rc = h5_write_rows(dataset, H5T_NATIVE_DOUBLE, 2, start, count, busy, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}

static int write_axes(hid_t group, const struct merged_client *c, bool first, struct err *err)
{
	size_t n = c->rows > c->nodes ? c->rows : c->nodes;
	double *values = calloc(n, sizeof(*values));
	int rc = values ? 0 : err_set(err, -ENOMEM, "no memory for the rows of a node");

	for (uint32_t i = 0; rc == 0 && i < c->nodes; i++)
		values[i] = i;
	if (rc == 0)
		rc = h5_array(group, "node", H5T_NATIVE_DOUBLE, c->nodes, values, first, NULL, err);
	for (uint32_t i = 0; rc == 0 && i < c->rows; i++)
		values[i] = (double)i * (double)c->interval_ns / 1e9;
	if (rc == 0)
		rc = h5_array(group, "time_s", H5T_NATIVE_DOUBLE, c->rows, values, first, "s", err);
	free(values);
	return rc;
}

int phase_write_client(hid_t phase, const struct merged *m, const struct phase_writer *w,
		       struct err *err)
{
	static const char *const axes[] = {"node", "time_s"};
	const struct merged_client *c = &m->client;
	hid_t group;
	int rc;

	if (!c->rows || c->nodes != w->nodes)
		return 0;
	rc = h5_group(phase, "client", &group, err);
	if (rc == 0)
		rc = phase_nxdata(group, "how busy the cores of the ranks were", "cores_busy", axes,
				  2, err);
	if (rc == 0)
		rc = h5_attr_real(group, "interval_s", (double)c->interval_ns / 1e9, err);
	if (rc == 0)
		rc = write_axes(group, c, w->first, err);
	if (rc == 0)
		rc = write_busy(group, c, w, err);
	if (rc == 0)
		rc = write_rows(group, c, w, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}
