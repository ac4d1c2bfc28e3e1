/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what single ranks, or nodes, took for the requests that a phase is made of. See
 * read_phase.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/read_phase.h"

static const double latencies_share = 0.99, latencies_errors = 3;

/* The histogram whose rows are read: that of reads, else the phase's main one. NULL: neither is in
 * the file. */
static const char *latencies_name(const struct results_phase_read *p)
{
	const struct results_hist *read = read_hist_of_role(p, ROLE_READ_LATENCY);

	if (read)
		return read->name;
	return read_hist_named(p, p->record.main_hist) ? p->record.main_hist : NULL;
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
static void latencies_read(struct h5_reader *r, struct results_latencies *l,
			   const struct h5_extent *wanted)
{
	struct results_row_hists h = {.bucket_count = 0};
	struct h5r_rows rows;
	uint64_t edges = 0;

	h.edges_ns = h5r_list(r, "edges_ns", H5T_NATIVE_UINT64, RESULTS_ROWS_MAX, sizeof(uint64_t),
			      &edges);
	h5r_rows_begin(r, &rows, l->by_node ? "by_node" : "by_rank", H5T_NATIVE_UINT64, wanted);
	if (edges != rows.dims[1] + 1)
		h5r_error(r, -EINVAL, "its rows do not fit its edges");
	h.bucket_count = (uint32_t)rows.dims[1];
	h.counts = rows.block;
	l->row = h5r_room(r, rows.dims[0], sizeof(*l->row));
	while (h5r_rows_next(r, &rows))
		latencies_fill(&l->row[rows.first], &h, rows.count);
	l->rows = r->rc == 0 ? rows.dims[0] : 0;
	h5r_rows_end(r, &rows);
	free(h.edges_ns);
}

void read_latencies(struct h5_reader *r, const struct results_file *f, struct results_phase_read *p)
{
	struct results_latencies *l = &p->latencies;
	const char *name = r->rc == 0 ? latencies_name(p) : NULL;
	char path[RESULTS_NAME_BYTES + 16];

	if (!name)
		return;
	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(path, sizeof(path), "histograms/%s", l->name);
	h5r_enter(r, path);
	/* Files may lack the rows. */
	l->by_node = !h5r_has(r, "by_rank");
	if (!l->by_node || h5r_has(r, "by_node"))
		latencies_read(
			r, l,
			&(struct h5_extent){2, l->by_node ? f->nodes : f->ranks, sizeof(uint64_t)});
	h5r_leave(r);
}
