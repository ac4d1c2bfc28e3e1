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
	if (group >= 0)
		H5Gclose(group);
	return rc;
}
