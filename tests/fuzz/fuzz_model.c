/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of published config.json: any bytes end in a description of a model or in a
 * sentence. A description is then checked as that of a job is, and where it is one, its parameters
 * are counted. */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/option/option.h"
#include "workloads/model/config.h"
#include "workloads/model/kv_model.h"
#include "workloads/model/tensors.h"

enum { KV_TOKENS = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* What phases ask of a model that has passed the checks. */
static void use_tensors(const struct model *m)
{
	struct shard_matrix x;
	struct tensors_layout l;
	char name[TENSOR_NAME_BYTES];
	uint32_t kinds = 0;

	for (unsigned c = 0; c < TENSORS_CLASSES; c++) {
		if (!tensors_class_layers(m, c, model_layer_count(m)))
			continue;
		tensors_layout(m, c, &l);
		kinds += l.count;
		for (uint32_t kind = 0; kind < l.count; kind++) {
			tensors_matrix(m, c, kind, &x);
			tensors_name(m, 1, &x, 0, name);
			must(name[0]);
		}
	}
	must(kinds <= TENSOR_KINDS_MAX);
	must((double)model_parameters(m) <= 1.001 * model_parameters_most(m));
	model_weight_bytes(m);
}

static void check_as_job(const cJSON *object)
{
	static const struct option *const tables[] = {model_options, NULL};
	struct arena arena = {0};
	struct err err = {0};
	struct model m = {.layers = 0};

	if (options_parse(tables, &m, object, "/model", &arena, &err) < 0) {
		must(err.text[0]);
	} else {
		err.text[0] = '\0';
		if (model_check(&m, "/model", &err) == 0)
			use_tensors(&m);
		else
			must(err.text[0]);
		err.text[0] = '\0';
		if (kv_model_check(&m, "/model", &err) == 0)
			must(kv_model_bytes(&m, 2 * KV_TOKENS) >= kv_model_bytes(&m, KV_TOKENS));
		else
			must(err.text[0]);
	}
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cJSON *object = cJSON_CreateObject();
	struct err err = {0};

	if (!object)
		return 0;
	if (model_config_expand(object, (const char *)data, size, &err) == 0)
		check_as_job(object);
	else
		must(err.text[0]);
	cJSON_Delete(object);
	return 0;
}
