/* Outcome of an acceptance as JSON. */
#include <math.h>

#include "report/accept.h"
#include "report/json/json.h"
#include "report/shapes.h"

static cJSON *accept_json_verdict(const struct accept_verdict *v)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "phase", v->rule->phase);
	cJSON_AddStringToObject(o, "criterion", accept_kinds[v->criterion].key);
	cJSON_AddStringToObject(o, "state", accept_states[v->state]);
	cJSON_AddItemToObject(o, "file",
			      v->file ? cJSON_CreateString(v->file->path) : cJSON_CreateNull());
	cJSON_AddStringToObject(o, "sweep", v->line ? v->line->first->record.sweep : "");
	json_add_number(o, "repeats", v->line ? v->line->repeats : 0);
	json_add_number(o, "value", v->value);
	json_add_number(o, "bound", v->bound);
	json_add_number(o, "ci95_low", v->line ? v->stats.low : NAN);
	json_add_number(o, "ci95_high", v->line ? v->stats.high : NAN);
	cJSON_AddStringToObject(o, "sentence", v->sentence);
	return o;
}

char *report_accept_json(const struct accept *a)
{
	cJSON *all = cJSON_CreateObject(), *list;
	char *text;

	cJSON_AddBoolToObject(all, "accepted", accept_is(a));
	for (int i = 0; i < ACCEPT_STATES; i++)
		json_add_number(all, accept_states[i], a->states[i]);
	list = cJSON_AddArrayToObject(all, "criteria");
	for (uint32_t i = 0; i < a->count; i++)
		cJSON_AddItemToArray(list, accept_json_verdict(&a->verdicts[i]));
	text = all ? json_print(all) : NULL;
	cJSON_Delete(all);
	return text;
}
