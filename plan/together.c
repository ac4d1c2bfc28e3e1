/* SPDX-License-Identifier: Apache-2.0 */
/* Demand of phases that run together: see together.h. */
#include "plan/together.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "core/json.h"
#include "core/units.h"

bool plan_together_at(const struct plan *plan, uint32_t i, struct plan_together *out)
{
	const struct job_together *together = plan->phases[i].phase->together;

	if (!together || (i && plan->phases[i - 1].phase->together == together))
		return false;
	*out = (struct plan_together){.together = together, .first = i};
	for (; i < plan->phase_count && plan->phases[i].phase->together == together; i++) {
		out->count++;
		out->bytes_per_second += plan->phases[i].demand.bytes_per_second;
		out->opens_per_second += plan->phases[i].demand.opens_per_second;
	}
	return true;
}

static void together_needs_text(FILE *out, const struct plan_together *t)
{
	char rate[UNITS_TEXT_BYTES], opens[UNITS_TEXT_BYTES];

	if (isinf(t->bytes_per_second))
		fprintf(out, " · need the full speed of storage");
	else if (t->bytes_per_second > 0)
		fprintf(out, " · need %s and %s opens/s at the same time",
			units_rate(rate, t->bytes_per_second),
			units_short(opens, t->opens_per_second));
}

void plan_together_text(FILE *out, const struct plan *plan)
{
	struct plan_together t;

	for (uint32_t i = 0; i < plan->phase_count; i++) {
		if (!plan_together_at(plan, i, &t))
			continue;
		fprintf(out, "together   ");
		for (uint32_t k = t.first; k < t.first + t.count; k++) {
			const struct job_phase *phase = plan->phases[k].phase;
			bool by_node = phase->set.nodes[0] != '\0';

			fprintf(out, "%s%s on %s %s", k > t.first ? ", " : "", phase->name,
				by_node ? "nodes" : "ranks",
				by_node ? phase->set.nodes : phase->set.ranks);
		}
		together_needs_text(out, &t);
		fprintf(out, "%s%s\n",
			t.together->until == JOB_UNTIL_ALL ? " · until all have ended" : "",
			t.together->alone ? " · each alone before" : "");
	}
}

void plan_together_json(cJSON *to, const struct plan *plan)
{
	struct plan_together t;
	cJSON *list = NULL;

	for (uint32_t i = 0; i < plan->phase_count; i++) {
		cJSON *one, *demand, *phases;

		if (!plan_together_at(plan, i, &t))
			continue;
		list = list ? list : cJSON_AddArrayToObject(to, "together");
		one = cJSON_CreateObject();
		phases = cJSON_AddArrayToObject(one, "phases");
		for (uint32_t k = t.first; k < t.first + t.count; k++)
			cJSON_AddItemToArray(phases, cJSON_CreateNumber(k));
		cJSON_AddStringToObject(one, "until",
					t.together->until == JOB_UNTIL_ALL ? "all" : "first");
		cJSON_AddBoolToObject(one, "alone", t.together->alone);
		demand = cJSON_AddObjectToObject(one, "demand");
		json_add_number(demand, "bytes_per_second", t.bytes_per_second);
		json_add_number(demand, "opens_per_second", t.opens_per_second);
		cJSON_AddItemToArray(list, one);
	}
}
