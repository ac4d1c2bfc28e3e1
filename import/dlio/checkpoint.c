/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of a DLIO workload. */
#include "import/dlio/parts.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "core/numbers.h"

#define MODEL    "model."
#define MESH     "model.parallelism."
#define SHAPE    "model.transformer."
#define SETTINGS "checkpoint."

/* DLIO saves each group of the optimizer twice, and all of them together once more. */
enum { GROUP_COPIES = 3, LAYERS_BESIDE = 3, ZERO_ALL = 3 };

/* PyDAOS's defaults: the bytes of a chunk, and the processes that move chunks. */
enum { DAOS_CHUNK = 64 << 20, DAOS_PROCESSES = 4 };

/* How the ranks share the model; data 0: as many as the run has ranks for. */
struct checkpoint_mesh {
	double tensor, pipeline, data, zero;
};

static double checkpoint_at_least(double value, double least)
{
	return value > least ? value : least;
}

static void checkpoint_find_mesh(struct dlio *d, struct checkpoint_mesh *out)
{
	*out = (struct checkpoint_mesh){
		.tensor = checkpoint_at_least(dlio_number(d, MESH "tensor"), 1),
		.pipeline = checkpoint_at_least(dlio_number(d, MESH "pipeline"), 1),
		.data = checkpoint_at_least(dlio_number(d, MESH "data"), 0),
		.zero = checkpoint_at_least(dlio_number(d, MESH "zero_stage"), 0),
	};
}

static void checkpoint_add_mesh(struct dlio *d, cJSON *phase, const struct checkpoint_mesh *m)
{
	cJSON *mesh = cJSON_AddObjectToObject(phase, "mesh");

	cJSON_AddNumberToObject(mesh, "tensor", m->tensor);
	cJSON_AddNumberToObject(mesh, "pipeline", m->pipeline);
	if (m->data > 0)
		cJSON_AddNumberToObject(mesh, "data", m->data);
	cJSON_AddNumberToObject(mesh, "zero", m->zero);
	if (strcmp(dlio_text(d, SETTINGS "mode"), "subset") != 0)
		return;
	if (m->data <= 0)
		dlio_found(d, IMPORT_CHANGED, SETTINGS "mode",
			   "DLIO refuses a subset without model.parallelism.data; haul's mesh "
			   "then has as many data ranks as the run has ranks for");
	dlio_found(d, IMPORT_CHANGED, SETTINGS "mode",
		   "in haul, a run with fewer ranks than the mesh always writes the part of its "
		   "ranks");
}

static void checkpoint_add_type(struct dlio *d, cJSON *model, const char *key, const char *path)
{
	static const char *const known[] = {"fp64", "fp32",  "fp16", "bf16", "fp8",
					    "int8", "uint8", "int4", NULL};
	const char *type = dlio_text(d, path);

	for (unsigned i = 0; known[i]; i++)
		if (strcmp(known[i], type) == 0) {
			dlio_add_text(d, model, key, type);
			return;
		}
	dlio_refuse(d, "%s: unknown number format \"%.32s\"", path, type);
}

/* A transformer by its dimensions. */
static void checkpoint_add_shape(struct dlio *d, cJSON *model, double layers)
{
	static const struct {
		const char *key, *path;
	} rows[] = {
		{"vocabulary", SHAPE "vocab_size"},        {"hidden", SHAPE "hidden_size"},
		{"feed_forward", SHAPE "ffn_hidden_size"}, {"heads", SHAPE "num_attention_heads"},
		{"kv_heads", SHAPE "num_kv_heads"},
	};

	for (unsigned i = 0; i < COUNT(rows); i++)
		cJSON_AddNumberToObject(model, rows[i].key, dlio_number(d, rows[i].path));
	cJSON_AddNumberToObject(model, "layers", layers);
	dlio_add_text(d, model, "tensors", "dlio");
	checkpoint_add_type(d, model, "weights", MODEL "model_datatype");
	checkpoint_add_type(d, model, "optimizer", MODEL "optimizer_datatype");
	if (dlio_at(d, MODEL "optimization_groups"))
		dlio_found(d, IMPORT_LEFT, MODEL "optimization_groups",
			   "haul computes the optimizer's states from model.transformer");
}

/* The sum of a list of sizes, each divided by parts as whole numbers. */
static double checkpoint_list_sum(struct dlio *d, const char *path, double parts)
{
	const cJSON *item;
	double sum = 0;

	cJSON_ArrayForEach(item, dlio_at(d, path))
	{
		if (!cJSON_IsNumber(item) || item->valuedouble < 0)
			dlio_refuse(d, "%s: must be a list of whole numbers of 0 or more", path);
		sum += floor(item->valuedouble / parts);
	}
	return sum;
}

static void checkpoint_leave_state(struct dlio *d, const char *why)
{
	static const char *const paths[] = {MODEL "model_size_bytes", MODEL "model_size"};

	for (unsigned i = 0; i < COUNT(paths); i++)
		if (dlio_at(d, paths[i]))
			dlio_found(d, IMPORT_LEFT, paths[i], "%s", why);
}

/* The state of a model without known dimensions; unet3d's files give its size by a key that DLIO
 * does not read. */
static double checkpoint_state_bytes(struct dlio *d)
{
	static const char right[] = MODEL "model_size_bytes", wrong[] = MODEL "model_size";
	bool given = dlio_at(d, right) != NULL, other = dlio_at(d, wrong) != NULL;

	if (strcmp(dlio_text(d, MODEL "type"), "transformer") == 0) {
		checkpoint_leave_state(d, "DLIO has no such state where model.type is transformer");
		return 0;
	}
	if (other && !given && d->as != IMPORT_AS_DLIO_BUGS) {
		dlio_found(
			d, IMPORT_CHANGED, wrong,
			"DLIO reads model_size_bytes and ignores this key; haul takes it for that "
			"one");
		return dlio_number(d, wrong);
	}
	if (other)
		dlio_found(d, IMPORT_LEFT, wrong, "DLIO reads model_size_bytes, not this key");
	return dlio_number(d, right);
}

/* What each rank writes where the file gives sizes and no dimensions: DLIO's older lists. Each rank
 * that writes has the same number of bytes in haul, so the mesh has data ranks only. */
static void checkpoint_add_flat(struct dlio *d, cJSON *model, double layers,
				struct checkpoint_mesh *mesh)
{
	double ranks = mesh->tensor * mesh->pipeline;
	double groups = checkpoint_list_sum(d, MODEL "optimization_groups", 1);
	double parameters = checkpoint_list_sum(d, MODEL "layer_parameters", mesh->tensor);
	double state = checkpoint_state_bytes(d);

	if (layers > 0)
		parameters *= ceil((layers + LAYERS_BESIDE) / mesh->pipeline);
	state += GROUP_COPIES * groups + parameters;
	if (state < 1)
		dlio_refuse(d,
			    MODEL "num_layers: is missing, and so is model.model_size_bytes: the "
				  "model has no size");
	cJSON_AddNumberToObject(model, "bytes", state);
	if (mesh->zero > 0)
		mesh->data *= ranks;
	else if (ranks > 1)
		mesh->data = ranks;
	mesh->zero = mesh->zero > 0 || ranks > 1 ? ZERO_ALL : 0;
	mesh->tensor = mesh->pipeline = 1;
	dlio_found(d, IMPORT_CHANGED,
		   dlio_at(d, MODEL "layer_parameters")      ? MODEL "layer_parameters"
		   : dlio_at(d, MODEL "optimization_groups") ? MODEL "optimization_groups"
							     : MODEL "model_size_bytes",
		   "a model without dimensions: each rank that writes has one state of %.0f bytes",
		   state);
}

static void checkpoint_add_model(struct dlio *d, cJSON *phase)
{
	cJSON *model;
	double layers = dlio_number(d, MODEL "num_layers");
	const cJSON *list = dlio_at(d, MODEL "layer_parameters");
	struct checkpoint_mesh mesh;
	bool layered = false;

	if (d->generation == DLIO_BEFORE_2025) {
		dlio_add_early_model(d, phase);
		return;
	}
	model = cJSON_AddObjectToObject(phase, "model");
	if (dlio_at(d, SETTINGS "type"))
		dlio_found(d, IMPORT_LEFT, SETTINGS "type", "DLIO reads it and never uses it");
	checkpoint_find_mesh(d, &mesh);
	if (layers > 0 && !(list && list->child)) {
		layered = mesh.pipeline > 1 && mesh.zero < ZERO_ALL;
		/* Any other type adds a state of no known shape. */
		(void)dlio_at(d, MODEL "type");
		checkpoint_add_shape(d, model, layers);
		checkpoint_leave_state(
			d, "haul writes the tensors of model.transformer, and no other state");
	} else {
		checkpoint_add_flat(d, model, layers, &mesh);
	}
	checkpoint_add_mesh(d, phase, &mesh);
	/* DLIO saves layer by layer where there are pipeline stages. */
	cJSON_AddStringToObject(phase, "layout", layered ? "layer" : "rank");
}

/* DLIO reads what the rank itself wrote, and the weights of the first data rank only. */
static void checkpoint_add_reads(struct dlio *d, cJSON *phase)
{
	const char *key = dlio_at(d, SETTINGS "load_rank_shift") ? SETTINGS "load_rank_shift"
								 : SETTINGS "recovery_rank_shift";
	bool shift = dlio_bool(d, key);

	cJSON_AddStringToObject(phase, "replicas", "first");
	cJSON_AddStringToObject(phase, "shift",
				shift && d->as == IMPORT_AS_MEANT ? "node" : "none");
	if (shift)
		dlio_found(d, IMPORT_CHANGED, key,
			   d->as == IMPORT_AS_MEANT
				   ? "DLIO ignores it, because its code misspells the name; haul "
				     "reads what a rank of another node wrote"
				   : "as DLIO does: it ignores the key");
}

static void checkpoint_add_pause(struct dlio *d, cJSON *phase)
{
	double pause = dlio_number(d, SETTINGS "time_between_checkpoints");
	bool as_dlio = d->as == IMPORT_AS_DLIO_BUGS;

	if (pause > 0 || (pause < 0 && as_dlio))
		cJSON_AddNumberToObject(phase, "pause", fabs(pause));
	if (pause < 0 && (as_dlio || dlio_at(d, SETTINGS "time_between_checkpoints")))
		dlio_found(d, IMPORT_CHANGED, SETTINGS "time_between_checkpoints",
			   as_dlio ? "as DLIO does: it sleeps for the number without its sign"
				   : "it is negative: haul makes no pause");
}

/* PyDAOS writes and reads chunks of a checkpoint by four processes. */
static void checkpoint_add_daos(struct dlio *d, cJSON *phase, const char *operation)
{
	double chunk = dlio_number(d, SETTINGS "checkpoint_daos_chunk_size");
	double limit = dlio_number(d, SETTINGS "checkpoint_daos_chunks_limit");

	if (!d->daos && !*dlio_text(d, SETTINGS "checkpoint_daos_pool"))
		return;
	if (strcmp(operation, "write") != 0)
		cJSON_AddStringToObject(phase, "read_as", "pydaos");
	if (strcmp(operation, "read") != 0)
		cJSON_AddNumberToObject(phase, "writers", DAOS_PROCESSES);
	if (chunk <= 0 && limit <= 0 && strcmp(operation, "write") != 0)
		return;
	chunk = chunk > 0 ? chunk : DAOS_CHUNK;
	limit = checkpoint_at_least(limit, DAOS_PROCESSES);
	cJSON_AddNumberToObject(phase, "chunk", chunk);
	cJSON_AddNumberToObject(phase, "buffers", chunk * limit);
}

static void checkpoint_add_phase(struct dlio *d, cJSON *phases, const char *operation, double count)
{
	cJSON *entry = cJSON_CreateObject(), *phase;

	cJSON_AddItemToArray(phases, entry);
	phase = cJSON_AddObjectToObject(entry, "checkpoint");
	if (!phase)
		dlio_no_memory(d);
	if (strcmp(operation, "both") != 0)
		cJSON_AddStringToObject(phase, "name", operation);
	cJSON_AddStringToObject(phase, "store", "checkpoints");
	cJSON_AddStringToObject(phase, "folder", "");
	cJSON_AddStringToObject(phase, "operation", operation);
	cJSON_AddNumberToObject(phase, "count", count);
	checkpoint_add_model(d, phase);
	checkpoint_add_daos(d, phase, operation);
	checkpoint_add_pause(d, phase);
	checkpoint_add_reads(d, phase);
}

/* Two phases, about which most findings are the same: those of the second are dropped. */
static void checkpoint_add_both(struct dlio *d, cJSON *phases, double writes, double reads)
{
	uint32_t found;

	checkpoint_add_phase(d, phases, "read", reads);
	found = d->out->count;
	checkpoint_add_phase(d, phases, "write", writes);
	d->out->count = found;
	/* What is read must have been written before. */
	cJSON_AddItemToArray(phases,
			     cJSON_DetachItemFromArray(phases, cJSON_GetArraySize(phases) - 2));
}

static void checkpoint_find_framework(struct dlio *d)
{
	if (strcmp(dlio_text(d, "framework"), "pytorch") != 0)
		dlio_found(d, IMPORT_CHANGED, "framework",
			   "haul writes checkpoints as torch does, not as TensorFlow");
}

/* How many checkpoints are written, and how many read. From February to April 2025, DLIO had one
 * number for both, and read after each so many that it wrote. */
static void checkpoint_find_counts(struct dlio *d, double *writes, double *reads)
{
	double every = dlio_number(d, SETTINGS "recovery_after_steps");

	*writes = dlio_number(d, SETTINGS "num_checkpoints_write");
	*reads = dlio_number(d, SETTINGS "num_checkpoints_read");
	if (!dlio_peek(d, SETTINGS "num_checkpoints") ||
	    dlio_peek(d, SETTINGS "num_checkpoints_write") ||
	    dlio_peek(d, SETTINGS "num_checkpoints_read"))
		return;
	*writes = dlio_number(d, SETTINGS "num_checkpoints");
	*reads = every >= 1 ? floor(*writes / floor(every)) : 0;
}

bool dlio_choose_checkpoints(struct dlio *d)
{
	double writes, reads;

	if (d->generation == DLIO_BEFORE_2025) {
		dlio_found(
			d, IMPORT_LEFT, "workflow.checkpoint",
			"a DLIO of before February 2025, for which this file is, writes checkpoints only while "
			"it trains");
		return false;
	}
	checkpoint_find_counts(d, &writes, &reads);
	if (writes > 0 || reads > 0)
		return true;
	if (!d->generates)
		dlio_refuse(d, SETTINGS "num_checkpoints_write: the workload neither writes nor "
					"reads checkpoints");
	dlio_found(
		d, IMPORT_LEFT, "workflow.checkpoint",
		"the workload does not train, and checkpoint.num_checkpoints_write and _read are not given: it "
		"neither writes nor reads checkpoints");
	return false;
}

void dlio_add_checkpoints(struct dlio *d, struct cJSON *phases)
{
	double writes, reads;

	checkpoint_find_counts(d, &writes, &reads);
	checkpoint_find_framework(d);
	if (reads > 0 && dlio_at(d, SETTINGS "recovery_after_steps"))
		dlio_found(d, IMPORT_CHANGED, SETTINGS "recovery_after_steps",
			   "haul reads %.0f checkpoints when all have been written", reads);
	if (writes > 0 && reads > writes) {
		dlio_found(d, IMPORT_CHANGED, SETTINGS "num_checkpoints_read",
			   "haul reads each checkpoint once, and %.0f are written", writes);
		reads = writes;
	}
	if (writes > 0 && reads > 0 && writes != reads)
		checkpoint_add_both(d, phases, writes, reads);
	else if (writes > 0)
		checkpoint_add_phase(d, phases, reads > 0 ? "both" : "write", writes);
	else
		checkpoint_add_phase(d, phases, "read", reads);
}

/* Why DLIO writes no checkpoint although the workload has them, or NULL. It compares numbers of
 * epochs and steps from 1 on with the next ones that are due. */
static const char *checkpoint_never(struct dlio *d, const char **path)
{
	double steps = dlio_number(d, SETTINGS "steps_between_checkpoints");
	double first = dlio_number(d, SETTINGS "checkpoint_after_epoch");

	*path = SETTINGS "steps_between_checkpoints";
	if (steps >= 0)
		return steps < 1 ? "DLIO writes no checkpoint then" : NULL;
	*path = SETTINGS "checkpoint_after_epoch";
	if (first < 1)
		return "DLIO writes no checkpoint then: its epochs count from 1";
	if (first > dlio_number(d, "train.epochs"))
		return "the training has fewer epochs, so it writes no checkpoint";
	return NULL;
}

static bool checkpoint_list_has_size(const struct dlio *d, const char *path)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, dlio_peek(d, path))
	{
		if (!cJSON_IsNumber(item) || item->valuedouble != 0)
			return true;
	}
	return false;
}

/* Whether nothing in the file says how large the model is. DLIO's own default does, but not for a
 * transformer. */
static bool checkpoint_sizeless(struct dlio *d)
{
	const cJSON *type = dlio_peek(d, MODEL "type");
	const cJSON *bytes = dlio_peek(d, MODEL "model_size_bytes");

	if (d->generation == DLIO_BEFORE_2025)
		return !dlio_early_model_has_size(d);
	if (dlio_number(d, MODEL "num_layers") > 0 ||
	    checkpoint_list_has_size(d, MODEL "layer_parameters") ||
	    checkpoint_list_has_size(d, MODEL "optimization_groups"))
		return false;
	if (cJSON_IsString(type) && strcmp(type->valuestring, "transformer") == 0)
		return true;
	return cJSON_IsNumber(bytes) && bytes->valuedouble < 1;
}

void dlio_choose_saves(struct dlio *d)
{
	const char *path, *why = checkpoint_never(d, &path);

	if (!why && checkpoint_sizeless(d)) {
		d->sizeless = true;
		path = d->generation == DLIO_BEFORE_2025 ? SETTINGS "model_size"
							 : MODEL "num_layers";
		why = "without it the model has no size, and nothing else gives one: the training is "
		      "imported without its checkpoints";
	}
	d->saves = !why;
	if (why)
		dlio_found(d, IMPORT_CHANGED, path, "%s", why);
}

/* DLIO counts steps from the beginning of each epoch. */
static void saves_add_steps(struct dlio *d, cJSON *to)
{
	static const char *const epochs[] = {SETTINGS "checkpoint_after_epoch",
					     SETTINGS "epochs_between_checkpoints"};
	double steps = dlio_number(d, SETTINGS "steps_between_checkpoints");

	cJSON_AddNumberToObject(to, "every_steps", floor(steps));
	if (dlio_number(d, "train.epochs") > 1)
		dlio_found(d, IMPORT_CHANGED, SETTINGS "steps_between_checkpoints",
			   "haul counts the steps of all epochs together; DLIO begins again in "
			   "each epoch");
	for (unsigned i = 0; i < COUNT(epochs); i++)
		if (dlio_at(d, epochs[i]))
			dlio_found(d, IMPORT_LEFT, epochs[i],
				   "checkpoint.steps_between_checkpoints takes precedence");
}

/* Without a distance, DLIO's next checkpoint is due in an epoch that is over. */
static void saves_add_epochs(struct dlio *d, cJSON *to)
{
	double first = floor(dlio_number(d, SETTINGS "checkpoint_after_epoch"));
	double every = floor(dlio_number(d, SETTINGS "epochs_between_checkpoints"));

	if (every < 1)
		every = dlio_number(d, "train.epochs");
	cJSON_AddNumberToObject(to, "every_epochs", every);
	if (first != every)
		cJSON_AddNumberToObject(to, "first_epoch", first);
}

void dlio_add_saves(struct dlio *d, struct cJSON *train)
{
	cJSON *to = cJSON_AddObjectToObject(train, "checkpoint");

	if (!to)
		dlio_no_memory(d);
	checkpoint_find_framework(d);
	if (dlio_number(d, SETTINGS "steps_between_checkpoints") >= 0)
		saves_add_steps(d, to);
	else
		saves_add_epochs(d, to);
	cJSON_AddStringToObject(to, "store", "checkpoints");
	cJSON_AddStringToObject(to, "folder", "");
	checkpoint_add_model(d, to);
	checkpoint_add_daos(d, to, "write");
}
