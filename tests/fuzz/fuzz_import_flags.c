/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing of the imports that take a file with flags, of kvcache, torchtitan and vdbbench: the bytes up to
 * the first zero byte are the file, and each text after a zero byte is a flag. An import must refuse
 * them with a sentence, or make a job that is JSON and give a reason for each finding. */
#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "import/kvcache/import_kvcache.h"
#include "import/torchtitan/import_torchtitan.h"
#include "import/vdbbench/import_vdbbench.h"

enum { FLAGS = 8, DEPTH = 32, VALUES = 1 << 17 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int rc, const struct import *found, const struct err *err)
{
	char *text;
	struct err none = {0};

	if (rc < 0) {
		if (!err->text[0])
			abort();
		return;
	}
	text = json_print(found->job);
	if (!text || json_check(text, strlen(text), DEPTH, VALUES, &none) < 0)
		abort();
	for (uint32_t i = 0; i < found->count; i++)
		if (!found->findings[i].why[0])
			abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *flags[FLAGS];
	struct import found;
	struct err err = {0};
	unsigned count = 0;
	size_t length;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	length = strlen(text);
	for (size_t at = length + 1; at < size && count < FLAGS; at += strlen(text + at) + 1)
		flags[count++] = text + at;
	check(import_vdbbench(&found, "fuzz", text, length, flags, count, &err), &found, &err);
	import_free(&found);
	err = (struct err){0};
	check(import_kvcache(&found, "fuzz", text, length, flags, count, &err), &found, &err);
	import_free(&found);
	err = (struct err){0};
	check(import_torchtitan(&found, "fuzz", text, length, flags, count, &err), &found, &err);
	import_free(&found);
	free(text);
	return 0;
}
