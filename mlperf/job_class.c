/* SPDX-License-Identifier: Apache-2.0 */
/* The class of a phase of haul's own: see job_class.h. Keys of DLIO that haul has no notion of, such
 * as the framework, are those of the workload. */
#include "mlperf/job_class.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/json_path.h"
#include "core/numbers.h"
#include "mlperf/class.h"

/* Numbers that are the same in DLIO's keys and in haul's. A key that the workload does not have
 * stands for 0, unless a value is set. */
struct same_key {
	const char *of, *dlio;
};
static const struct same_key dataset_numbers[] = {
	{"samples_per_file", "dataset.num_samples_per_file"},
	{"sample_bytes_stdev", "dataset.record_length_bytes_stdev"},
	{NULL, NULL}};
static const struct same_key train_numbers[] = {{"batch", "reader.batch_size"},
						{"epochs", "train.epochs"},
						{"steps", "train.total_training_steps"},
						{"target_au", "metric.au"},
						{NULL, NULL}};
static const struct same_key save_numbers[] = {
	{"checkpoint.every_epochs", "checkpoint.epochs_between_checkpoints"},
	{"checkpoint.first_epoch", "checkpoint.checkpoint_after_epoch"},
	{"checkpoint.every_steps", "checkpoint.steps_between_checkpoints"},
	{"checkpoint.model.bytes", "model.model_size"},
	{NULL, NULL}};
static const struct same_key checkpoint_numbers[] = {
	{"mesh.zero", "model.parallelism.zero_stage"},
	{"pause", "checkpoint.time_between_checkpoints"},
	{NULL, NULL}};
/* 0 is none of these. */
static const struct same_key shape_numbers[] = {
	{"mesh.tensor", "model.parallelism.tensor"},
	{"mesh.pipeline", "model.parallelism.pipeline"},
	{"model.layers", "model.num_layers"},
	{"model.vocabulary", "model.transformer.vocab_size"},
	{"model.hidden", "model.transformer.hidden_size"},
	{"model.feed_forward", "model.transformer.ffn_hidden_size"},
	{"model.heads", "model.transformer.num_attention_heads"},
	{"model.kv_heads", "model.transformer.num_kv_heads"},
	{NULL, NULL}};

static void class_numbers(cJSON *tree, const cJSON *keys, const struct same_key *same, bool zero)
{
	for (; same->of; same++)
		if (json_at(keys, same->of) && (zero || json_number_at(keys, same->of, 0) != 0) &&
		    json_number_at(keys, same->of, 0) != json_number_at(tree, same->dlio, 0))
			edition_set(tree, same->dlio,
				    cJSON_CreateNumber(json_number_at(keys, same->of, 0)));
}

static void class_text(cJSON *tree, const char *path, const char *text)
{
	if (*text && strcmp(text, json_text_at(tree, path, "")) != 0)
		edition_set(tree, path, cJSON_CreateString(text));
}

static void class_shuffle(cJSON *tree, const cJSON *keys)
{
	static const struct same_key kinds[] = {{"shuffle.files", "reader.file_shuffle"},
						{"shuffle.samples", "reader.sample_shuffle"}};
	bool none = strcmp(json_text_at(keys, "shuffle.order", ""), "none") == 0;
	double window = json_number_at(keys, "shuffle.window", 0);

	for (unsigned i = 0; i < COUNT(kinds); i++) {
		const char *text = json_text_at(tree, kinds[i].dlio, "");
		bool is = *text && strcmp(text, "off") != 0;
		/* A window shuffles samples. */
		bool wanted = !none && (json_number_at(keys, kinds[i].of, 0) || (i && window));

		if (is != wanted)
			edition_set(tree, kinds[i].dlio,
				    cJSON_CreateString(wanted ? "seed" : "off"));
	}
	if (!none && window && window != json_number_at(tree, "reader.shuffle_size", 0))
		edition_set(tree, "reader.shuffle_size", cJSON_CreateNumber(window));
}

static void class_loader(cJSON *tree, const cJSON *keys)
{
	const char *kind = json_text_at(keys, "loader.kind", ""),
		   *has = json_text_at(tree, "reader.data_loader", "");

	if (strcmp(kind, "pytorch") == 0)
		class_text(tree, "reader.data_loader", "pytorch");
	else if (strcmp(kind, "batch") == 0)
		class_text(tree, "reader.data_loader", "daos_pytorch");
	else if (strcmp(has, "pytorch") == 0)
		class_text(tree, "reader.data_loader", "tensorflow");
}

/* A time, or the distribution from which it is drawn. */
static void class_compute(cJSON *tree, const cJSON *compute)
{
	bool normal = strcmp(json_text_at(compute, "type", ""), "normal") == 0;

	if (cJSON_IsNumber(compute) || normal) {
		double mean = normal ? json_number_at(compute, "mean", 0) : compute->valuedouble;

		if (mean != json_number_at(tree, "train.computation_time", 0))
			edition_set(tree, "train.computation_time", cJSON_CreateNumber(mean));
		if (normal)
			edition_set(tree, "train.computation_time_stdev",
				    cJSON_CreateNumber(json_number_at(compute, "stdev", 0)));
	} else if (cJSON_IsObject(compute)) {
		edition_set(tree, "train.computation_time", cJSON_Duplicate(compute, true));
	}
}

static void class_train(cJSON *tree, const struct job_class *p)
{
	bool saves = json_number_at(p->keys, "checkpoint.every_epochs", 0) ||
		     json_number_at(p->keys, "checkpoint.every_steps", 0);

	class_text(tree, "dataset.format", json_text_at(p->dataset, "format", ""));
	class_numbers(tree, p->dataset, dataset_numbers, true);
	class_numbers(tree, p->keys, train_numbers, true);
	class_compute(tree, json_at(p->keys, "compute"));
	class_loader(tree, p->keys);
	class_shuffle(tree, p->keys);
	if (saves)
		class_numbers(tree, p->keys, save_numbers, true);
	if (saves != (bool)json_number_at(tree, "workflow.checkpoint", 0))
		edition_set(tree, "workflow.checkpoint", cJSON_CreateBool(saves));
}

static void class_checkpoint(cJSON *tree, const struct job_class *p,
			     const struct edition_workload *w)
{
	const cJSON *processes = edition_member(w, "processes");
	const char *fsync = json_text_at(p->store, "fsync", "");
	double whole = cJSON_IsNumber(processes) ? processes->valuedouble : 0;

	class_numbers(tree, p->keys, checkpoint_numbers, true);
	class_numbers(tree, p->keys, shape_numbers, false);
	class_text(tree, "model.model_datatype", json_text_at(p->keys, "model.type", ""));
	class_text(tree, "model.optimizer_datatype", json_text_at(p->keys, "model.optimizer", ""));
	if (*fsync && strcmp(fsync, "file") != 0 && strcmp(fsync, "folder") != 0)
		edition_set(tree, "checkpoint.fsync", cJSON_CreateFalse());
	if (p->ranks >= whole)
		return;
	edition_set(tree, "checkpoint.mode", cJSON_CreateString("subset"));
	edition_set(
		tree, "model.parallelism.data",
		cJSON_CreateNumber(floor(
			whole / fmax(json_number_at(tree, "model.parallelism.tensor", 0) *
					     json_number_at(tree, "model.parallelism.pipeline", 0),
				     1))));
}

/* Whether haul's name of a model, "llama3_8b", is that of a workload, "llama3-8b". */
static bool class_is_named(const char *model, const char *workload)
{
	for (; *model && *workload; model++, workload++)
		if (*model != *workload && !(*model == '_' && *workload == '-'))
			return false;
	return !*model && !*workload;
}

/* A training is known by the bytes of its samples. */
static bool class_is_of_workload(const struct job_class *p, const struct edition_workload *w)
{
	const cJSON *parameters = edition_member(w, "parameters");
	double bytes = json_number_at(parameters, "dataset.record_length_bytes", 0);

	if (strcmp(w->benchmark, "training") != 0)
		return class_is_named(json_text_at(p->keys, "model.name", ""), w->name);
	bytes = bytes > 0 ? bytes : json_number_at(parameters, "dataset.record_length", 0);
	return floor(bytes) == json_number_at(p->dataset, "sample_bytes", 0);
}

static const struct edition_workload *class_workload(const struct job_class *p)
{
	const char *benchmark = edition_benchmark_of(p->purpose);
	const struct edition_workload *latest =
		benchmark ? edition_latest(p->editions, benchmark, "") : NULL;
	const struct edition_workload *w;

	for (unsigned i = 0;
	     latest && (w = edition_workload(p->editions, latest->edition, benchmark, i)); i++)
		if (class_is_of_workload(p, w))
			return w;
	return NULL;
}

static cJSON *class_tree(const struct job_class *p, const struct edition_workload *w)
{
	cJSON *tree = edition_parameters(w, NULL, false);

	if (p->purpose == PURPOSE_TRAINING)
		class_train(tree, p);
	else
		class_checkpoint(tree, p, w);
	return tree;
}

int job_class_of(struct workload_class *out, const struct job_class *p, struct err *err)
{
	const struct edition_workload *w = class_workload(p);
	cJSON *tree = w ? class_tree(p, w) : NULL;
	bool made = tree && class_of(out, edition_find(w->of, w->edition, w->benchmark, ""), tree);

	cJSON_Delete(tree);
	return !w ? 0 : made ? 1 : err_set(err, -ENOMEM, "no memory for the class");
}

struct cJSON *job_class_parameters(const struct job_class *p)
{
	const struct edition_workload *w = class_workload(p);
	cJSON *tree = w ? class_tree(p, w) : NULL, *out;

	if (!tree)
		return NULL;
	out = cJSON_CreateObject();
	cJSON_AddStringToObject(out, "model", w->name);
	cJSON_AddItemToObject(out, "keys",
			      class_keys(edition_find(w->of, w->edition, w->benchmark, ""), tree));
	cJSON_AddItemToObject(out, "parameters", tree);
	return out;
}
