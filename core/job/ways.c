/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to the storage: a job's "ways" has, for each, stores that take the place of the job's own,
 * and variables of the environment that whoever starts the ranks sets. See job.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/job/internal.h"
#include "core/json.h"

static int ways_check(const cJSON *way, const char *path, struct err *err)
{
	char at[JOB_POINTER_BYTES], quoted[JSON_QUOTE_BYTES];
	const cJSON *part, *one;

	if (!cJSON_IsObject(way))
		return job_refuse_shape(way, path, "an object", err);
	cJSON_ArrayForEach(part, way)
	{
		bool env = strcmp(part->string, "env") == 0;

		if (!env && strcmp(part->string, "stores") != 0)
			return err_set(err, -EINVAL,
				       "%s: unknown key %s; a way has \"stores\" and \"env\"", path,
				       json_quote(quoted, part->string));
		snprintf(at, sizeof(at), "%.200s/%s", path, part->string);
		if (!cJSON_IsObject(part))
			return job_refuse_shape(part, at, "an object", err);
		cJSON_ArrayForEach(one, part)
		{
			if (env ? !cJSON_IsString(one) : !cJSON_IsObject(one))
				return job_refuse_shape(
					one, at,
					env ? "an object of strings" : "an object of stores", err);
			if (env && (!one->string[0] || strpbrk(one->string, "= \t\n") ||
				    strpbrk(one->valuestring, "\t\n")))
				return err_set(err, -EINVAL, "%s: %s is no variable of one line",
					       at, json_quote(quoted, one->string));
		}
	}
	return 0;
}

static int ways_check_all(const cJSON *ways, struct err *err)
{
	char path[JOB_POINTER_BYTES];
	const cJSON *way;
	int rc = 0;

	if (!cJSON_IsObject(ways) || !ways->child)
		return job_refuse_shape(ways, "/ways", "an object of ways", err);
	if (cJSON_GetArraySize(ways) > JOB_WAYS_MAX)
		return err_set(err, -EINVAL, "/ways: must hold at most %d ways", JOB_WAYS_MAX);
	for (way = ways->child; rc == 0 && way; way = way->next) {
		job_member_path(path, "/ways", way->string);
		rc = job_check_name(way->string, path, err);
		if (rc == 0)
			rc = ways_check(way, path, err);
	}
	return rc;
}

/* The way that the tree, or the last change, names; NULL: none. */
static const char *ways_chosen(const cJSON *root, const struct job_changes *changes)
{
	const char *named = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "way"));

	for (unsigned i = 0; i < changes->count; i++)
		if (strncmp(changes->items[i], "way=", 4) == 0)
			named = changes->items[i] + 4;
	return named && *named ? named : NULL;
}

static int ways_unknown(const cJSON *ways, const char *named, struct err *err)
{
	char known[512] = "";
	const cJSON *way;

	cJSON_ArrayForEach(way, ways)
	{
		size_t n = strlen(known);

		snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", way->string);
	}
	return err_set(err, -EINVAL, "/way: \"%.64s\" is none of the job's ways: %s", named, known);
}

/* Stores of the way take the place of the job's, or stand beside them. */
static int ways_go(cJSON *root, const cJSON *way, struct err *err)
{
	cJSON *stores = cJSON_GetObjectItemCaseSensitive(root, "stores"), *copy;
	const cJSON *store;

	if (!stores)
		stores = cJSON_AddObjectToObject(root, "stores");
	cJSON_ArrayForEach(store, cJSON_GetObjectItemCaseSensitive(way, "stores"))
	{
		copy = cJSON_Duplicate(store, true);
		if (!stores || !copy)
			return err_set(err, -ENOMEM, "no memory for the job's ways");
		cJSON_DeleteItemFromObjectCaseSensitive(stores, store->string);
		if (!cJSON_AddItemToObject(stores, store->string, copy)) {
			cJSON_Delete(copy);
			return err_set(err, -ENOMEM, "no memory for the job's ways");
		}
	}
	return 0;
}

int job_go_way(cJSON *root, const struct job_changes *changes, struct err *err)
{
	cJSON *ways = cJSON_DetachItemFromObjectCaseSensitive(root, "ways");
	const char *named = ways_chosen(root, changes);
	const cJSON *way = named ? cJSON_GetObjectItemCaseSensitive(ways, named) : NULL;
	int rc = ways ? ways_check_all(ways, err) : 0;

	if (rc == 0 && ways && named && !way)
		rc = ways_unknown(ways, named, err);
	if (rc == 0 && way)
		rc = ways_go(root, way, err);
	cJSON_Delete(ways);
	return rc;
}

int job_write_ways(FILE *out, const char *source, const char *text, size_t length, struct err *err)
{
	const cJSON *way, *one, *ways;
	cJSON *root;
	int rc = json_parse(&root, text, length, JOB_DEPTH_MAX, JOB_VALUES_MAX, err);

	if (rc < 0)
		return err_wrap(err, rc, "%s", source);
	ways = cJSON_GetObjectItemCaseSensitive(root, "ways");
	rc = ways ? ways_check_all(ways, err) : 0;
	if (rc < 0)
		err_wrap(err, rc, "%s", source);
	for (way = rc == 0 && ways ? ways->child : NULL; way; way = way->next) {
		fputs(way->string, out);
		cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(way, "env"))
		{
			fprintf(out, "\t%s=%s", one->string, one->valuestring);
		}
		fputc('\n', out);
	}
	cJSON_Delete(root);
	return rc;
}
