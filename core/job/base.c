/* SPDX-License-Identifier: Apache-2.0 */
/* A job that stands on another: "base" names a file in the same folder, whose keys count where the
 * job has none of that name, and "set" is a list of changes to it, as --set gives them. See
 * internal.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file_read.h"
#include "core/job/internal.h"
#include "core/json.h"

enum { BASE_PATH_BYTES = 4096 };

static int base_path(char path[BASE_PATH_BYTES], const cJSON *base, const char *source,
		     struct err *err)
{
	const char *slash = strrchr(source, '/'), *name = cJSON_GetStringValue(base);

	if (!name || !*name || strchr(name, '/'))
		return job_refuse_shape(base, "/base",
					"the name of a file in the same folder as the job", err);
	if (snprintf(path, BASE_PATH_BYTES, "%.*s%s", slash ? (int)(slash + 1 - source) : 0, source,
		     name) >= BASE_PATH_BYTES)
		return err_set(err, -ENAMETOOLONG, "/base: the path is too long");
	return 0;
}

static int base_read(cJSON **tree, const char *path, struct err *err)
{
	size_t length = 0;
	char *text = NULL;
	int rc = file_read(path, JOB_TEXT_MAX, &text, &length, err);

	if (rc == 0)
		rc = json_parse(tree, text, length, JOB_DEPTH_MAX, JOB_VALUES_MAX, err);
	if (rc == 0 && !cJSON_IsObject(*tree))
		rc = job_refuse_shape(*tree, "/", "an object", err);
	if (rc == 0 && cJSON_GetObjectItemCaseSensitive(*tree, "base"))
		rc = err_set(err, -EINVAL, "/base: the base of a job has none itself");
	free(text);
	return rc < 0 ? err_wrap(err, rc, "/base: %s", path) : 0;
}

/* What the job has itself stays. */
static void base_move(cJSON *root, cJSON *base)
{
	for (cJSON *next, *key = base ? base->child : NULL; key; key = next) {
		next = key->next;
		if (!cJSON_GetObjectItemCaseSensitive(root, key->string))
			cJSON_AddItemToObject(root, key->string,
					      cJSON_DetachItemViaPointer(base, key));
	}
}

static int base_set(const struct job_schema *schema, cJSON *root, const cJSON *sets,
		    struct err *err)
{
	char pointer[JOB_POINTER_BYTES];
	const cJSON *set;
	unsigned i = 0;
	int rc = 0;

	if (sets && !cJSON_IsArray(sets))
		return job_refuse_shape(sets, "/set", "a list of changes such as \"train.batch=4\"",
					err);
	cJSON_ArrayForEach(set, sets)
	{
		if (!cJSON_IsString(set))
			rc = job_refuse_shape(set, "/set", "a list of texts", err);
		else
			rc = job_set(schema, root, set->valuestring, pointer, err);
		if (rc < 0)
			return err_wrap(err, rc, "/set/%u", i);
		i++;
	}
	return 0;
}

int job_stand(const struct job_schema *schema, cJSON *root, const char *source, struct err *err)
{
	cJSON *named = cJSON_DetachItemFromObjectCaseSensitive(root, "base");
	cJSON *sets = cJSON_DetachItemFromObjectCaseSensitive(root, "set"), *base = NULL;
	char path[BASE_PATH_BYTES];
	int rc = 0;

	if (sets && !named)
		rc = err_set(err, -EINVAL, "/set: is only of a job with \"base\"");
	if (rc == 0 && named)
		rc = base_path(path, named, source, err);
	if (rc == 0 && named)
		rc = base_read(&base, path, err);
	if (rc == 0 && named) {
		base_move(root, base);
		rc = base_set(schema, root, sets, err);
	}
	cJSON_Delete(base);
	cJSON_Delete(named);
	cJSON_Delete(sets);
	return rc;
}
