/* SPDX-License-Identifier: Apache-2.0 */
/* Options that name a file of other options: see options_expand. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/file_read.h"
#include "core/option/internal.h"

enum { EXPAND_FILE_MAX = 4 << 20, EXPAND_NAME_BYTES = 4096 };

/* A relative path is first looked for in the folder. */
static int expand_read(const char *name, const char *folder, char **text, size_t *length,
		       struct err *err)
{
	char path[EXPAND_NAME_BYTES];
	int rc = -ENOENT;

	if (folder && name[0] != '/' &&
	    snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path))
		rc = file_read(path, EXPAND_FILE_MAX, text, length, err);
	if (rc == -ENOENT)
		rc = file_read(name, EXPAND_FILE_MAX, text, length, err);
	if (rc == 0 && *length > EXPAND_FILE_MAX) {
		free(*text);
		rc = err_set(err, -EINVAL, "is larger than %d MiB", EXPAND_FILE_MAX >> 20);
	}
	return rc;
}

static int expand_option(const struct option *o, cJSON *object, const char *path,
			 const char *folder, struct err *err)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(object, o->name);
	char where[OPTION_PATH_BYTES], *text;
	size_t length;
	int rc;

	/* What is no path is refused where the object is parsed. */
	if (!cJSON_IsString(item) || !item->valuestring[0])
		return 0;
	option_path(where, path, o->name);
	rc = expand_read(item->valuestring, folder, &text, &length, err);
	if (rc == 0) {
		rc = o->expand(object, text, length, err);
		free(text);
	}
	if (rc < 0)
		return err_wrap(err, rc, "%s: %.200s", where, item->valuestring);
	cJSON_Delete(cJSON_DetachItemViaPointer(object, item));
	return 0;
}

int options_expand(const struct option *const *tables, cJSON *object, const char *path,
		   const char *folder, struct err *err)
{
	int rc = 0;

	for (; *tables && rc == 0; tables++)
		for (const struct option *o = *tables; o->name && rc == 0; o++) {
			const struct option *const inner[] = {o->table, NULL};
			cJSON *item = cJSON_GetObjectItemCaseSensitive(object, o->name);
			char where[OPTION_PATH_BYTES];

			option_path(where, path, o->name);
			if (o->expand)
				rc = expand_option(o, object, path, folder, err);
			else if (o->kind == OPTION_TABLE && cJSON_IsObject(item))
				rc = options_expand(inner, item, where, folder, err);
		}
	return rc;
}
