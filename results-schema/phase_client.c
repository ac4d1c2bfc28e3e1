/* /phases/N_kind/client: client-side measurements of the nodes. Its rows are written as blocks. */
#include <errno.h>
#include <stdlib.h>

#include "results-schema/h5.h"
#include "results-schema/nexus.h"
#include "results-schema/phase.h"

static int write_axes(hid_t group, const struct merged_client *c, struct err *err)
{
	size_t n = c->rows > c->nodes ? c->rows : c->nodes;
	double *values = calloc(n, sizeof(*values));
	int rc = values ? 0 : err_set(err, -ENOMEM, "no memory for the rows of a node");

	for (uint32_t i = 0; rc == 0 && i < c->nodes; i++)
		values[i] = i;
	if (rc == 0)
		rc = h5_array(group, "node", H5T_NATIVE_DOUBLE, c->nodes, values, NULL, err);
	for (uint32_t i = 0; rc == 0 && i < c->rows; i++)
		values[i] = (double)i * (double)c->interval_ns / 1e9;
	if (rc == 0)
		rc = h5_array(group, "time_s", H5T_NATIVE_DOUBLE, c->rows, values, "s", err);
	free(values);
	return rc;
}

static const char *const over_keys[] = {"time_ns", "nodes"};

static int write_stat(hid_t group, const struct client_over *over, enum client_stat stat,
		      struct err *err)
{
	const struct row_shape shape = {over_keys, 2, &client_columns};
	size_t words = rows_words(&shape);
	hid_t dataset = H5I_INVALID_HID;
	uint64_t *rows = calloc(over->rows, words * sizeof(*rows));
	int rc = rows ? 0 : err_set(err, -ENOMEM, "no memory for the rows of nodes");

	for (uint32_t i = 0; rc == 0 && i < over->rows; i++) {
		const uint64_t keys[] = {i * over->interval_ns, over->nodes[i]};

		rows_fill(&shape, keys, over->row[stat][i], rows + i * words);
	}
	if (rc == 0)
		rc = rows_write(group, client_stat_names[stat], &shape, over->rows, rows, &dataset,
				err);
	if (dataset >= 0)
		H5Dclose(dataset);
	free(rows);
	return rc;
}

static int write_over(hid_t client, const struct client_over *over, struct err *err)
{
	hid_t group;
	int rc = h5_group(client, "over_nodes", &group, err);

	if (rc == 0)
		rc = h5_attr_real(group, "interval_s", (double)over->interval_ns / 1e9, err);
	for (int i = 0; rc == 0 && i < CLIENT_STATS; i++)
		rc = write_stat(group, over, (enum client_stat)i, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

int phase_write_client(hid_t phase, const struct merged *m, const struct phase_writer *w,
		       struct err *err)
{
	static const char *const axes[] = {"node", "time_s"};
	static const struct nexus nexus = {.title = "how busy the cores of the ranks were",
					   .signal = "cores_busy",
					   .axes = axes,
					   .axis_count = 2};
	hid_t group;
	int rc;

	if (!merged_has_client(m, w->nodes))
		return 0;
	rc = h5_group(phase, "client", &group, err);
	if (rc == 0)
		rc = nexus_write(group, &nexus, err);
	if (rc == 0)
		rc = h5_attr_real(group, "interval_s", (double)m->client.interval_ns / 1e9, err);
	if (rc == 0)
		rc = write_axes(group, &m->client, err);
	if (rc == 0 && m->client.over)
		rc = write_over(group, m->client.over, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}
