/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing of the DLIO import: the bytes up to the first zero byte are a workload file, and each
 * text after a zero byte is an override. The import must refuse them with a sentence, or make a job
 * that is JSON and give a reason for each finding. The first text is also read as a list of
 * overrides. */
#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "import/dlio/import_dlio.h"
#include "import/overrides.h"

enum { OVERRIDES = 8, DEPTH = 32, VALUES = 1 << 17 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct import *found)
{
	char *text = json_print(found->job);
	struct err err = {0};

	if (!text || json_check(text, strlen(text), DEPTH, VALUES, &err) < 0)
		abort();
	for (uint32_t i = 0; i < found->count; i++)
		if (!found->findings[i].why[0])
			abort();
	free(text);
}

static void import_text(const char *text, size_t length, const char *const *overrides,
			unsigned count, enum import_as as)
{
	struct import found;
	struct err err = {0};

	const struct import_given given = {
		.overrides = overrides, .override_count = count, .as = as};

	if (import_dlio(&found, "fuzz", text, length, &given, &err) == 0)
		check(&found);
	else if (!err.text[0])
		abort();
	import_free(&found);
}

static void import_list(const char *text, size_t length)
{
	struct err err = {0};
	cJSON *list = NULL, *item;

	if (override_list_read(&list, text, length, &err) == 0) {
		cJSON_ArrayForEach(item, list)
		{
			if (!cJSON_IsString(item))
				abort();
		}
	} else if (!err.text[0] || list) {
		abort();
	}
	cJSON_Delete(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *overrides[OVERRIDES];
	unsigned count = 0;
	size_t length;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	length = strlen(text);
	for (size_t at = length + 1; at < size && count < OVERRIDES; at += strlen(text + at) + 1)
		overrides[count++] = text + at;
	import_list(text, length);
	import_text(text, length, overrides, count,
		    size & 1 ? IMPORT_AS_DLIO_BUGS : IMPORT_AS_MEANT);
	free(text);
	return 0;
}
