/* SPDX-License-Identifier: Apache-2.0 */
#include "import/torchtitan/import_torchtitan.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/json_path.h"

/* torchtitan's own defaults, and what its consolidation has. */
static const double steps_default = 10000, interval_default = 500, keep_default = 10;
static const double consolidators = 5, count_max = 10000, buffers = 256 << 20;

/* clang-format off */
#define NO_CHECKPOINT "it changes nothing in the files of a checkpoint"
#define NO_LOADING    "the job writes; haul run JOB --set checkpoint.operation=both reads them, too"
#define USED(n, k)    {.path = (n), .kind = (k)}
#define LEFT(n, w)    {.path = (n), .kind = KEY_ANY, .way = KEY_LEFT, .why = (w)}

static const struct import_key titan_keys[] = {
	USED("job.dump_folder", KEY_TEXT),
	USED("model.name", KEY_TEXT),
	USED("model.flavor", KEY_TEXT),
	USED("training.steps", KEY_WHOLE),
	USED("parallelism.data_parallel_replicate_degree", KEY_WHOLE),
	USED("parallelism.data_parallel_shard_degree", KEY_NUMBER),
	USED("parallelism.tensor_parallel_degree", KEY_WHOLE),
	USED("parallelism.pipeline_parallel_degree", KEY_WHOLE),
	USED("parallelism.expert_parallel_degree", KEY_WHOLE),
	{.path = "parallelism.context_parallel_degree", .kind = KEY_WHOLE, .way = KEY_CHANGED,
	 .why = "its ranks share the weights, as those of data_parallel_shard_degree do"},
	{.path = "checkpoint.enable_checkpoint", .other = "checkpoint.enable", .kind = KEY_BOOL, .way = KEY_CHANGED,
	 .why = "the job writes checkpoints also where the training would not"},
	USED("checkpoint.folder", KEY_TEXT),
	{.path = "checkpoint.interval", .kind = KEY_WHOLE, .way = KEY_CHANGED,
	 .why = "it gives the number of checkpoints; the option interval is a time, which asks for mtbf"},
	USED("checkpoint.keep_latest_k", KEY_WHOLE),
	{.path = "checkpoint.async_mode", .kind = KEY_TEXT, .way = KEY_CHANGED,
	 .why = "a phase of checkpoints waits for each; within a training, \"async\": \"hold\" copies first"},
	{.path = "checkpoint.last_save_model_only", .other = "checkpoint.model_weights_only", .kind = KEY_BOOL},
	USED("checkpoint.last_save_in_hf", KEY_BOOL),
	USED("checkpoint.export_dtype", KEY_TEXT),
	LEFT("checkpoint.initial_load_*", NO_LOADING),
	LEFT("checkpoint.load_*", NO_LOADING),
	LEFT("checkpoint.exclude_from_loading", NO_LOADING),
	LEFT("checkpoint.create_seed_checkpoint", NO_LOADING),
	LEFT("checkpoint.enable_first_step_checkpoint", "count of the job counts checkpoints"),
	LEFT("job.**", NO_CHECKPOINT),
	LEFT("model.**", NO_CHECKPOINT),
	LEFT("training.**", NO_CHECKPOINT),
	LEFT("parallelism.**", NO_CHECKPOINT),
	LEFT("profiling.**", NO_CHECKPOINT),
	LEFT("metrics.**", NO_CHECKPOINT),
	LEFT("optimizer.**", NO_CHECKPOINT),
	LEFT("lr_scheduler.**", NO_CHECKPOINT),
	LEFT("activation_checkpoint.**", NO_CHECKPOINT),
	LEFT("compile.**", NO_CHECKPOINT),
	LEFT("quantize.**", NO_CHECKPOINT),
	LEFT("float8.**", NO_CHECKPOINT),
	LEFT("mx.**", NO_CHECKPOINT),
	LEFT("comm.**", NO_CHECKPOINT),
	LEFT("validation.**", NO_CHECKPOINT),
	LEFT("memory_estimation.**", NO_CHECKPOINT),
	LEFT("fault_tolerance.**", NO_CHECKPOINT),
	LEFT("experimental.**", NO_CHECKPOINT),
	LEFT("debug.**", NO_CHECKPOINT),
	{.path = NULL},
};
/* clang-format on */

const struct import_tool import_torchtitan_tool = {
	.keys = titan_keys,
	.file = "a configuration",
	.name = "torchtitan",
	.unknown = "torchtitan has no such key that haul knows",
	.read = toml_read,
};

/* Its models, by haul's names. */
static const struct titan_model {
	const char *name, *flavor, *haul;
} models[] = {
	{"llama3", "8B", "llama3.1-8b"},   {"llama3", "70B", "llama3.1-70b-instruct"},
	{"llama3", "405B", "llama3_405b"}, {"deepseek_v3", "671B", "deepseek-v3"},
	{"qwen3", "32B", "qwen3-32b"},     {"qwen3", "30B-A3B", "qwen3-30b-a3b"},
};

struct titan {
	struct import *out;
	cJSON *tree;
	const struct titan_model *model;
	struct err *err;
};

static double titan_number(const struct titan *t, const char *path, double otherwise)
{
	return json_number_at(t->tree, path, otherwise);
}

static bool titan_is(const struct titan *t, const char *path, bool otherwise)
{
	const cJSON *value = json_at(t->tree, path);

	return value ? cJSON_IsTrue(value) : otherwise;
}

static int titan_take(void *importer, const struct import_key *key, const char *path,
		      const cJSON *value)
{
	const struct titan *t = importer;

	if (key->way == KEY_CHANGED)
		import_found(t->out, IMPORT_CHANGED, path, value, "%s", key->why);
	return 0;
}

static int titan_find_model(struct titan *t)
{
	const char *name = json_text_at(t->tree, "model.name", "llama3");
	const char *flavor = json_text_at(t->tree, "model.flavor", "debugmodel");
	char quoted[JSON_QUOTE_BYTES];

	for (unsigned i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strcmp(models[i].name, name) == 0 && strcmp(models[i].flavor, flavor) == 0)
			t->model = &models[i];
	return t->model
		       ? 0
		       : err_set(t->err, -EINVAL,
				 "model.flavor: haul knows llama3's 8B, 70B and 405B, deepseek_v3's 671B and qwen3's "
				 "32B and 30B-A3B, not %s; take one, and give the job the model's shape",
				 json_quote(quoted, flavor));
}

static void titan_mesh(const struct titan *t, cJSON *phase)
{
	cJSON *mesh = cJSON_AddObjectToObject(phase, "mesh");
	double shard = titan_number(t, "parallelism.data_parallel_shard_degree", -1);
	double replicate = titan_number(t, "parallelism.data_parallel_replicate_degree", 1);
	double context = titan_number(t, "parallelism.context_parallel_degree", 1);
	double expert = titan_number(t, "parallelism.expert_parallel_degree", 1);

	json_add_number(mesh, "tensor", titan_number(t, "parallelism.tensor_parallel_degree", 1));
	json_add_number(mesh, "pipeline",
			titan_number(t, "parallelism.pipeline_parallel_degree", 1));
	/* Left out: as many as are started. */
	if (shard > 0)
		json_add_number(mesh, "data", shard * replicate * context);
	json_add_number(mesh, "zero", shard == 1 && context == 1 ? 0 : 3);
	if (replicate > 1 && !(shard == 1 && context == 1))
		json_add_number(mesh, "replicate", replicate);
	if (expert > 1)
		json_add_number(mesh, "expert", expert);
}

/* weights: torch's name of their type. */
static cJSON *titan_phase(const struct titan *t, cJSON *phases, const char *name,
			  const char *weights, double count)
{
	cJSON *entry = cJSON_CreateObject(), *phase = NULL, *model;

	if (cJSON_AddItemToArray(phases, entry))
		phase = cJSON_AddObjectToObject(entry, "checkpoint");
	json_add_text(phase, "name", name);
	json_add_text(phase, "operation", "write");
	json_add_text(phase, "folder", name);
	model = cJSON_AddObjectToObject(phase, "model");
	json_add_text(model, "name", t->model->haul);
	json_add_text(model, "tensors", "separate");
	json_add_text(model, "weights",
		      strcmp(weights, "bfloat16") == 0  ? "bf16"
		      : strcmp(weights, "float16") == 0 ? "fp16"
							: "fp32");
	titan_mesh(t, phase);
	json_add_number(phase, "count", count);
	json_add_number(phase, "buffers", buffers);
	return phase;
}

/* The saves of every interval; and the last one, which may have the model alone. */
static void titan_phases(const struct titan *t, cJSON *phases)
{
	double interval = titan_number(t, "checkpoint.interval", interval_default);
	double steps = titan_number(t, "training.steps", steps_default);
	double count = interval > 0 ? floor(steps / interval) : 1;
	double keep = titan_number(t, "checkpoint.keep_latest_k", keep_default);
	bool alone = titan_is(t, "checkpoint.last_save_model_only",
			      titan_is(t, "checkpoint.model_weights_only", true));
	const char *type = json_text_at(t->tree, "checkpoint.export_dtype", "float32");
	cJSON *phase;

	count = count > count_max ? count_max : count;
	count -= alone && count > 1;
	phase = titan_phase(t, phases, "saves", "float32", count < 1 ? 1 : count);
	json_add_text(phase, "layout", "dcp");
	if (keep > 0 && keep < count) {
		json_add_number(phase, "keep", keep);
		json_add_text(phase, "purge", "thread");
	}
	if (!alone)
		return;
	phase = titan_phase(t, phases, "last", type, 1);
	json_add_text(cJSON_GetObjectItemCaseSensitive(phase, "model"), "optimizer", "none");
	if (!titan_is(t, "checkpoint.last_save_in_hf", false)) {
		json_add_text(phase, "layout", "dcp");
		return;
	}
	json_add_text(phase, "layout", "hf");
	json_add_text(phase, "framing", "safetensors");
	json_add_text(phase, "consolidate", "ranks");
	json_add_number(phase, "consolidators", consolidators);
}

static int titan_job(struct titan *t, const char *name)
{
	cJSON *job = t->out->job = cJSON_CreateObject(), *store;
	const char *folder = json_text_at(t->tree, "job.dump_folder", "./outputs");
	char uri[IMPORT_WHY_BYTES];
	int n;

	import_add_name(job, name, "torchtitan");
	n = snprintf(uri, sizeof(uri), "file://%s%s/%s", strchr("/.", folder[0]) ? "" : "./",
		     folder, json_text_at(t->tree, "checkpoint.folder", "checkpoint"));
	if (n < 0 || (size_t)n >= sizeof(uri))
		return err_set(t->err, -EINVAL, "job.dump_folder: is too long");
	store = cJSON_AddObjectToObject(cJSON_AddObjectToObject(job, "stores"), "checkpoints");
	json_add_text(store, "uri", uri);
	json_add_text(store, "fsync", "file");
	titan_phases(t, cJSON_AddArrayToObject(job, "phases"));
	return t->out->failed ? err_set(t->err, -ENOMEM, "no memory for the job") : 0;
}

int import_torchtitan(struct import *out, const char *name, const char *text, size_t length,
		      const char *const *flags, unsigned flag_count, struct err *err)
{
	struct titan t = {.out = out, .err = err};
	int rc = length ? import_read(&t.tree, &import_torchtitan_tool, text, length, err)
			: err_set(err, -EINVAL, "the file of the configuration is missing");

	*out = (struct import){0};
	if (rc == 0)
		rc = import_flags(t.tree, flags, flag_count, err);
	if (rc == 0)
		rc = import_walk(&import_torchtitan_tool, out, t.tree, titan_take, &t, err);
	if (rc == 0)
		rc = titan_find_model(&t);
	if (rc == 0)
		rc = titan_job(&t, name);
	cJSON_Delete(t.tree);
	return rc;
}
