/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of DLIO before February 2025: each rank that writes saves a state of model_size
 * bytes; the groups of the optimizer, each twice and all of them once more; and one file per layer
 * with all of layer_parameters. Its documentation has no parameters of layers where none are given,
 * its code has those below. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "import/dlio/parts.h"

#define EARLY_SETTINGS "checkpoint."
enum { EARLY_GROUP_COPIES = 3, CODE_LAYER_BYTES = 17371 + 24740228, EARLY_ZERO_ALL = 3 };

static double early_sum(struct dlio *d, const char *path)
{
	const cJSON *item;
	double sum = 0;

	cJSON_ArrayForEach(item, dlio_at(d, path))
	{
		if (!cJSON_IsNumber(item) || item->valuedouble < 0)
			dlio_refuse(d, "%s: must be a list of whole numbers of 0 or more", path);
		else
			sum += floor(item->valuedouble);
	}
	return sum;
}

/* All layers together. With tensor parallelism there are as many files more. */
static double early_layers(struct dlio *d)
{
	bool counted = dlio_at(d, EARLY_SETTINGS "num_layers"),
	     given = dlio_at(d, EARLY_SETTINGS "layer_parameters");
	double layers = dlio_number(d, EARLY_SETTINGS "num_layers");
	double tensor = dlio_number(d, EARLY_SETTINGS "tensor_parallelism");
	double bytes = given ? early_sum(d, EARLY_SETTINGS "layer_parameters") : CODE_LAYER_BYTES;

	if (layers < 1 || (!given && !counted && d->as == IMPORT_AS_MEANT))
		return 0;
	return (layers + (tensor > 1 ? tensor : 0)) * bytes;
}

static bool early_all_ranks(struct dlio *d)
{
	const char *type = dlio_text(d, EARLY_SETTINGS "type");
	/* What it was called in the files of 2023. */
	bool independent = strcmp(type, "independent") == 0;

	if (strcmp(type, "all_ranks") != 0 && strcmp(type, "rank_zero") != 0 && !independent)
		dlio_refuse(d, EARLY_SETTINGS "type: must be rank_zero or all_ranks, is \"%.32s\"",
			    type);
	if (independent)
		dlio_found(d, IMPORT_CHANGED, EARLY_SETTINGS "type",
			   "later versions of DLIO call it all_ranks, and refuse this name");
	return strcmp(type, "all_ranks") == 0 || independent;
}

/* What a rank writes; of layers, its share, since only the ranks of the first stage of a pipeline
 * write them. */
static double early_rank_bytes(struct dlio *d, bool all)
{
	double stages = all ? fmax(dlio_number(d, EARLY_SETTINGS "pipeline_parallelism"), 1) : 1;
	double layers = early_layers(d);

	if (stages > 1 && layers > 0)
		dlio_found(
			d, IMPORT_CHANGED, EARLY_SETTINGS "pipeline_parallelism",
			"DLIO writes layers on one of %.0f ranks; haul has each of them write a share",
			stages);
	return floor(dlio_number(d, EARLY_SETTINGS "model_size")) +
	       EARLY_GROUP_COPIES * early_sum(d, EARLY_SETTINGS "optimization_groups") +
	       floor(layers / stages);
}

bool dlio_early_model_has_size(struct dlio *d)
{
	return floor(dlio_number(d, EARLY_SETTINGS "model_size")) +
		       early_sum(d, EARLY_SETTINGS "optimization_groups") + early_layers(d) >=
	       1;
}

void dlio_add_early_model(struct dlio *d, struct cJSON *phase)
{
	bool all = early_all_ranks(d);
	double bytes = early_rank_bytes(d, all);
	cJSON *model = cJSON_AddObjectToObject(phase, "model");
	cJSON *mesh = cJSON_AddObjectToObject(phase, "mesh");

	(void)dlio_at(d, EARLY_SETTINGS "pipeline_parallelism");
	cJSON_AddNumberToObject(model, "bytes", bytes);
	cJSON_AddNumberToObject(mesh, "tensor", 1);
	cJSON_AddNumberToObject(mesh, "pipeline", 1);
	cJSON_AddNumberToObject(mesh, "zero", all ? EARLY_ZERO_ALL : 0);
	cJSON_AddStringToObject(phase, "layout", "rank");
	dlio_found(d, IMPORT_CHANGED,
		   dlio_at(d, EARLY_SETTINGS "layer_parameters") ? EARLY_SETTINGS "layer_parameters"
		   : dlio_at(d, EARLY_SETTINGS "optimization_groups") ? EARLY_SETTINGS
			   "optimization_groups"
								      : EARLY_SETTINGS "model_size",
		   "as DLIO of before February 2025 takes it: %s writes one state of %.0f bytes",
		   all ? "each rank" : "rank 0", bytes);
}
