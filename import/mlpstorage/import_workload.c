/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads of an edition as jobs: see import_workload.h. */
#include "import/mlpstorage/import_workload.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/json.h"
#include "import/dlio/import_dlio.h"
#include "import/kvcache/import_kvcache.h"

enum { WORKLOAD_NAME_BYTES = 64, FLAGS_MOST = 16, FLAG_BYTES = 1200 };

int import_workload(struct import *out, const struct edition_workload *w,
		    const struct import_changes *changes, struct err *err)
{
	const struct import_given given = {.overrides = changes->overrides,
					   .override_count = changes->count,
					   .as = IMPORT_AS_MEANT,
					   .editions = w->of};
	const char *on = changes->generates ? "datagen" : changes->accelerator;
	char name[WORKLOAD_NAME_BYTES];

	snprintf(name, sizeof(name), "%s%s%s", w->name, on ? "_" : "", on ? on : "");
	for (char *at = name; *at; at++)
		*at = *at == '-' ? '_' : *at;
	return import_dlio_tree(out, name,
				edition_parameters(w, changes->accelerator, changes->generates),
				&given, err);
}

static int import_option(struct import *out, const cJSON *option, const char *folder,
			 struct err *err)
{
	const cJSON *flag, *after = cJSON_GetObjectItemCaseSensitive(option, "after");
	char texts[FLAGS_MOST][FLAG_BYTES];
	const char *list[FLAGS_MOST];
	unsigned count = 0;
	cJSON *phase;
	int rc;

	cJSON_ArrayForEach(flag, cJSON_GetObjectItemCaseSensitive(option, "flags"))
	{
		char *value = count < FLAGS_MOST - 1 ? json_print_line(flag) : NULL;

		if (!value)
			return err_set(err, -ENOMEM, "no memory for the flags");
		snprintf(texts[count], FLAG_BYTES, "%s=%s", flag->string,
			 cJSON_IsString(flag) ? flag->valuestring : value);
		free(value);
		list[count] = texts[count];
		count++;
	}
	if (folder) {
		snprintf(texts[count], FLAG_BYTES, "cache-dir=%s", folder);
		list[count] = texts[count];
		count++;
	}
	rc = import_kvcache(out, "kvcache_mlperf", "", 0, list, count, err);
	if (rc < 0)
		return rc;
	phase = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(out->job, "phases"), 0),
		"kvcache");
	for (unsigned i = 0; i < 2; i++) {
		const char *key = i ? "folder" : "name";
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(option, key);

		cJSON_AddItemToObject(phase, key, cJSON_Duplicate(value, true));
	}
	if (after)
		cJSON_AddItemToObject(phase, "after", cJSON_Duplicate(after, true));
	return 0;
}

int import_cache_options(struct import *out, const struct edition_workload *benchmark,
			 const char *folder, struct err *err)
{
	cJSON *phases = NULL;
	const cJSON *option;
	struct import one;
	int rc = 0;

	*out = (struct import){0};
	cJSON_ArrayForEach(option, edition_member(benchmark, "options"))
	{
		rc = rc == 0 ? import_option(&one, option, folder, err) : rc;
		if (rc < 0)
			break;
		if (!out->job) {
			*out = one;
			phases = cJSON_GetObjectItemCaseSensitive(out->job, "phases");
			continue;
		}
		cJSON_AddItemToArray(
			phases, cJSON_DetachItemFromArray(
					cJSON_GetObjectItemCaseSensitive(one.job, "phases"), 0));
		import_free(&one);
	}
	if (rc == 0 && !out->job)
		rc = err_set(err, -EINVAL, "the edition has no options of caches");
	return rc;
}
