/* SPDX-License-Identifier: Apache-2.0 */
/* Generations of DLIO: see parts.h. From the history of its configuration, July 2020 to June
 * 2026. */
#include "import/dlio/parts.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "core/numbers.h"

/* Keys since February 2025. A star stands for any end. */
static const char *const since_2025[] = {
	"model.*",
	"dataset.record_length_b*", /* bytes, bytes_stdev, bytes_resize, byte_stdev */
	"dataset.record_dims",
	"dataset.record_element_*",
	"dataset.hdf5.*",
	"dataset.parquet.*",
	"output.metric.*",
	"storage.storage_options.*",
	"storage.storage_library",
	"checkpoint.fsync",
	"checkpoint.time_between_checkpoints",
	"checkpoint.num_checkpoints*",
	"checkpoint.mode",
	"checkpoint.recovery_*",
	"checkpoint.load_rank_shift",
	"checkpoint.randomize_tensor",
	"checkpoint.rank_sync",
	"checkpoint.ksm",
	"reader.odirect",
	"reader.transformed_*",
};

/* Keys of the versions before, and where their value belongs today. kept: earlier versions treat it
 * in a way of their own, for which today's key has no words. */
static const struct generation_move {
	const char *then, *now;
	bool kept;
} moves[] = {
	{"dataset.batch_size", "reader.batch_size", false},
	{"dataset.batch_size_eval", "reader.batch_size_eval", false},
	{"dataset.record_length", "dataset.record_length_bytes", false},
	{"dataset.record_length_stdev", "dataset.record_length_bytes_stdev", false},
	{"reader.read_shuffle", "reader.file_shuffle", false},
	{"reader.memory_shuffle", "reader.sample_shuffle", false},
	{"checkpoint.model_size", "model.model_size_bytes", true},
	{"checkpoint.optimization_groups", "model.optimization_groups", true},
	{"checkpoint.num_layers", "model.num_layers", true},
	{"checkpoint.layer_parameters", "model.layer_parameters", true},
	{"checkpoint.tensor_parallelism", "model.parallelism.tensor", true},
	{"checkpoint.pipeline_parallelism", "model.parallelism.pipeline", true},
};

/* Other keys of the versions before, which are mapped to nothing. */
static const char *const before_2025[] = {"dataset.record_length_resize",
					  "reader.computatation_threads",
					  "reader.prefetch",
					  "workflow.debug",
					  "logdir",
					  "profiling.devices",
					  "profiling.iostat_command",
					  "profiling.darshan_preload"};

/* A name of February to May 2025, which means the same in all versions. */
static const struct generation_move between = {"dataset.record_length_byte_stdev",
					       "dataset.record_length_bytes_stdev", false};

void generation_rename_section(struct dlio *d)
{
	cJSON *reader = cJSON_GetObjectItemCaseSensitive(d->tree, "reader");
	cJSON *first = cJSON_GetObjectItemCaseSensitive(d->tree, "data_reader");

	if (!cJSON_IsObject(first))
		return;
	if (reader) {
		import_found(d->out, IMPORT_LEFT, "reader", NULL,
			     "DLIO reads data_reader, and not this section beside it");
		cJSON_DeleteItemFromObjectCaseSensitive(d->tree, "reader");
	}
	import_found(d->out, IMPORT_CHANGED, "data_reader", NULL,
		     "the first name of the section reader: its keys are taken for that one's");
	first = cJSON_DetachItemFromObjectCaseSensitive(d->tree, "data_reader");
	if (!cJSON_AddItemToObject(d->tree, "reader", first)) {
		cJSON_Delete(first);
		dlio_no_memory(d);
	}
}

static bool generation_matches(const char *pattern, const char *path)
{
	size_t n = strcspn(pattern, "*");

	return strncmp(path, pattern, n) == 0 && (pattern[n] || !path[n]);
}

static bool generation_is_later(const struct dlio *d, bool model_text)
{
	for (const struct import_key *k = dlio_keys; k->path; k++) {
		if (!dlio_peek(d, k->path) || (model_text && strncmp(k->path, "model.", 6) == 0))
			continue;
		for (unsigned i = 0; i < COUNT(since_2025); i++)
			if (generation_matches(since_2025[i], k->path))
				return true;
	}
	return false;
}

static bool generation_is_before(const struct dlio *d, bool model_text)
{
	for (unsigned i = 0; i < COUNT(moves); i++)
		if (dlio_peek(d, moves[i].then))
			return true;
	for (unsigned i = 0; i < COUNT(before_2025); i++)
		if (dlio_peek(d, before_2025[i]))
			return true;
	return model_text;
}

/* Takes the value of a path out of the tree. */
static cJSON *generation_take(struct dlio *d, const char *path)
{
	cJSON *value = (cJSON *)dlio_peek(d, path);
	const char *dot = strchr(path, '.');
	cJSON *section;
	char name[IMPORT_KEY_BYTES] = "";

	strncat(name, path, (size_t)(dot - path));
	section = cJSON_GetObjectItemCaseSensitive(d->tree, name);
	return cJSON_DetachItemViaPointer(section, value);
}

/* Puts it at another path, whose sections are made where they are missing. */
static void generation_put(struct dlio *d, const char *path, cJSON *value)
{
	cJSON *section = d->tree, *next;
	char name[IMPORT_KEY_BYTES];
	const char *dot;

	for (; section && (dot = strchr(path, '.')); path = dot + 1) {
		name[0] = '\0';
		strncat(name, path, (size_t)(dot - path));
		next = cJSON_GetObjectItemCaseSensitive(section, name);
		if (next && !cJSON_IsObject(next)) {
			cJSON_DeleteItemFromObjectCaseSensitive(section, name);
			next = NULL;
		}
		section = next ? next : cJSON_AddObjectToObject(section, name);
	}
	cJSON_DeleteItemFromObjectCaseSensitive(section, path);
	if (!cJSON_AddItemToObject(section, path, value)) {
		cJSON_Delete(value);
		dlio_no_memory(d);
	}
}

static void generation_move(struct dlio *d, const struct generation_move *m, bool ignored)
{
	bool left = dlio_peek(d, m->now) != NULL || (ignored && d->as == IMPORT_AS_DLIO_BUGS);

	if (!dlio_peek(d, m->then))
		return;
	if (left)
		dlio_found(d, IMPORT_LEFT, m->then, "DLIO reads %s, not this key", m->now);
	else if (ignored)
		dlio_found(d, IMPORT_CHANGED, m->then,
			   "DLIO reads %s and ignores this key; haul takes it for that one",
			   m->now);
	if (left)
		return;
	dlio_written_as(d, m->now, m->then);
	generation_put(d, m->now, generation_take(d, m->then));
}

void generation_find(struct dlio *d, bool model_text)
{
	bool later = generation_is_later(d, model_text);
	bool before = !later && generation_is_before(d, model_text);

	d->generation = before ? DLIO_BEFORE_2025 : DLIO_LATER;
	generation_move(d, &between, false);
	for (unsigned i = 0; i < COUNT(moves); i++)
		if (!before || !moves[i].kept)
			generation_move(d, &moves[i], !before);
}
