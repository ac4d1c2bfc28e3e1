#include "results-schema/phase_endpoints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5.h"
#include "results-schema/phase_client.h"
#include "results-schema/rows.h"

static const char *const keys[] = {"endpoint"};

static int write_rows(hid_t group, const struct merged *m, bool first, struct err *err)
{
	const struct row_shape shape = {keys, 1, &tally_endpoint_columns};
	size_t words = rows_words(&shape);
	uint64_t *rows = calloc(m->endpoint_count * words, sizeof(*rows));
	hsize_t dims = m->endpoint_count;
	hid_t type = rows_type(&shape), dataset = H5I_INVALID_HID;
	int rc = rows ? 0 : err_set(err, -ENOMEM, "no memory for the rows of endpoints");

	if (rc == 0)
		rc = h5_dataset(group, "rows", type, 1, &dims, &dataset, err);
	if (rc == 0)
		rc = rows_units(dataset, &shape, err);
	for (uint64_t i = 0; rc == 0 && i < m->endpoint_count; i++)
		rows_fill(&shape, &i, m->endpoints[i].row, rows + i * words);
	if (rc == 0 && first)
		rc = h5_write(dataset, type, rows, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	if (type >= 0)
		H5Tclose(type);
	free(rows);
	return rc;
}

static int write_names(hid_t group, const struct merged *m, bool first, struct err *err)
{
	char(*names)[TALLY_ENDPOINT_NAME_BYTES] = calloc(m->endpoint_count, sizeof(*names));
	hid_t type = h5_text_type(TALLY_ENDPOINT_NAME_BYTES);
	int rc = names ? 0 : err_set(err, -ENOMEM, "no memory for the names of endpoints");

	for (uint32_t i = 0; rc == 0 && i < m->endpoint_count; i++)
		memcpy(names[i], m->endpoints[i].name, sizeof(names[i]));
	if (rc == 0)
		rc = h5_array(group, "names", type, m->endpoint_count, names, first, NULL, err);
	if (type >= 0)
		H5Tclose(type);
	free(names);
	return rc;
}

/* A row a status that an endpoint gave: endpoint, status, requests. */
static int write_statuses(hid_t group, const struct merged *m, bool first, struct err *err)
{
	static const char *const columns[] = {"endpoint", "status", "requests"};
	hsize_t dims[2] = {m->status_rows, 3};
	uint64_t(*rows)[3] = calloc(m->status_rows + 1, sizeof(*rows));
	hid_t dataset = H5I_INVALID_HID;
	int rc = rows ? 0 : err_set(err, -ENOMEM, "no memory for the statuses of endpoints");
	uint32_t n = 0;

	for (uint32_t i = 0; rc == 0 && first && i < m->endpoint_count; i++) {
		for (unsigned s = 0; s < TALLY_STATUSES && n < m->status_rows; s++) {
			if (!m->endpoints[i].status[s])
				continue;
			rows[n][0] = i;
			rows[n][1] = s;
			rows[n++][2] = m->endpoints[i].status[s];
		}
	}
	if (rc == 0)
		rc = h5_dataset(group, "statuses", H5T_NATIVE_UINT64, 2, dims, &dataset, err);
	if (rc == 0)
		rc = h5_attr_texts(dataset, "columns", columns, 3, err);
	if (rc == 0 && first)
		rc = h5_write(dataset, H5T_NATIVE_UINT64, rows, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	free(rows);
	return rc;
}

static int write_latency(hid_t phase, const struct merged *m, bool first, struct err *err)
{
	static const char *const axes[] = {"endpoint", "edges_ns"};
	hsize_t dims[2] = {m->endpoint_count, TALLY_LATENCIES};
	uint64_t(*rows)[TALLY_LATENCIES] = calloc(m->endpoint_count, sizeof(*rows));
	uint64_t edges[TALLY_LATENCIES + 1], *numbers = calloc(m->endpoint_count, sizeof(*numbers));
	hid_t group = H5I_INVALID_HID, dataset = H5I_INVALID_HID;
	int rc =
		rows && numbers ? 0 : err_set(err, -ENOMEM, "no memory for latencies of endpoints");

	for (uint32_t i = 0; rc == 0 && i < m->endpoint_count; i++) {
		memcpy(rows[i], m->endpoints[i].latency, sizeof(rows[i]));
		numbers[i] = i;
	}
	for (unsigned i = 0; i <= TALLY_LATENCIES; i++)
		edges[i] = tally_latency_edge(i);
	if (rc == 0)
		rc = h5_group(phase, "latency", &group, err);
	if (rc == 0)
		rc = phase_nxdata(group, "how long attempts took", "counts", axes, 2, err);
	if (rc == 0)
		rc = h5_dataset(group, "counts", H5T_NATIVE_UINT64, 2, dims, &dataset, err);
	if (rc == 0 && first)
		rc = h5_write(dataset, H5T_NATIVE_UINT64, rows, err);
	if (rc == 0)
		rc = h5_array(group, "endpoint", H5T_NATIVE_UINT64, m->endpoint_count, numbers,
			      first, NULL, err);
	if (rc == 0)
		rc = h5_array(group, "edges_ns", H5T_NATIVE_UINT64, TALLY_LATENCIES + 1, edges,
			      first, "ns", err);
	if (dataset >= 0)
		H5Dclose(dataset);
	if (group >= 0)
		H5Gclose(group);
	free(rows);
	free(numbers);
	return rc;
}

int phase_write_endpoints(hid_t phase, const struct merged *m, const struct phase_writer *w,
			  struct err *err)
{
	hid_t group;
	int rc;

	if (!m->endpoint_count)
		return 0;
	rc = h5_group(phase, "endpoints", &group, err);
	if (rc == 0)
		rc = write_rows(group, m, w->first, err);
	if (rc == 0)
		rc = write_names(group, m, w->first, err);
	if (rc == 0)
		rc = write_statuses(group, m, w->first, err);
	if (rc == 0)
		rc = write_latency(group, m, w->first, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}
