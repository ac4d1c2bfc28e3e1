/* Ranks and nodes that were slower than the others, as JSON: null where there is none. */
#include <math.h>

#include "report/json/json.h"
#include "report/slow.h"

static void add_measures(cJSON *to, const struct slow_unit *u)
{
	cJSON *all = cJSON_AddObjectToObject(to, "measures"), *one;

	for (unsigned m = 0; m < SLOW_MEASURES; m++) {
		if (isnan(u->value[m]))
			continue;
		one = cJSON_AddObjectToObject(all, slow_names[m]);
		json_add_number(one, "value", u->value[m]);
		json_add_number(one, "median", u->median[m]);
		json_add_number(one, "limit", u->limit[m]);
		cJSON_AddBoolToObject(one, "beyond", u->beyond[m]);
	}
}

static cJSON *slow_object(const struct results_file *f, const struct slow_unit *u)
{
	cJSON *one = cJSON_CreateObject();
	char who[SLOW_WHO_BYTES];

	slow_who(f, u, who);
	cJSON_AddStringToObject(one, "who", who);
	cJSON_AddStringToObject(one, "unit", u->ranks > 1 ? "node" : "rank");
	json_add_number(one, "rank", (double)u->rank);
	json_add_number(one, "ranks", (double)u->ranks);
	json_add_number(one, "node", (double)u->node);
	if (u->node < f->nodes)
		cJSON_AddStringToObject(one, "host", f->hosts[u->node]);
	add_measures(one, u);
	return one;
}

void json_slow(cJSON *to, const struct results_file *f, const struct results_phase_read *p)
{
	struct slow s;
	cJSON *slow, *units;

	if (!slow_of(p, &s)) {
		cJSON_AddNullToObject(to, "slow");
		return;
	}
	slow = cJSON_AddObjectToObject(to, "slow");
	cJSON_AddStringToObject(slow, "latency", s.latency);
	units = cJSON_AddArrayToObject(slow, "units");
	for (uint32_t i = 0; i < s.count; i++)
		cJSON_AddItemToArray(units, slow_object(f, &s.units[i]));
	slow_free(&s);
}
