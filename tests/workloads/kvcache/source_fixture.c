/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a request source: see source_fixture.h. */
#include "tests/workloads/kvcache/source_fixture.h"

#include <cjson/cJSON.h>

#include "core/arena.h"
#include "tests/unit.h"

int source_options_read(struct kv_source_options *o, const char *json, struct err *err)
{
	const struct option *const tables[] = {kv_source_options_table, NULL};
	struct arena arena = {0};
	cJSON *object = cJSON_Parse(json);
	int rc;

	CU_ASSERT_PTR_NOT_NULL_FATAL(object);
	rc = options_parse(tables, o, object, "/kvcache", &arena, err);
	if (rc == 0)
		rc = kv_source_check(o, "/kvcache", err);
	cJSON_Delete(object);
	arena_free(&arena);
	return rc;
}

void source_fixture_open(struct source_fixture *f, const char *json, uint64_t seed)
{
	struct err err = {0};

	f->model = (struct model){.attention = MODEL_GQA,
				  .type = MODEL_FP16,
				  .layers = 32,
				  .hidden = 4096,
				  .heads = 32,
				  .kv_heads = 8};
	CU_ASSERT_EQUAL_FATAL(kv_model_check(&f->model, "/model", &err), 0);
	CU_ASSERT_EQUAL_FATAL(source_options_read(&f->options, json, &err), 0);
	CU_ASSERT_EQUAL_FATAL(
		kv_source_open(&f->source, &f->options, &f->model, seed, 0, "/kvcache", &err), 0);
}
