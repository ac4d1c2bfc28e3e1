/* SPDX-License-Identifier: Apache-2.0 */
/* Options of phases that name a file of options, such as the config.json of a model: what the file
 * says takes their place in the tree before the job is read. So the resolved text of a job has no
 * such files, and all ranks have the same values. */
#include <stdio.h>
#include <string.h>

#include "core/job/internal.h"

enum { EXPAND_FOLDER_BYTES = 4096 };

static int expand_phase(const struct job_schema *schema, cJSON *item, const char *where,
			const char *folder, struct err *err)
{
	char path[JOB_POINTER_BYTES];

	if (!cJSON_IsObject(item) || !cJSON_IsObject(item->child))
		return 0;
	for (const struct section *const *s = schema->phases; *s; s++)
		if (strcmp((*s)->name, item->child->string) == 0) {
			job_member_path(path, where, item->child->string);
			return options_expand((*s)->tables, item->child, path, folder, err);
		}
	return 0;
}

int job_expand(const struct job_schema *schema, cJSON *root, const char *source, struct err *err)
{
	cJSON *phases = cJSON_GetObjectItemCaseSensitive(root, "phases"), *entry, *item;
	const char *slash = strrchr(source, '/');
	char folder[EXPAND_FOLDER_BYTES], where[48];
	unsigned i = 0, k;
	int rc = 0;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - source) : 0, source);
	cJSON_ArrayForEach(entry, phases)
	{
		cJSON *together = cJSON_GetObjectItemCaseSensitive(entry, JOB_TOGETHER);

		snprintf(where, sizeof(where), "/phases/%u", i);
		if (!cJSON_IsArray(together))
			rc = expand_phase(schema, entry, where, slash ? folder : NULL, err);
		k = 0;
		cJSON_ArrayForEach(item, together)
		{
			snprintf(where, sizeof(where), "/phases/%u/" JOB_TOGETHER "/%u", i, k++);
			if (rc == 0)
				rc = expand_phase(schema, item, where, slash ? folder : NULL, err);
		}
		if (rc < 0)
			return rc;
		i++;
	}
	return 0;
}
