/* Scaling table as JSON. */
#include <stdlib.h>

#include "report/json/json.h"
#include "report/scaling.h"
#include "report/shapes.h"

static cJSON *scaling_row_json(const struct report_scaling_row *r)
{
	cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "file", r->path);
	cJSON_AddStringToObject(json, "phase", r->phase);
	cJSON_AddStringToObject(json, "sweep", r->sweep);
	json_add_number(json, "nodes", (double)r->nodes);
	json_add_number(json, "ranks", (double)r->ranks);
	json_add_number(json, "global_batch", (double)r->global_batch);
	json_add_number(json, "files", (double)r->files);
	json_add_number(json, "data_bytes", r->data_bytes);
	json_add_number(json, "repeats", r->bytes.n);
	json_add_stats(json, "au", &r->au);
	json_add_stats(json, "bytes_per_second", &r->bytes);
	json_add_number(json, "bytes_per_second_per_node", r->bytes.mean / (double)r->nodes);
	json_add_stats(json, "efficiency", &r->efficiency);
	json_add_number(json, "cached_share", r->cached_share);
	return json;
}

cJSON *json_scaling(const struct results_file *const *files, unsigned count)
{
	struct report_scaling s;
	cJSON *list = NULL;

	if (report_scaling_make(&s, files, count)) {
		list = cJSON_CreateArray();
		for (uint32_t i = 0; i < s.count; i++)
			cJSON_AddItemToArray(list, scaling_row_json(&s.rows[i]));
	}
	report_scaling_free(&s);
	return list;
}

char *report_scaling_json(const struct results_file *const *files, unsigned count)
{
	cJSON *json = cJSON_CreateObject(), *list = json_scaling(files, count);
	char *text;

	cJSON_AddItemToObject(json, "scaling", list);
	text = list ? json_print(json) : NULL;
	cJSON_Delete(json);
	return text;
}
