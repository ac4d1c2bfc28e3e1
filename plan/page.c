/* SPDX-License-Identifier: Apache-2.0 */
/* Data of the page of a plan: see page.h. */
#include "plan/page.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "core/json.h"

static const char key_parts[] = "combinations", key_plans[] = "plans", key_refused[] = "refused";

cJSON *plan_page_begin(const struct scaling_limits *limits)
{
	cJSON *page = cJSON_CreateObject(), *given = cJSON_AddObjectToObject(page, "limits");

	json_add_number(given, "nic_bytes_per_second_per_node",
			limits->nic_per_node > 0 ? limits->nic_per_node : NAN);
	json_add_number(given, "storage_bytes_per_second",
			limits->storage > 0 ? limits->storage : NAN);
	cJSON_AddArrayToObject(page, key_parts);
	return page;
}

cJSON *plan_page_part(cJSON *page, const char *sweep)
{
	cJSON *part = cJSON_CreateObject();

	cJSON_AddStringToObject(part, "sweep", sweep);
	cJSON_AddArrayToObject(part, key_plans);
	cJSON_AddArrayToObject(part, key_refused);
	if (cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(page, key_parts), part))
		return part;
	cJSON_Delete(part);
	return NULL;
}

/* The list owns the value; where there is no list, nobody does. */
static void page_append(cJSON *part, const char *list, cJSON *value)
{
	if (!cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(part, list), value))
		cJSON_Delete(value);
}

void plan_page_add(cJSON *part, const struct plan *plan, const struct job *job)
{
	page_append(part, key_plans, plan_object(plan, job));
}

void plan_page_refuse(cJSON *part, uint32_t nodes, const char *why)
{
	cJSON *row = cJSON_CreateObject();

	json_add_number(row, "nodes", nodes);
	cJSON_AddStringToObject(row, "why", why);
	page_append(part, key_refused, row);
}

void plan_page_table(cJSON *part, const struct scaling_row *rows, uint32_t count,
		     const struct scaling_limits *limits, double target)
{
	cJSON *table = scaling_object(rows, count, limits, target);

	if (!cJSON_AddItemToObject(part, "table", table))
		cJSON_Delete(table);
}
