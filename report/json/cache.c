/* What MLPerf's benchmark would report of a key-value cache as JSON: see report/cache.h. */
#include "report/cache.h"
#include "report/json/json.h"

static void cache_add_figures(cJSON *to, const struct results_phase_read *p)
{
	struct cache_figure figures[CACHE_FIGURES];
	unsigned count = cache_figures(p, figures);
	cJSON *list = cJSON_AddArrayToObject(to, "mlperf_figures");

	for (unsigned i = 0; i < count; i++) {
		cJSON *one = cJSON_CreateObject();

		cJSON_AddStringToObject(one, "name", figures[i].name);
		cJSON_AddStringToObject(one, "unit", figures[i].unit);
		json_add_number(one, "mlperf", figures[i].mlperf);
		json_add_number(one, "haul", figures[i].haul);
		cJSON_AddStringToObject(one, "note", figures[i].note);
		cJSON_AddItemToArray(list, one);
	}
}

static void cache_add_criteria(cJSON *to, const struct results_phase_read *p)
{
	struct cache_criterion criteria[CACHE_CRITERIA];
	unsigned count = cache_criteria(p, criteria);
	cJSON *list = cJSON_AddArrayToObject(to, "mlperf_criteria");

	for (unsigned i = 0; i < count; i++) {
		const struct cache_criterion *c = &criteria[i];
		cJSON *one = cJSON_CreateObject();

		cJSON_AddStringToObject(one, "name", c->name);
		cJSON_AddStringToObject(one, "unit", c->unit);
		cJSON_AddStringToObject(one, "bound", c->most ? "most" : "least");
		json_add_number(one, "asked", c->asked);
		json_add_number(one, "found", c->found);
		cJSON_AddBoolToObject(one, "device", c->device);
		cJSON_AddBoolToObject(one, "met", c->met);
		cJSON_AddItemToArray(list, one);
	}
}

void json_cache(cJSON *to, const struct results_phase_read *p)
{
	if (!cache_is(p))
		return;
	cache_add_figures(to, p);
	cache_add_criteria(to, p);
}
