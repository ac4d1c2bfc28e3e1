/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves of trainings: datasize, datagen, and a run for each run of the series. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/json_path.h"
#include "report/mlperf/leaf.h"

static const double percent = 100, MiB = 1048576.0;

static bool epoch_is_training(const cJSON *epoch)
{
	return json_number_at(epoch, "evaluation", 0) == 0 &&
	       json_number_at(epoch, "mlperf_wall_ns", 0) > 0;
}

/* By DLIO's formulas, in which the first step of an epoch does not count. */
static void training_metric(cJSON *to, const struct mlperf_phase *p)
{
	double ranks = json_number_at(p->tree, "ranks", 0),
	       batch = json_number_at(p->tree, "job.batch", 0);
	double record = json_number_at(p->tree, "dataset.sample_bytes", 0) / MiB;
	double target = json_number_at(p->tree, "job.target_au", 0);
	cJSON *au = cJSON_AddArrayToObject(to, "train_au_percentage"), *rate = cJSON_CreateArray();
	const cJSON *epoch, *doubt;
	bool counts = leaf_is_done(p);

	cJSON_ArrayForEach(epoch, json_at(p->tree, "result.epochs"))
	{
		double wall = json_number_at(epoch, "mlperf_wall_ns", 0);
		double steps = json_number_at(epoch, "steps", 0) - 1;

		if (!epoch_is_training(epoch))
			continue;
		cJSON_AddItemToArray(
			au, json_number(percent * json_number_at(epoch, "mlperf_compute_ns", 0) /
					wall));
		cJSON_AddItemToArray(
			rate, json_number(steps * batch * ranks / (wall / ranks / SECOND_NS)));
	}
	json_add_number(to, "train_au_mean_percentage", leaf_mean(au));
	/* A run that did not come to its end meets nothing, nor do figures that are void. */
	cJSON_ArrayForEach(doubt, json_at(p->tree, "result.doubts")) counts &=
		!json_true_at(doubt, "voids");
	json_add_text(to, "train_au_meet_expectation",
		      counts && leaf_mean(au) >= percent * target ? "success" : "fail");
	json_add_number(to, "train_au_stdev_percentage", leaf_stdev(au));
	cJSON_AddItemToObject(to, "train_throughput_samples_per_second", rate);
	json_add_number(to, "train_throughput_mean_samples_per_second", leaf_mean(rate));
	json_add_number(to, "train_throughput_stdev_samples_per_second", leaf_stdev(rate));
	json_add_number(to, "train_io_mean_MB_per_second", leaf_mean(rate) * record);
	json_add_number(to, "train_io_stdev_MB_per_second", leaf_stdev(rate) * record);
}

/* Epochs follow one another without a pause, since haul keeps how long each took. */
static cJSON *training_epochs(const struct mlperf_phase *p)
{
	uint64_t at = p->phase->record.started_ns;
	cJSON *to = json_object(), *one, *block;
	char text[LEAF_STAMP_BYTES], number[24], seconds[32];
	const cJSON *epoch;

	cJSON_ArrayForEach(epoch, json_at(p->tree, "result.epochs"))
	{
		double wall = json_number_at(epoch, "wall_ns", 0);

		if (!epoch_is_training(epoch))
			continue;
		snprintf(number, sizeof(number), "%.0f", json_number_at(epoch, "epoch", 0));
		snprintf(seconds, sizeof(seconds), "%.2f", wall / SECOND_NS);
		one = cJSON_AddObjectToObject(to, number);
		leaf_time(text, at);
		json_add_text(one, "start", text);
		block = cJSON_AddObjectToObject(one, "block1");
		json_add_text(block, "start", text);
		at += (uint64_t)wall;
		leaf_time(text, at);
		json_add_text(block, "end", text);
		json_add_text(block, "duration", seconds);
		json_add_text(one, "end", text);
		json_add_text(one, "duration", seconds);
	}
	return to;
}

/* The steps of an epoch: seconds, on average over the ranks. */
static void training_steps(cJSON *to, const char *key, const cJSON *a, const cJSON *b, int first,
			   int count)
{
	cJSON *list = cJSON_AddArrayToObject(cJSON_AddObjectToObject(to, key), "block1");

	for (int i = first; i < first + count && i < cJSON_GetArraySize(a); i++) {
		const cJSON *x = cJSON_GetArrayItem(a, i), *y = cJSON_GetArrayItem(b, i);
		double ns = x->valuedouble + (y ? y->valuedouble : 0);

		cJSON_AddItemToArray(list, json_number(ns / SECOND_NS));
	}
}

static cJSON *training_output(const struct mlperf_phase *p, const cJSON *metric)
{
	const cJSON *steps = json_at(p->tree, "result.steps"), *epoch;
	const cJSON *load = cJSON_GetObjectItemCaseSensitive(steps, "load_ns");
	const cJSON *compute = cJSON_GetObjectItemCaseSensitive(steps, "compute_ns");
	cJSON *to = json_object(), *one, *au, *rate;
	double per_row = json_number_at(steps, "steps_per_row", 0);
	char number[24];
	int first = 0, i = 0;

	au = cJSON_GetObjectItemCaseSensitive(metric, "train_au_percentage");
	rate = cJSON_GetObjectItemCaseSensitive(metric, "train_throughput_samples_per_second");
	cJSON_ArrayForEach(epoch, json_at(p->tree, "result.epochs"))
	{
		int count = (int)(json_number_at(epoch, "steps", 0) / (per_row > 0 ? per_row : 1));

		if (!epoch_is_training(epoch))
			continue;
		snprintf(number, sizeof(number), "%.0f", json_number_at(epoch, "epoch", 0));
		one = cJSON_AddObjectToObject(to, number);
		training_steps(one, "load", load, NULL, first, count);
		training_steps(one, "proc", load, compute, first, count);
		training_steps(one, "compute", compute, NULL, first, count);
		cJSON_AddItemToObject(cJSON_AddObjectToObject(one, "au"), "block1",
				      cJSON_Duplicate(cJSON_GetArrayItem(au, i), true));
		cJSON_AddItemToObject(cJSON_AddObjectToObject(one, "throughput"), "block1",
				      cJSON_Duplicate(cJSON_GetArrayItem(rate, i++), true));
		first += count;
	}
	leaf_hostname(to, p);
	return to;
}

static void training_run(const struct tree_folder *model, const struct mlperf_export *e,
			 const struct mlperf_phase *p, uint64_t *last, cJSON *all)
{
	cJSON *summary = leaf_summary(p), *one = json_object();
	cJSON *metric = cJSON_GetObjectItemCaseSensitive(summary, "metric");
	char stamp[LEAF_STAMP_BYTES];
	struct tree_folder leaf;

	leaf_stamp(stamp, p, last);
	leaf = place_below(model, "run/%s", stamp);
	training_metric(metric, p);
	if (!leaf_is_done(p)) {
		cJSON_DeleteItemFromObjectCaseSensitive(summary, "epochs");
		json_add_number(summary, "epochs",
				cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(
					metric, "train_au_percentage")));
	}
	json_add_text(one, "run", stamp);
	json_add_text(one, "status", p->phase->record.status);
	cJSON_AddBoolToObject(one, "warmup", p->phase->record.warmup != 0);
	cJSON_AddItemToObject(one, "metric", cJSON_Duplicate(metric, true));
	cJSON_AddItemToArray(all, one);
	place_json(&leaf, "0_output.json", training_output(p, metric));
	place_json(&leaf, "0_per_epoch_stats.json", training_epochs(p));
	place_json(&leaf, "summary.json", summary);
	leaf_files(&leaf, e, p, "training", "run", stamp);
}

/* What the rules ask for, and the data set as it is. */
static void training_datasize(const struct tree_folder *model, const struct mlperf_export *e,
			      const struct mlperf_phase *p)
{
	char stamp[LEAF_STAMP_BYTES], text[256];
	uint64_t last = 0;
	struct tree_folder leaf;

	leaf_stamp(stamp, p, &last);
	leaf = place_below(model, "datasize/%s", stamp);
	snprintf(text, sizeof(text), "files wanted: %.0f\nfiles there: %.0f\n",
		 json_number_at(p->tree, "plan.datasize.files", 0),
		 json_number_at(p->tree, "dataset.files", 0));
	place_text(&leaf, "training_datasize.stdout.log", text);
	place_text(&leaf, "training_datasize.stderr.log", "");
	leaf_metadata(&leaf, e, p, "training", "datasize", stamp);
}

/* DLIO's files of figures are there, with nothing in them but the hosts. */
static void training_datagen(const struct tree_folder *model, const struct mlperf_export *e,
			     const struct mlperf_phase *p, uint64_t *last)
{
	cJSON *output = json_object();
	char stamp[LEAF_STAMP_BYTES];
	struct tree_folder leaf;

	leaf_stamp(stamp, p, last);
	leaf = place_below(model, "datagen/%s", stamp);
	leaf_hostname(output, p);
	place_json(&leaf, "0_output.json", output);
	place_json(&leaf, "0_per_epoch_stats.json", json_object());
	place_json(&leaf, "summary.json", leaf_summary(p));
	leaf_files(&leaf, e, p, "training", "datagen", stamp);
}

static void training_model(const struct tree_folder *system, const struct mlperf_export *e,
			   const struct mlperf_phase *first)
{
	struct tree_folder model = place_below(system, "training/%s", leaf_model(first)), run;
	cJSON *all = json_object(), *runs = cJSON_AddArrayToObject(all, "runs");
	uint64_t ran = 0, made = 0;

	training_datasize(&model, e, first);
	for (uint32_t i = 0; i < e->count; i++) {
		const struct mlperf_phase *p = &e->phases[i];

		if (strcmp(leaf_model(p), leaf_model(first)) != 0)
			continue;
		if (phase_purpose(p->phase) == PURPOSE_DATA)
			training_datagen(&model, e, p, &made);
		else if (phase_purpose(p->phase) == PURPOSE_TRAINING)
			training_run(&model, e, p, &ran, runs);
	}
	run = place_below(&model, "run");
	place_json(&run, "results.json", all);
}

void leaf_trainings(const struct tree_folder *system, const struct mlperf_export *e)
{
	for (uint32_t i = 0; i < e->count; i++)
		if (leaf_is_first(e, i, PURPOSE_TRAINING))
			training_model(system, e, &e->phases[i]);
}
