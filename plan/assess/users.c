/* SPDX-License-Identifier: Apache-2.0 */
/* Users of a key-value cache that run: see users.h. */
#include "plan/assess/users.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "core/json.h"

/* Of a run: opening and publishing it, and removing what it wrote. */
static const double around_s = 1;
/* Of the share of the budget, for runs; of the space, for what they write. */
static const double users_runs_share = 0.9, written_share = 0.8;
/* The range of the search goes so far beyond what the ceilings carry. */
static const double range_more = 1.25;
/* Runs of the shortest search; and steps of its range, at least. */
enum { RUNS_LEAST = 4, RANGE_STEPS = 4 };

bool users_fit(const struct assess *a, const struct assess_workload *w)
{
	/* The tier of a rank must have room for any entry. */
	return *w->phase && a->ask.bypasses && w->run_seconds > 0 &&
	       a->ask.space_bytes >= w->request_bytes * a->ask.ranks &&
	       RUNS_LEAST * (w->run_seconds + around_s) <= users_runs_share * a->ask.budget_s;
}

void users_add(cJSON *phases, const struct assess *a, const struct assess_workload *w)
{
	static const char *const left_out[] = {"name", "store", "folder", "autoscaling",
					       "precondition"};
	cJSON *phase = cJSON_CreateObject(), *kvcache = cJSON_Parse(w->phase);
	cJSON *tiers = cJSON_CreateArray(), *tier = cJSON_CreateObject();
	char folder[JOB_NAME_BYTES + 16];

	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		cJSON_DeleteItemFromObject(kvcache, left_out[i]);
	snprintf(folder, sizeof(folder), "assess/%s", w->name);
	cJSON_AddStringToObject(kvcache, "name", w->name);
	cJSON_AddStringToObject(kvcache, "folder", folder);
	cJSON_AddStringToObject(tier, "store", "data");
	json_add_number(tier, "capacity", floor(a->ask.space_bytes / a->ask.ranks));
	cJSON_AddItemToArray(tiers, tier);
	cJSON_AddItemToObject(kvcache, "tiers", tiers);
	cJSON_AddItemToObject(phase, "kvcache", kvcache);
	cJSON_AddItemToArray(phases, phase);
}

bool users_begin(struct assess *a, const struct assess_workload *w, double share_s)
{
	double runs = floor(users_runs_share * share_s / (w->run_seconds + around_s));
	double room = written_share * a->ask.space_bytes / (w->written_per_second * w->run_seconds);
	struct bisect_ask ask = {.asked = w->target * 1e9, .most = true, .repeats = 1};
	struct assess_row row;
	double most;

	assess_follow(a, w, &row);
	if (!(row.follows >= 1))
		return false;
	most = ceil(fmin(row.follows * range_more, room) / a->ask.ranks);
	/* With the smallest step for which there is time. */
	for (double steps = most; most >= 1; steps = fmax(floor(steps / 2), RANGE_STEPS)) {
		ask.low = ask.by = (uint64_t)ceil(most / steps);
		ask.high = (uint64_t)ceil(most / (double)ask.by) * ask.by;
		if (bisect_steps_most(&ask) <= runs) {
			bisect_init(&a->search, &ask);
			return true;
		}
		if (steps <= RANGE_STEPS)
			return false;
	}
	return false;
}

/* A run that ended with its share of the budget was shorter than the others. */
void users_end(const struct assess *a, struct assess_workload *w, double elapsed_s)
{
	w->carried *= a->ask.ranks;
	w->step *= a->ask.ranks;
	w->found /= 1e9;
	w->decided &= elapsed_s < a->until_s;
}
