/* How ranks and nodes differ, as JSON: columns of equal length under "by_rank" and "by_node", with a row for each rank
 * or node, or for several of them; null where nothing is known, and for a single node. */
#include "core/numbers.h"
#include "report/json/json.h"
#include "report/rank_rows.h"

static void units_column(cJSON *to, const char *key, const struct rank_rows *r,
			 double (*value)(const struct rank_row *row, int which), int which)
{
	cJSON *list = cJSON_AddArrayToObject(to, key);

	for (uint64_t i = 0; i < r->count; i++)
		cJSON_AddItemToArray(list, json_number(value(&r->rows[i], which)));
}

static double units_place(const struct rank_row *row, int which)
{
	return (double)(which == 0 ? row->rank : which == 1 ? row->node : row->ranks);
}

static double units_mean(const struct rank_row *row, int which)
{
	return row->mean[which];
}

static double units_worst(const struct rank_row *row, int which)
{
	return row->worst[which];
}

static double units_account(const struct rank_row *row, int which)
{
	return row->accounts[which];
}

static cJSON *units_object(const struct rank_rows *r, const char *per_row)
{
	cJSON *o = cJSON_CreateObject(), *accounts;

	json_add_number(o, per_row, (double)r->units_per_row);
	units_column(o, "rank", r, units_place, 0);
	units_column(o, "node", r, units_place, 1);
	units_column(o, "ranks", r, units_place, 2);
	for (int k = 0; k < RANK_FIGURES; k++) {
		if (*rank_figures[k].mean)
			units_column(o, rank_figures[k].mean, r, units_mean, k);
		units_column(o, rank_figures[k].worst, r, units_worst, k);
	}
	if (!r->has_accounts) {
		cJSON_AddNullToObject(o, "accounts");
		return o;
	}
	accounts = cJSON_AddObjectToObject(o, "accounts");
	for (uint32_t a = 0; a < r->accounts.count; a++)
		units_column(accounts, r->accounts.list[a].name, r, units_account, (int)a);
	return o;
}

void json_units(cJSON *to, const struct results_file *f, const struct results_phase_read *p,
		uint32_t rows_max)
{
	static const struct {
		const char *key, *per_row;
		bool nodes;
	} kinds[] = {{"by_rank", "ranks_per_row", false}, {"by_node", "nodes_per_row", true}};

	for (size_t i = 0; i < COUNT(kinds); i++) {
		bool alone = kinds[i].nodes && f->nodes < 2;
		struct rank_rows r = {.count = 0};

		if (!alone && rank_rows_of(f, p, kinds[i].nodes, rows_max, &r))
			cJSON_AddItemToObject(to, kinds[i].key, units_object(&r, kinds[i].per_row));
		else
			cJSON_AddNullToObject(to, kinds[i].key);
		rank_rows_free(&r);
	}
}
