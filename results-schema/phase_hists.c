/* /phases/N_kind/histograms: merged histograms. See phase.h. */
#include <stdlib.h>

#include "core/measure/quantile.h"
#include "results-schema/h5.h"
#include "results-schema/nexus.h"
#include "results-schema/phase.h"

static int write_facts(hid_t group, const struct merged_hist *h, struct err *err)
{
	const struct {
		const char *name;
		uint64_t value;
	} facts[] = {{"first_bucket", h->first},   {"count", hist_count(h->whole)},
		     {"sum_ns", h->whole->sum_ns}, {"clipped", h->whole->clipped},
		     {"max_ns", h->whole->max_ns}, {"min_ns", ~h->whole->min_not_ns},
#define QUANTILE_FACT(id, name, share) {#name "_ns", hist_quantile_ns(h->whole, share)},
		     QUANTILE_LIST(QUANTILE_FACT)
#undef QUANTILE_FACT
	};
	int rc = h5_attr_text(group, "role", role_name(h->kind->role), err);

	for (size_t i = 0; rc == 0 && i < sizeof(facts) / sizeof(*facts); i++)
		rc = h5_attr_u64(group, facts[i].name, facts[i].value, err);
	return rc;
}

/* edges_ns has one value more than counts: bin i is [edges_ns[i], edges_ns[i + 1]). */
static int write_hist(hid_t at, const struct merged_hist *h, struct err *err)
{
	static const char *const axes[] = {"edges_ns"};
	const struct nexus nexus = {
		.title = h->kind->help, .signal = "counts", .axes = axes, .axis_count = 1};
	uint64_t edges[HIST_BUCKETS + 1];
	hid_t group;
	int rc = h5_group(at, h->kind->name, &group, err);

	for (unsigned i = 0; i <= h->count; i++)
		edges[i] = hist_edge(h->first + i);
	if (rc == 0)
		rc = nexus_write(group, &nexus, err);
	if (rc == 0)
		rc = write_facts(group, h, err);
	if (rc == 0)
		rc = h5_array(group, "counts", H5T_NATIVE_UINT64, h->count,
			      h->whole->bucket + h->first, NULL, err);
	if (rc == 0)
		rc = h5_array(group, "edges_ns", H5T_NATIVE_UINT64, h->count + 1, edges, "ns", err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

int phase_write_hists(hid_t phase, const struct merged *m, struct err *err)
{
	hid_t group;
	int rc = h5_group(phase, "histograms", &group, err);

	for (uint32_t i = 0; rc == 0 && i < m->hist_count; i++)
		rc = write_hist(group, &m->hists[i], err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}
