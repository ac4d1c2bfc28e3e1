/* Reading what single ranks, or nodes, took for the requests that a phase is made of. See read_phase.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5_read.h"
#include "results-schema/read_phase.h"

static const double latencies_share = 0.99, latencies_errors = 3;

/* The histogram whose rows are read: that of reads, else the phase's main one. NULL: neither is in the file. */
static const char *latencies_name(const struct results_phase_read *p)
{
	const struct results_hist *read = results_role_hist(p, ROLE_READ_LATENCY);

	if (read)
		return read->name;
	return results_find_hist(p, p->record.main_hist) ? p->record.main_hist : NULL;
}

/* The share of a sample of count that surely lies below its 99th percentile. */
static double latencies_share_least(uint64_t count)
{
	double error = sqrt(latencies_share * (1 - latencies_share) / (double)count);
	double least = latencies_share - latencies_errors * error;

	return least > 0 ? least : 0;
}

static int latencies_fill(struct results_latencies *l, const struct results_row_hists *h,
			  struct err *err)
{
	l->row = calloc(l->rows + 1, sizeof(*l->row));
	if (!l->row)
		return err_set(err, -ENOMEM, "no memory for the latencies of its ranks");
	for (uint64_t i = 0; i < l->rows; i++) {
		struct results_latency_row *row = &l->row[i];

		row->count = results_row_count(h, i);
		if (!row->count)
			continue;
		row->p99_ns = results_row_quantile(h, i, latencies_share);
		row->p99_least_ns = results_row_quantile(h, i, latencies_share_least(row->count));
	}
	return 0;
}

/* Reads the rows of one histogram. Files may lack them. */
static int latencies_load(hid_t group, struct results_latencies *l, struct err *err)
{
	const struct h5_extent all = {2, RESULTS_RANKS_MAX, sizeof(uint64_t)};
	const struct h5_extent list = {1, RESULTS_ROWS_MAX, sizeof(uint64_t)};
	struct results_row_hists h = {.bucket_count = 0};
	uint64_t dims[2] = {0, 0}, edges = 0;
	int rc;

	l->by_node = H5Lexists(group, "by_rank", H5P_DEFAULT) <= 0;
	if (l->by_node && H5Lexists(group, "by_node", H5P_DEFAULT) <= 0)
		return 0;
	rc = h5_read_array(group, l->by_node ? "by_node" : "by_rank", H5T_NATIVE_UINT64, &all,
			   (void **)&h.counts, dims, err);
	if (rc == 0)
		rc = h5_read_records(group, "edges_ns", H5T_NATIVE_UINT64, &list,
				     (void **)&h.edges_ns, &edges, err);
	if (rc == 0 && (!dims[1] || edges != dims[1] + 1))
		rc = err_set(err, -EINVAL, "the rows of its histogram %s do not fit its edges",
			     l->name);
	if (rc == 0) {
		h.bucket_count = (uint32_t)dims[1];
		l->rows = dims[0];
		rc = latencies_fill(l, &h, err);
	}
	free(h.counts);
	free(h.edges_ns);
	return rc;
}

int read_latencies(hid_t phase, struct results_phase_read *p, struct err *err)
{
	const char *name = latencies_name(p);
	char path[RESULTS_NAME_BYTES + 16];
	hid_t group;
	int rc;

	if (!name)
		return 0;
	snprintf(p->latencies.name, sizeof(p->latencies.name), "%s", name);
	snprintf(path, sizeof(path), "histograms/%s", p->latencies.name);
	group = H5Gopen2(phase, path, H5P_DEFAULT);
	if (group < 0)
		return err_set(err, -EINVAL, "its histograms cannot be read");
	rc = latencies_load(group, &p->latencies, err);
	H5Gclose(group);
	return rc;
}
