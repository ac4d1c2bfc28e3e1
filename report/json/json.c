/* Report of a whole file as JSON: see json.h. */
#include "report/json/json.h"

#include <stdlib.h>

#include "report/series.h"

void json_add_stats(cJSON *to, const char *key, const struct stats *s)
{
	cJSON *o = cJSON_AddObjectToObject(to, key);

	json_add_number(o, "mean", s->mean);
	json_add_number(o, "stdev", s->stdev);
	json_add_number(o, "ci95_low", s->low);
	json_add_number(o, "ci95_high", s->high);
	json_add_number(o, "cv", s->cv);
	json_add_number(o, "min", s->min);
	json_add_number(o, "max", s->max);
}

/* Adds a value of a column; of several a list. */
static void add_column(cJSON *to, const char *key, const struct column *c, const void *row)
{
	const char *text = column_text(c, row);
	cJSON *list;

	switch (c->type) {
	case COLUMN_TEXT:
	case COLUMN_NAME:
	case COLUMN_WORD:
		json_add_text(to, key, text);
		break;
	case COLUMN_FLAG:
		cJSON_AddBoolToObject(to, key, column_number(c, row) > 0);
		break;
	case COLUMN_STATS:
		json_add_stats(to, key, column_stats(c, row));
		break;
	case COLUMN_TEXTS:
		list = cJSON_AddArrayToObject(to, key);
		for (unsigned i = 0; i < column_count(c, row); i++) {
			text = column_text_at(c, row, i);
			cJSON_AddItemToArray(list,
					     text ? cJSON_CreateString(text) : cJSON_CreateNull());
		}
		break;
	case COLUMN_VALUES:
		list = cJSON_AddArrayToObject(to, key);
		for (unsigned i = 0; i < column_count(c, row); i++)
			cJSON_AddItemToArray(list, json_number(c->number(row, (int)i)));
		break;
	default:
		json_add_number(to, key, column_number(c, row));
	}
}

void json_row(cJSON *to, const struct column *columns, const void *row)
{
	for (const struct column *c = columns; c->type; c++)
		if (c->key)
			add_column(to, c->key, c, row);
}

void json_table(cJSON *to, const struct report_table *t)
{
	cJSON *all =
		t->keyed ? cJSON_AddObjectToObject(to, t->key) : cJSON_AddArrayToObject(to, t->key);

	for (size_t i = 0; i < t->count; i++) {
		const void *row = table_row_at(t, i);
		cJSON *one = cJSON_CreateObject();

		if (t->keyed)
			cJSON_AddItemToObject(all, column_text(t->columns, row), one);
		else
			cJSON_AddItemToArray(all, one);
		json_row(one, t->columns + t->keyed, row);
	}
}

/* Adds an object for each phase of each combination, with its repeats taken together. */
static bool add_series(cJSON *to, const struct results_file *f)
{
	cJSON *all = cJSON_AddArrayToObject(to, "series");
	struct series_lines s;
	bool whole = series_make(&s, f);

	for (uint32_t i = 0; whole && i < s.count; i++) {
		const struct results_phase_read *p = s.lines[i].first;
		cJSON *o = cJSON_CreateObject();

		cJSON_AddStringToObject(o, "phase", p->record.name);
		cJSON_AddStringToObject(o, "kind", p->record.kind);
		json_add_number(o, "combination", (double)p->record.combination);
		json_sets(o, p);
		json_add_number(o, "repeats", s.lines[i].repeats);
		cJSON_AddStringToObject(o, "latency", p->record.main_hist);
		for (int k = 0; k < SERIES_FIGURES; k++)
			json_add_stats(o, series_keys[k], &s.lines[i].figures[k]);
		cJSON_AddItemToArray(all, o);
	}
	series_free_lines(&s);
	return whole;
}

static cJSON *store_object(const struct store_facts *s)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "name", s->name);
	cJSON_AddStringToObject(o, "uri", s->uri);
	cJSON_AddStringToObject(o, "engine", s->engine);
	cJSON_AddBoolToObject(o, "direct", s->direct != 0);
	json_add_number(o, "block_bytes", (double)s->block_bytes);
	cJSON_AddStringToObject(o, "file_system", s->file_system);
	cJSON_AddStringToObject(o, "layout", s->layout);
	cJSON_AddStringToObject(o, "client", s->client);
	json_add_number(o, "copies_read", (double)s->copies_read);
	json_add_number(o, "copies_streamed", (double)s->copies_streamed);
	json_add_number(o, "copies_written", (double)s->copies_written);
	json_add_number(o, "nodes", (double)s->nodes);
	cJSON_AddStringToObject(o, "note", s->note);
	return o;
}

static void add_hosts(cJSON *to, const struct results_file *f)
{
	cJSON *hosts = cJSON_AddArrayToObject(to, "hosts");

	for (uint64_t i = 0; f->hosts && i < f->nodes; i++)
		cJSON_AddItemToArray(hosts, cJSON_CreateString(f->hosts[i]));
}

/* Adds the job as it ran; null where the file does not have it, or not as JSON. */
static void add_job(cJSON *to, const struct results_file *f)
{
	cJSON *job = f->job_text ? cJSON_Parse(f->job_text) : NULL;

	if (job)
		cJSON_AddItemToObject(to, "job", job);
	else
		cJSON_AddNullToObject(to, "job");
}

cJSON *json_file(const struct results_file *f)
{
	cJSON *all = cJSON_CreateObject(), *stores;

	cJSON_AddStringToObject(all, "file", f->path);
	cJSON_AddStringToObject(all, "name", f->name);
	cJSON_AddStringToObject(all, "status", f->status);
	cJSON_AddStringToObject(all, "error", f->error);
	cJSON_AddStringToObject(all, "started", f->started);
	cJSON_AddStringToObject(all, "finished", f->finished);
	json_add_number(all, "seconds", f->seconds);
	json_add_number(all, "ranks", (double)f->ranks);
	json_add_number(all, "nodes", (double)f->nodes);
	json_add_number(all, "runs", (double)f->runs);
	cJSON_AddStringToObject(all, "haul_version", f->version);
	cJSON_AddStringToObject(all, "build", f->build);
	cJSON_AddStringToObject(all, "command_line", f->command_line);
	stores = cJSON_AddArrayToObject(all, "stores");
	for (uint64_t i = 0; i < f->store_count; i++)
		cJSON_AddItemToArray(stores, store_object(&f->stores[i]));
	add_hosts(all, f);
	add_job(all, f);
	cJSON_AddArrayToObject(all, "phases");
	if (add_series(all, f))
		return all;
	cJSON_Delete(all);
	return NULL;
}

/* Returns NULL where there is no memory. */
static cJSON *file_object(const struct results_file *f, const struct report_options *o)
{
	cJSON *all = json_file(f), *phases = cJSON_GetObjectItemCaseSensitive(all, "phases");

	for (uint32_t i = 0; all && i < f->phase_count; i++)
		cJSON_AddItemToArray(phases, json_phase(f, &f->phases[i], o));
	return all;
}

char *report_json(const struct results_file *const *files, unsigned count,
		  const struct report_options *o)
{
	cJSON *all = count == 1 ? file_object(files[0], o) : cJSON_CreateArray();
	char *text;

	for (unsigned i = 0; all && count != 1 && i < count; i++) {
		cJSON *one = file_object(files[i], o);

		if (one) {
			cJSON_AddItemToArray(all, one);
		} else {
			cJSON_Delete(all);
			all = NULL;
		}
	}
	text = all ? json_print(all) : NULL;
	cJSON_Delete(all);
	return text;
}
