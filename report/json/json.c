/* SPDX-License-Identifier: Apache-2.0 */
/* Report of a whole file as JSON: see json.h. */
#include "report/json/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "facts/document.h"
#include "report/answer.h"
#include "report/headline.h"
#include "report/series.h"

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
		cJSON_AddStringToObject(o, "sweep", p->record.sweep);
		json_sets(o, p);
		json_add_number(o, "repeats", s.lines[i].repeats);
		json_add_number(o, "place", series_place(&s, &s.lines[i]));
		json_add_text(o, "targets",
			      p->target_count ? target_state_names[series_state(&s.lines[i])]
					      : NULL);
		cJSON_AddStringToObject(o, "latency", p->record.main_hist);
		for (int k = 0; k < SERIES_FIGURES; k++)
			json_add_stats(o, series_keys[k], &s.lines[i].figures[k]);
		cJSON_AddItemToArray(all, o);
	}
	series_free_lines(&s);
	return whole;
}

/* The answer to the run's question. */
static bool add_answer(cJSON *to, const struct results_file *f)
{
	struct document d = {
		.shape = REPORT_JSON,
		.open = {cJSON_AddObjectToObject(to, answer_kinds[f->answer.type].name)}};

	return answer_parts(&d, f);
}

/* null: the file is older than these figures. */
static void add_own(cJSON *all, const struct results_file *f)
{
	cJSON *own;

	if (!own_times_known(&f->own)) {
		cJSON_AddNullToObject(all, "own_seconds");
		return;
	}
	own = cJSON_AddObjectToObject(all, "own_seconds");
	for (int i = 0; i < OWN_TIMES; i++)
		json_add_number(own, own_time_kinds[i].name, f->own.seconds[i]);
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
	if (s->degraded[0])
		cJSON_AddStringToObject(o, "degraded", s->degraded);
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

/* Adds the first sentence, the number of the phase that it is about, and the doubts about it. */
static bool add_headline(cJSON *to, const struct results_file *f)
{
	struct headline *h = calloc(1, sizeof(*h));
	bool whole = h && headline_of(h, f);

	if (whole) {
		cJSON_AddStringToObject(to, "headline", h->text);
		json_add_number(to, "headline_phase",
				h->phase ? (double)h->phase->record.number : NAN);
		json_doubts(to, &h->doubts);
	}
	free(h);
	return whole;
}

cJSON *json_file(const struct results_file *f)
{
	cJSON *all = cJSON_CreateObject(), *stores;

	cJSON_AddStringToObject(all, "file", f->path);
	cJSON_AddStringToObject(all, "name", f->name);
	cJSON_AddStringToObject(all, "status", f->status);
	if (f->simulated)
		cJSON_AddStringToObject(all, "simulated", f->simulated);
	cJSON_AddStringToObject(all, "error", f->error);
	cJSON_AddStringToObject(all, "started", f->started);
	cJSON_AddStringToObject(all, "finished", f->finished);
	json_add_number(all, "seconds", f->seconds);
	add_own(all, f);
	json_add_number(all, "ranks", (double)f->ranks);
	json_add_number(all, "nodes", (double)f->nodes);
	json_add_number(all, "runs", (double)f->runs);
	if (f->resumed) {
		json_add_number(all, "resumed", (double)f->resumed);
		json_add_number(all, "resumed_after", (double)f->resumed_after);
	}
	cJSON_AddStringToObject(all, "haul_version", f->version);
	cJSON_AddStringToObject(all, "build", f->build);
	cJSON_AddStringToObject(all, "command_line", f->command_line);
	stores = cJSON_AddArrayToObject(all, "stores");
	for (uint64_t i = 0; i < f->store_count; i++)
		cJSON_AddItemToArray(stores, store_object(&f->stores[i]));
	add_hosts(all, f);
	add_job(all, f);
	cJSON_AddArrayToObject(all, "phases");
	if (f->answer.type && !add_answer(all, f)) {
		cJSON_Delete(all);
		return NULL;
	}
	if (add_headline(all, f) && add_series(all, f))
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
	if (all && o->classes) {
		struct workload_class classes[CLASSES_MAX];

		class_json(all, classes, o->classes(classes, f));
	}
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
