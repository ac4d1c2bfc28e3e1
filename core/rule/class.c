/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a class: see class.h. */
#include "core/rule/class.h"

#include <cjson/cJSON.h>
#include <stdio.h>

#include "core/json.h"

void class_say(char *text, size_t bytes, const struct workload_class *c)
{
	if (!*c->hash)
		snprintf(text, bytes, "not told: this haul was built without libcrypto");
	else
		snprintf(text, bytes, "%s, that of %s%s%s", c->hash,
			 *c->of ? c->of : "no published workload",
			 *c->editions ? ", edition "
			 : *c->of     ? ", a what-if"
				      : "",
			 c->editions);
}

void class_json(struct cJSON *to, const struct workload_class *classes, uint32_t count)
{
	cJSON *list = cJSON_AddArrayToObject(to, "classes");

	for (uint32_t i = 0; i < count; i++) {
		cJSON *one = json_object();

		json_add_text(one, "phase", classes[i].phase);
		json_add_text(one, "hash", classes[i].hash);
		json_add_text(one, "of", classes[i].of);
		json_add_text(one, "editions", classes[i].editions);
		cJSON_AddItemToArray(list, one);
	}
}
