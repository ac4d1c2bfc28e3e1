/* Listing of a folder as JSON. */
#include "report/listing.h"
#include "report/json/json.h"
#include "report/shapes.h"

static cJSON *listing_json_row(const struct listing_row *row)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "file", row->file);
	cJSON_AddStringToObject(o, "name", row->name);
	cJSON_AddStringToObject(o, "status", row->status);
	cJSON_AddStringToObject(o, "started", row->started);
	json_add_number(o, "seconds", row->seconds);
	json_add_number(o, "ranks", (double)row->ranks);
	json_add_number(o, "nodes", (double)row->nodes);
	json_add_number(o, "runs", (double)row->runs);
	cJSON_AddStringToObject(o, "phase", row->phase);
	json_add_number(o, "au", row->au);
	json_add_number(o, "bytes_per_second", row->bytes_per_second);
	return o;
}

char *report_listing_json(const struct listing *l)
{
	cJSON *all = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(all, "results");
	char *text;

	for (uint32_t i = 0; i < l->count; i++)
		cJSON_AddItemToArray(list, listing_json_row(&l->rows[i]));
	json_add_number(all, "not_of_haul", l->unreadable);
	text = all ? json_print(all) : NULL;
	cJSON_Delete(all);
	return text;
}
