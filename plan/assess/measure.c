/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads that run: see ceilings.h. */
#include "plan/assess/ceilings.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"

/* Users of a key-value cache: the most of each rank whose requests are answered in time, in runs of the
 * phase's own length. They are left out where what they wrote would be read from a page cache, and where
 * the budget has no time or the space no room for a search whose step is at most a quarter of its range. */

/* Their share of the budget, in shares of a training. */
enum { USERS_WEIGHT = 4 };

/* Of a run: opening and publishing it, and removing what it wrote. */
static const double around_s = 1;
/* Of the share of the budget, for runs; of the space, for what they write. */
static const double users_runs_share = 0.9, written_share = 0.8;
/* The range of the search goes so far beyond what the ceilings carry. */
static const double range_more = 1.25;
/* Runs of the shortest search; and steps of its range, at least. */
enum { RUNS_LEAST = 4, RANGE_STEPS = 4 };

static bool users_fit(const struct assess *a, const struct assess_workload *w)
{
	/* The tier of a rank must have room for any entry. */
	return *w->phase && a->ask.bypasses && w->run_seconds > 0 &&
	       a->ask.space_bytes >= w->request_bytes * a->ask.ranks &&
	       RUNS_LEAST * (w->run_seconds + around_s) <= users_runs_share * a->ask.budget_s;
}

static void users_add(cJSON *phases, const struct assess *a, const struct assess_workload *w)
{
	static const char *const left_out[] = {"name", "store", "folder", "autoscaling",
					       "precondition"};
	cJSON *phase = cJSON_CreateObject(), *kvcache = cJSON_Parse(w->phase);
	cJSON *tiers = cJSON_CreateArray(), *tier = cJSON_CreateObject();
	char folder[JOB_NAME_BYTES + 16];

	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		cJSON_DeleteItemFromObject(kvcache, left_out[i]);
	snprintf(folder, sizeof(folder), "assess/%s", w->name);
	cJSON_AddStringToObject(kvcache, "name", w->name);
	cJSON_AddStringToObject(kvcache, "folder", folder);
	cJSON_AddStringToObject(tier, "store", "data");
	json_add_number(tier, "capacity", floor(a->ask.space_bytes / a->ask.ranks));
	cJSON_AddItemToArray(tiers, tier);
	cJSON_AddItemToObject(kvcache, "tiers", tiers);
	cJSON_AddItemToObject(phase, "kvcache", kvcache);
	cJSON_AddItemToArray(phases, phase);
}

static bool users_begin(struct assess *a, const struct assess_workload *w, double share_s)
{
	double runs = floor(users_runs_share * share_s / (w->run_seconds + around_s));
	double room = written_share * a->ask.space_bytes / (w->written_per_second * w->run_seconds);
	struct bisect_ask ask = {.asked = w->target * 1e9, .most = true, .repeats = 1};
	struct assess_row row;
	double most;

	assess_follow(a, w, &row);
	if (!(row.follows >= 1))
		return false;
	most = ceil(fmin(row.follows * range_more, room) / a->ask.ranks);
	/* With the smallest step for which there is time. */
	for (double steps = most; most >= 1; steps = fmax(floor(steps / 2), RANGE_STEPS)) {
		ask.low = ask.by = (uint64_t)ceil(most / steps);
		ask.high = (uint64_t)ceil(most / (double)ask.by) * ask.by;
		if (bisect_steps_most(&ask) <= runs) {
			bisect_init(&a->search, &ask);
			return true;
		}
		if (steps <= RANGE_STEPS)
			return false;
	}
	return false;
}

/* A run that ended with its share of the budget was shorter than the others. */
static void users_end(const struct assess *a, struct assess_workload *w, double elapsed_s)
{
	w->carried *= a->ask.ranks;
	w->step *= a->ask.ranks;
	w->found /= 1e9;
	w->decided &= elapsed_s < a->until_s;
}

/* Trainings. */

/* Of a workload's share of the budget, what its runs take, and what it takes to write its data. Opening,
 * dropping from caches and removing takes the rest. */
static const double measure_runs_share = 0.4, data_share = 0.3;
/* Of a run, without its warm-up; and with it. */
enum { STEPS_LEAST = 16, STEPS_MOST = 512 };

/* A loader that holds batches hides a storage that is too slow, until it has none: at an AU just below the
 * target each step takes 1 - AU more of them than come. */
static double measure_warmup(const struct assess_workload *w)
{
	return ceil((w->ahead + 1) * w->target / fmax(1 - w->target, 0.01));
}

static double measure_least(const struct assess_workload *w)
{
	return measure_warmup(w) + STEPS_LEAST;
}

/* The files that so many steps of all ranks read; each worker has one. */
static double measure_files(const struct assess *a, const struct assess_workload *w, double steps)
{
	double ranks = a->ask.ranks, file_bytes = w->data_bytes / w->files;

	return fmax(ceil(steps * ranks * w->step_bytes / file_bytes), ranks * fmax(w->workers, 1));
}

/* Whether the data that it takes at least have room. */
static bool measures(const struct assess *a, const struct assess_workload *w)
{
	if (w->kind == ASSESS_USERS)
		return users_fit(a, w);
	return w->kind == ASSESS_TRAIN && *w->dataset && *w->phase &&
	       measure_least(w) <= STEPS_MOST &&
	       measure_files(a, w, measure_least(w)) * w->data_bytes / w->files <=
		       a->ask.space_bytes;
}

static void measure_dataset(cJSON *datasets, const struct assess *a,
			    const struct assess_workload *w)
{
	cJSON *dataset = cJSON_Parse(w->dataset);
	char folder[JOB_NAME_BYTES + 16];

	snprintf(folder, sizeof(folder), "assess/%s", w->name);
	cJSON_DeleteItemFromObject(dataset, "folder");
	cJSON_DeleteItemFromObject(dataset, "store");
	cJSON_DeleteItemFromObject(dataset, "files");
	cJSON_AddStringToObject(dataset, "folder", folder);
	cJSON_AddStringToObject(dataset, "store", "data");
	json_add_number(dataset, "files", measure_files(a, w, measure_least(w)));
	cJSON_AddItemToObject(datasets, w->name, dataset);
}

static void measure_phases(cJSON *phases, const struct assess *a, const struct assess_workload *w)
{
	static const char *const left_out[] = {"checkpoint", "evaluation", "epochs", "dataset",
					       "steps",      "seconds",    "cold",   "name"};
	cJSON *generate = cJSON_CreateObject(), *train = cJSON_CreateObject();
	cJSON *made = cJSON_AddObjectToObject(generate, "generate"), *t = cJSON_Parse(w->phase);

	cJSON_AddStringToObject(made, "name", w->data_phase);
	cJSON_AddStringToObject(made, "dataset", w->name);
	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		cJSON_DeleteItemFromObject(t, left_out[i]);
	cJSON_AddStringToObject(t, "name", w->name);
	cJSON_AddStringToObject(t, "dataset", w->name);
	cJSON_AddStringToObject(t, "cold", a->ask.cached ? "fadvise" : "none");
	json_add_number(t, "null_steps", 0);
	cJSON_AddItemToObject(train, "train", t);
	cJSON_AddItemToArray(phases, generate);
	cJSON_AddItemToArray(phases, train);
}

void measure_add(cJSON *job, const struct assess *a)
{
	cJSON *datasets = cJSON_AddObjectToObject(job, "datasets");
	cJSON *phases = cJSON_GetObjectItemCaseSensitive(job, "phases");

	for (uint32_t i = 0; i < a->workload_count; i++) {
		if (!measures(a, &a->workloads[i]))
			continue;
		if (a->workloads[i].kind == ASSESS_USERS) {
			users_add(phases, a, &a->workloads[i]);
			continue;
		}
		measure_dataset(datasets, a, &a->workloads[i]);
		measure_phases(phases, a, &a->workloads[i]);
	}
}

/* Runs of users cannot be shorter than their phase. */
static uint32_t measure_weight(const struct assess *a, const struct assess_workload *w)
{
	return !measures(a, w) ? 0 : w->kind == ASSESS_USERS ? USERS_WEIGHT : 1;
}

/* The share of a workload in what is left of the budget. */
static double measure_share(const struct assess *a, double elapsed_s)
{
	uint32_t left = 0;

	for (uint32_t i = a->measured; i < a->workload_count; i++)
		left += measure_weight(a, &a->workloads[i]);
	return left ? (a->ask.budget_s - elapsed_s) / left *
			       measure_weight(a, &a->workloads[a->measured])
		    : 0;
}

/* Whether the workload can be measured in its share; then how. */
static bool measure_fits(struct assess *a, double elapsed_s)
{
	const struct assess_workload *w = &a->workloads[a->measured];
	const struct bisect_ask ask = {
		.low = 1, .high = a->ask.ranks, .by = 1, .asked = w->target, .repeats = 1};
	double share_s = measure_share(a, elapsed_s),
	       bytes = a->ceilings[ASSESS_WRITE] * data_share * share_s;
	double ranks = a->ask.ranks, file_bytes = w->data_bytes / w->files;

	if (!measures(a, w) || isnan(bytes) || share_s <= 0)
		return false;
	bytes = fmin(bytes, a->ask.space_bytes);
	a->until_s = elapsed_s + share_s;
	if (w->kind == ASSESS_USERS)
		return users_begin(a, w, share_s);
	a->steps =
		floor(fmin(measure_runs_share * share_s / bisect_steps_most(&ask) / w->step_seconds,
			   bytes / (ranks * w->step_bytes)));
	a->steps = fmin(a->steps, STEPS_MOST);
	a->set_files = measure_files(a, w, a->steps);
	if (a->steps < measure_least(w) || a->set_files * file_bytes > bytes)
		return false;
	bisect_init(&a->search, &ask);
	return true;
}

static void measure_end(struct assess *a, double elapsed_s)
{
	struct assess_workload *w = &a->workloads[a->measured++];
	struct find_head answer;

	a->searching = a->unanswered = false;
	bisect_answer(&a->search, &answer, NULL);
	w->decided = a->search.end == BISECT_FOUND || a->search.end == BISECT_NONE;
	if (answer.carries != ANSWER_UNKNOWN || a->search.end == BISECT_NONE)
		w->carried = answer.carries != ANSWER_UNKNOWN ? (double)answer.carries : 0;
	for (uint32_t i = 0; i < a->search.count; i++)
		if ((double)a->search.steps[i].value == w->carried)
			w->found = a->search.steps[i].stats.mean;
	w->step = (double)a->search.ask.by;
	if (w->kind == ASSESS_USERS)
		users_end(a, w, elapsed_s);
}

static void measure_look(struct assess *a, uint64_t accelerators, struct assess_look *look)
{
	const struct assess_workload *w = &a->workloads[a->measured];
	const char *name = w->name;
	double warmup = measure_warmup(w);

	look->phases[look->phase_count++] = name;
	a->unanswered = true;
	look->cleans = a->search.count == 1;
	look->until_s = a->until_s;
	if (w->kind == ASSESS_USERS) {
		snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "%s.users=%llu", name,
			 (unsigned long long)accelerators);
		return;
	}
	look->phases[look->phase_count++] = w->data_phase;
	snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "ranks=%llu",
		 (unsigned long long)accelerators);
	snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "datasets.%s.files=%.0f", name,
		 a->set_files);
	snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "%s.steps=%.0f", name, a->steps);
	snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "%s.warmup_steps=%.0f", name,
		 warmup);
}

bool measure_next(struct assess *a, double elapsed_s, struct assess_look *look)
{
	uint64_t accelerators;

	for (;;) {
		if (a->searching && !a->unanswered && elapsed_s < a->until_s &&
		    bisect_next(&a->search, &accelerators)) {
			measure_look(a, accelerators, look);
			return true;
		}
		if (a->searching)
			measure_end(a, elapsed_s);
		if (a->measured >= a->workload_count || elapsed_s >= a->ask.budget_s)
			return false;
		a->searching = measure_fits(a, elapsed_s);
		a->measured += !a->searching;
	}
}

void measure_found(struct assess *a, const char *phase, double found)
{
	if (!a->searching || strcmp(a->workloads[a->measured].name, phase) != 0)
		return;
	a->unanswered = false;
	bisect_add(&a->search, found);
}
