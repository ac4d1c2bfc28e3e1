/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves of checkpoints: one for each phase, of writing, reading or both. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/json_path.h"
#include "core/units.h"
#include "report/mlperf/leaf.h"

/* DLIO divides by the time of rank 0; here it is that of all ranks, to the end of the last one,
 * which the rules' text asks for. */
static void checkpoint_side(cJSON *to, const struct mlperf_phase *p, const char *verb,
			    const char *column, const char *bytes)
{
	cJSON *rates = cJSON_CreateArray(), *seconds = cJSON_CreateArray();
	const cJSON *row;
	char key[96];

	cJSON_ArrayForEach(row, json_at(p->tree, "result.checkpoints"))
	{
		double ns = json_number_at(row, column, 0);

		if (ns <= 0)
			continue;
		cJSON_AddItemToArray(seconds, json_number(ns / SECOND_NS));
		cJSON_AddItemToArray(
			rates, json_number(json_number_at(row, bytes, 0) / GiB / (ns / SECOND_NS)));
	}
	for (int i = 0; i < 2 && cJSON_GetArraySize(rates); i++) {
		double (*of)(const struct cJSON *) = i ? leaf_stdev : leaf_mean;

		snprintf(key, sizeof(key), "%s_checkpoint_io_%s_GB_per_second", verb,
			 i ? "stdev" : "mean");
		json_add_number(to, key, of(rates));
		snprintf(key, sizeof(key), "%s_checkpoint_duration_%s_seconds", verb,
			 i ? "stdev" : "mean");
		json_add_number(to, key, of(seconds));
	}
	cJSON_Delete(rates);
	cJSON_Delete(seconds);
}

/* Bytes of tensors in a checkpoint, without what frames them in its files: as planned, or, of a part
 * of the mesh, as many as were moved. */
static double checkpoint_row_bytes(const struct mlperf_phase *p, const cJSON *row)
{
	double planned = json_number_at(p->tree, "plan.totals.bytes", 0);
	double moved =
		fmax(json_number_at(row, "bytes_written", 0), json_number_at(row, "bytes_read", 0));

	return moved > 0 ? fmin(moved, planned) : planned;
}

/* The largest of them, which is a whole one. */
static double checkpoint_bytes(const struct mlperf_phase *p)
{
	double most = 0;
	const cJSON *row;

	cJSON_ArrayForEach(row, json_at(p->tree, "result.checkpoints"))
	{
		most = fmax(most, checkpoint_row_bytes(p, row));
	}
	return most > 0 ? most : checkpoint_row_bytes(p, NULL);
}

static void checkpoint_block(cJSON *to, const struct mlperf_phase *p, const cJSON *row,
			     const char *name, const char *side)
{
	char key[64], text[LEAF_STAMP_BYTES];
	uint64_t begun = p->phase->record.started_ns;
	double ns, start;
	cJSON *one;

	snprintf(key, sizeof(key), "%s_ns", side);
	ns = json_number_at(row, key, 0);
	snprintf(key, sizeof(key), "%s_start_ns", side);
	start = json_number_at(row, key, 0);
	if (ns <= 0)
		return;
	snprintf(key, sizeof(key), "%s%.0f", name, json_number_at(row, "checkpoint", 0));
	one = cJSON_AddObjectToObject(to, key);
	leaf_time(text, begun + (uint64_t)start);
	json_add_text(one, "start", text);
	leaf_time(text, begun + (uint64_t)(start + ns));
	json_add_text(one, "end", text);
	json_add_number(one, "duration", ns / SECOND_NS);
	json_add_number(one, "throughput", checkpoint_row_bytes(p, row) / GiB / (ns / SECOND_NS));
}

/* What a run is from and to, as each of DLIO's files of a rank has it. */
static void checkpoint_span(cJSON *to, const char *key, uint64_t utc)
{
	char text[LEAF_STAMP_BYTES];

	leaf_time(text, utc);
	json_add_text(to, key, text);
}

/* DLIO counts steps of trainings here, of which there are none. */
static cJSON *checkpoint_output(const struct mlperf_phase *p)
{
	static const char *const kinds[] = {"load", "proc", "throughput", "au", "compute"};
	cJSON *to = json_object(), *epoch = cJSON_AddObjectToObject(to, "1");

	checkpoint_span(epoch, "start", p->phase->record.started_ns);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		cJSON_AddObjectToObject(epoch, kinds[i]);
	checkpoint_span(epoch, "end", p->phase->record.finished_ns);
	leaf_hostname(to, p);
	return to;
}

static void checkpoint_leaf(const struct tree_folder *model, const struct mlperf_export *e,
			    const struct mlperf_phase *p, uint64_t *last, cJSON *all)
{
	cJSON *summary = leaf_summary(p), *blocks = json_object(), *one = json_object();
	cJSON *metric = cJSON_GetObjectItemCaseSensitive(summary, "metric");
	cJSON *epoch = cJSON_AddObjectToObject(blocks, "1");
	char stamp[LEAF_STAMP_BYTES];
	const cJSON *row;
	struct tree_folder leaf;

	leaf_stamp(stamp, p, last);
	leaf = place_below(model, "%s", stamp);
	checkpoint_side(metric, p, "save", "write_ns", "bytes_written");
	checkpoint_side(metric, p, "load", "read_ns", "bytes_read");
	json_add_number(metric, "checkpoint_size_GB", checkpoint_bytes(p) / GiB);
	checkpoint_span(epoch, "start", p->phase->record.started_ns);
	cJSON_ArrayForEach(row, json_at(p->tree, "result.checkpoints"))
	{
		checkpoint_block(epoch, p, row, "save_ckpt", "write");
		checkpoint_block(epoch, p, row, "load_ckpt", "read");
	}
	checkpoint_span(epoch, "end", p->phase->record.finished_ns);
	json_add_text(one, "run", stamp);
	cJSON_AddItemToObject(one, "metric", cJSON_Duplicate(metric, true));
	cJSON_AddItemToArray(all, one);
	place_json(&leaf, "0_output.json", checkpoint_output(p));
	place_json(&leaf, "0_per_epoch_stats.json", blocks);
	place_json(&leaf, "summary.json", summary);
	leaf_files(&leaf, e, p, "checkpointing", "run", stamp);
}

void leaf_checkpoints(const struct tree_folder *system, const struct mlperf_export *e)
{
	for (uint32_t i = 0; i < e->count; i++) {
		struct tree_folder model;
		cJSON *all, *runs;
		uint64_t last = 0;

		if (!leaf_is_first(e, i, PURPOSE_CHECKPOINTS))
			continue;
		model = place_below(system, "checkpointing/%s", leaf_model(&e->phases[i]));
		all = json_object();
		runs = cJSON_AddArrayToObject(all, "runs");
		for (uint32_t k = i; k < e->count; k++)
			if (phase_purpose(e->phases[k].phase) == PURPOSE_CHECKPOINTS &&
			    strcmp(leaf_model(&e->phases[k]), leaf_model(&e->phases[i])) == 0)
				checkpoint_leaf(&model, e, &e->phases[k], &last, runs);
		place_json(&model, "results.json", all);
	}
}
