/* SPDX-License-Identifier: Apache-2.0 */
/* /phases/N_name/histograms: merged histograms. See phase.h. */
#include "core/measure/quantile.h"
#include "results-schema/phase.h"

static void write_facts(struct h5_writer *w, const struct merged_hist *h)
{
	h5w_text(w, "role", role_name(h->kind->role));
	h5w_u64(w, "first_bucket", h->first);
	h5w_u64(w, "count", hist_count(h->whole));
	h5w_u64(w, "sum_ns", h->whole->sum_ns);
	h5w_u64(w, "clipped", h->whole->clipped);
	h5w_u64(w, "max_ns", h->whole->max_ns);
	h5w_u64(w, "min_ns", ~h->whole->min_not_ns);
	for (int q = 0; q < QUANTILES; q++) {
		char name[32];

		snprintf(name, sizeof(name), "%s_ns", quantile_kinds[q].name);
		h5w_u64(w, name, quantile_ns(h->whole, (enum quantile)q));
	}
}

/* edges_ns has one value more than counts: bin i is [edges_ns[i], edges_ns[i + 1]). */
static void write_phase_hist(struct h5_writer *w, const struct merged_hist *h)
{
	static const char *const axes[] = {"edges_ns"};
	uint64_t edges[HIST_BUCKETS + 1];

	for (unsigned i = 0; i <= h->count; i++)
		edges[i] = hist_edge(h->first + i);
	h5w_group(w, h->kind->name);
	h5w_nexus(w, &(struct nexus){.title = h->kind->help,
				     .signal = "counts",
				     .axes = axes,
				     .axis_count = 1});
	write_facts(w, h);
	h5w_array(w, "counts", H5T_NATIVE_UINT64, h->count, h->whole->bucket + h->first, NULL);
	h5w_array(w, "edges_ns", H5T_NATIVE_UINT64, h->count + 1, edges, "ns");
	h5w_leave(w);
}

void phase_write_hists(struct h5_writer *w, const struct merged *m)
{
	h5w_group(w, "histograms");
	for (uint32_t i = 0; i < m->hist_count; i++)
		write_phase_hist(w, &m->hists[i]);
	h5w_leave(w);
}
