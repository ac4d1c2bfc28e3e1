/* Distributions of latencies as JSON: of each histogram the counts between edges, eight to each doubling of the time.
 * The file has eight times as many buckets; percentiles come from those. */
#include "report/json/json.h"

/* Buckets of a histogram that are taken together; 64 of them make a doubling of the time. */
enum { DISTRIBUTION_FOLD = 8 };

static cJSON *distribution_object(const struct hist *h, unsigned first, unsigned last)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *edges = cJSON_AddArrayToObject(o, "edges"),
	      *counts = cJSON_AddArrayToObject(o, "counts");
	unsigned i;

	for (i = first / DISTRIBUTION_FOLD * DISTRIBUTION_FOLD; i <= last; i += DISTRIBUTION_FOLD) {
		uint64_t sum = 0;

		for (unsigned k = i; k < i + DISTRIBUTION_FOLD; k++)
			sum += h->bucket[k];
		cJSON_AddItemToArray(edges, json_number((double)hist_edge(i)));
		cJSON_AddItemToArray(counts, json_number((double)sum));
	}
	cJSON_AddItemToArray(edges, json_number((double)hist_edge(i)));
	return o;
}

void json_distributions(cJSON *to, const struct results_phase_read *p)
{
	cJSON *all = cJSON_AddObjectToObject(to, "distribution_ns");
	unsigned first, last;

	p = results_whole(p);
	for (uint32_t i = 0; i < p->hist_count; i++)
		if (hist_range(&p->hists[i].hist, &first, &last) == 0)
			cJSON_AddItemToObject(all, p->hists[i].name,
					      distribution_object(&p->hists[i].hist, first, last));
}
