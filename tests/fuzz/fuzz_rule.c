/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of rules and the engine that judges by them: any bytes end in rules or in a
 * sentence, and each rule judges any tree, here the rules' own text, in words that fit. */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/rule/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void judge_all(const struct rules *r, const cJSON *tree)
{
	for (uint32_t i = 0; i < r->count; i++) {
		struct rule_verdict v;

		if (!rule_judge(&r->rules[i], tree, &v))
			continue;
		must(v.rule == &r->rules[i] && v.state < RULE_STATES);
		must(v.sentence[0] && strlen(v.sentence) < RULE_SENTENCE_BYTES);
		must((v.state == RULE_BROKEN) == (rule_category(&v) != RULE_CLOSED));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rules *r = malloc(sizeof(*r));
	struct err err = {0};

	if (!r)
		return 0;
	if (rules_parse(r, (const char *)data, size, &err) == 0) {
		cJSON *tree = cJSON_ParseWithLength((const char *)data, size);

		judge_all(r, tree);
		cJSON_Delete(tree);
	} else {
		must(err.text[0]);
	}
	rules_free(r);
	free(r);
	return 0;
}
