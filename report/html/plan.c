/* Data of the page of a plan: see plan.h. */
#include "report/html/plan.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "core/json.h"
#include "report/html/shorten.h"

static bool plan_take(size_t *room, const cJSON *part)
{
	size_t bytes = shorten_bytes(part);

	if (bytes > *room)
		return false;
	*room -= bytes;
	return true;
}

static void plan_shorten(cJSON *part)
{
	const cJSON *plans = cJSON_GetObjectItemCaseSensitive(part, "plans"), *phases;
	cJSON *plan, *phase;

	cJSON_ArrayForEach(plan, plans)
	{
		shorten_lists(plan, PLAN_DATA_ROWS);
		phases = cJSON_GetObjectItemCaseSensitive(plan, "phases");
		cJSON_ArrayForEach(phase, phases)
		{
			shorten_lists(phase, PLAN_DATA_ROWS);
		}
	}
}

/* Shortens the combination to what there is room for. Returns false where there is none. */
static bool plan_fits(cJSON *part, size_t *room)
{
	static const char *const details[] = {"plans", NULL};
	bool whole;

	plan_shorten(part);
	whole = plan_take(room, part);
	if (!whole)
		shorten_drop(part, details);
	if (!whole && !plan_take(room, part))
		return false;
	cJSON_AddBoolToObject(part, "brief", !whole);
	return true;
}

cJSON *page_plan(cJSON *plan)
{
	cJSON *data = cJSON_CreateObject();
	cJSON *list = cJSON_GetObjectItemCaseSensitive(plan, "combinations");
	size_t room = PLAN_DATA_BYTES;
	double left_out = 0;

	for (cJSON *part = list ? list->child : NULL, *next; part; part = next) {
		next = part->next;
		if (plan_fits(part, &room))
			continue;
		cJSON_Delete(cJSON_DetachItemViaPointer(list, part));
		left_out++;
	}
	json_add_number(plan, "combinations_left_out", left_out);
	if (!list || !cJSON_AddItemToObject(data, "plan", plan)) {
		cJSON_Delete(plan);
		cJSON_Delete(data);
		return NULL;
	}
	return data;
}
