/* Reading what single ranks, or nodes, took for the requests that a phase is made of. See read_phase.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5_read.h"
#include "results-schema/h5_row_reader.h"
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

/* h: the histograms of one block of rows. */
static void latencies_fill(struct results_latency_row *row, const struct results_row_hists *h,
			   uint64_t count)
{
	for (uint64_t i = 0; i < count; i++, row++) {
		row->count = results_row_count(h, i);
		if (!row->count)
			continue;
		row->p99_ns = results_row_quantile(h, i, latencies_share);
		row->p99_least_ns = results_row_quantile(h, i, latencies_share_least(row->count));
	}
}

/* A row has hundreds of buckets, so only a block of rows is in memory. */
static int latencies_read(hid_t group, struct results_latencies *l, struct h5_row_reader *rows,
			  struct err *err)
{
	const struct h5_extent list = {1, RESULTS_ROWS_MAX, sizeof(uint64_t)};
	struct results_row_hists h = {.bucket_count = (uint32_t)rows->dims[1],
				      .counts = rows->block};
	uint64_t edges = 0;
	int rc = h5_read_records(group, "edges_ns", H5T_NATIVE_UINT64, &list, (void **)&h.edges_ns,
				 &edges, err);

	if (rc == 0 && edges != rows->dims[1] + 1)
		rc = err_set(err, -EINVAL, "the rows of its histogram %s do not fit its edges",
			     l->name);
	if (rc == 0) {
		l->row = calloc(rows->dims[0] + 1, sizeof(*l->row));
		rc = l->row ? 1 : err_set(err, -ENOMEM, "no memory for the latencies of its ranks");
	}
	while (rc > 0) {
		rc = h5_rows_next(rows, err);
		if (rc > 0)
			latencies_fill(&l->row[rows->first], &h, rows->count);
	}
	l->rows = rc == 0 ? rows->dims[0] : 0;
	free(h.edges_ns);
	return rc;
}

/* Reads the rows of one histogram. Files may lack them. */
static int latencies_load(hid_t group, const struct results_file *f, struct results_latencies *l,
			  struct err *err)
{
	struct h5_extent all = {2, f->ranks, sizeof(uint64_t)};
	struct h5_row_reader rows;
	int rc;

	l->by_node = H5Lexists(group, "by_rank", H5P_DEFAULT) <= 0;
	if (l->by_node && H5Lexists(group, "by_node", H5P_DEFAULT) <= 0)
		return 0;
	if (l->by_node)
		all.rows_max = f->nodes;
	rc = h5_rows_begin(&rows, group, l->by_node ? "by_node" : "by_rank", H5T_NATIVE_UINT64,
			   &all, err);
	if (rc == 0)
		rc = latencies_read(group, l, &rows, err);
	h5_rows_end(&rows);
	return rc;
}

int read_latencies(hid_t phase, const struct results_file *f, struct results_phase_read *p,
		   struct err *err)
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
	rc = latencies_load(group, f, &p->latencies, err);
	H5Gclose(group);
	return rc;
}
