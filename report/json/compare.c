/* Comparison as JSON. */
#include <string.h>

#include "report/compare.h"
#include "report/json/json.h"
#include "report/shapes.h"

static void compare_json_sides(cJSON *to, const struct compare *c)
{
	cJSON *sides = cJSON_AddArrayToObject(to, "sides");

	for (unsigned i = 0; i < c->side_count; i++) {
		cJSON *side = cJSON_CreateObject();

		cJSON_AddStringToObject(side, "side", c->sides[i].letter);
		cJSON_AddStringToObject(side, "file", c->sides[i].file->path);
		json_add_number(side, "combination", (double)c->sides[i].combination);
		cJSON_AddStringToObject(side, "name", c->sides[i].name);
		cJSON_AddItemToArray(sides, side);
	}
}

static void compare_json_differences(cJSON *to, const struct compare *c)
{
	cJSON *list = cJSON_AddArrayToObject(to, "differences");

	for (unsigned i = 0; i < c->differences.count; i++) {
		const struct difference *d = &c->differences.rows[i];
		cJSON *row = cJSON_CreateObject(), *values;

		cJSON_AddStringToObject(row, "about", difference_abouts[d->about]);
		cJSON_AddStringToObject(row, "what", d->what);
		values = cJSON_AddArrayToObject(row, "values");
		for (unsigned s = 0; s < c->side_count; s++)
			cJSON_AddItemToArray(values, d->values[s] ? cJSON_CreateString(d->values[s])
								  : cJSON_CreateNull());
		cJSON_AddItemToArray(list, row);
	}
}

static void compare_json_metrics(cJSON *to, const struct compare_pair *pair)
{
	cJSON *metrics = cJSON_AddObjectToObject(to, "metrics");

	for (int m = 0; m < COMPARE_METRICS; m++) {
		const struct ratio *r = &pair->ratios[m];
		cJSON *metric = cJSON_AddObjectToObject(metrics, compare_metrics[m].key), *values;

		json_add_number(metric, "a", r->mean[0]);
		json_add_number(metric, "b", r->mean[1]);
		json_add_number(metric, "ratio", r->ratio);
		json_add_number(metric, "low", r->low);
		json_add_number(metric, "high", r->high);
		json_add_number(metric, "drift", r->drift);
		cJSON_AddBoolToObject(metric, "widened", r->widened);
		for (int s = 0; s < 2; s++) {
			values = cJSON_AddArrayToObject(metric, s ? "b_values" : "a_values");
			for (uint32_t i = 0; i < pair->line[s]->repeats; i++)
				cJSON_AddItemToArray(
					values, json_number(compare_value(pair->line[s], i,
									  (enum compare_metric)m)));
		}
	}
}

/* The faster side by the verdict; NULL: there is none. */
static const char *compare_json_faster(const struct compare *c, const struct compare_pair *pair)
{
	int verdict = pair->judged ? pair->ratios[pair->metric].verdict : 0;

	if (verdict && compare_metrics[pair->metric].less_is_better)
		verdict = -verdict;
	return verdict > 0 ? c->sides[0].letter : verdict < 0 ? c->sides[pair->side].letter : NULL;
}

static cJSON *compare_json_pair(const struct compare *c, const struct compare_pair *pair)
{
	const struct phase_record *r = &pair->line[0]->first->record;
	bool main = pair->metric != COMPARE_METRICS;
	const char *faster = compare_json_faster(c, pair);
	char sentence[COMPARE_SENTENCE_BYTES];
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "phase", r->name);
	cJSON_AddStringToObject(o, "kind", r->kind);
	cJSON_AddStringToObject(o, "a", c->sides[0].letter);
	cJSON_AddStringToObject(o, "b", c->sides[pair->side].letter);
	json_add_number(o, "a_repeats", pair->line[0]->repeats);
	json_add_number(o, "b_repeats", pair->line[1]->repeats);
	cJSON_AddBoolToObject(o, "in_turn", main && pair->ratios[pair->metric].paired);
	cJSON_AddBoolToObject(o, "judged", pair->judged);
	cJSON_AddItemToObject(o, "metric",
			      main ? cJSON_CreateString(compare_metrics[pair->metric].key)
				   : cJSON_CreateNull());
	cJSON_AddItemToObject(o, "faster",
			      faster ? cJSON_CreateString(faster) : cJSON_CreateNull());
	compare_sentence(sentence, c, pair);
	cJSON_AddStringToObject(o, "sentence", sentence);
	compare_json_metrics(o, pair);
	return o;
}

cJSON *json_compare(const struct compare *c)
{
	cJSON *all = cJSON_CreateObject(), *pairs;

	json_add_number(all, "level", c->level);
	json_add_number(all, "verdicts", c->verdicts);
	compare_json_sides(all, c);
	compare_json_differences(all, c);
	pairs = cJSON_AddArrayToObject(all, "pairs");
	for (unsigned i = 0; i < c->phase_count; i++)
		for (unsigned k = 0; k < c->phases[i].pair_count; k++)
			cJSON_AddItemToArray(pairs, compare_json_pair(c, &c->phases[i].pairs[k]));
	return all;
}

char *report_compare_json(const struct compare *c)
{
	cJSON *all = json_compare(c);
	char *text = all ? json_print(all) : NULL;

	cJSON_Delete(all);
	return text;
}
