/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing a job: checks the text, parses it, applies --set, and reads the tree. See job.h. */
#include "core/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file_read.h"
#include "core/job/internal.h"
#include "core/json.h"
#include "core/uri.h"

enum { JOB_STORE_SET_BYTES = 64 << 10 };

static int job_change_wrap(const struct job_changes *changes, unsigned i, int rc, struct err *err)
{
	return err_wrap(err, rc, "%s %.*s",
			i < changes->count - changes->swept ? "--set"
			: changes->option                   ? changes->option
							    : "--sweep",
			uri_change_shown(changes->items[i]), changes->items[i]);
}

/* Puts the last change that wrote the place of the error before the sentence, or else the file. */
static int job_blame(const char *source, const struct job_changes *changes, char *const *pointers,
		     int rc, struct err *err)
{
	const char *text = err ? err->text : "";
	unsigned i = changes->count;
	size_t n;

	while (i--) {
		n = strlen(pointers[i]);
		if (!strncmp(text, pointers[i], n) && (text[n] == ':' || text[n] == '/'))
			return job_change_wrap(changes, i, rc, err);
	}
	return err_wrap(err, rc, "%s", source);
}

static int job_from_tree(struct job *job, const struct job_schema *schema, const char *source,
			 cJSON *root, const struct job_changes *changes, struct err *err)
{
	char **pointers;
	unsigned i;
	int rc;

	if (!cJSON_IsObject(root))
		return err_set(err, -EINVAL, "%s: /: must be an object, is %s", source,
			       cJSON_IsArray(root) ? "a list" : "a bare value");
	rc = job_stand(schema, root, source, err);
	if (rc == 0)
		rc = job_go_way(root, changes, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s", source);
	pointers = arena_alloc(&job->arena, (changes->count + 1) * sizeof(*pointers));
	for (i = 0; i < changes->count && pointers; i++) {
		pointers[i] = arena_alloc(&job->arena, JOB_POINTER_BYTES);
		if (!pointers[i])
			break;
		rc = job_set(schema, root, changes->items[i], pointers[i], err);
		if (rc < 0)
			return job_change_wrap(changes, i, rc, err);
	}
	if (!pointers || i < changes->count)
		return err_set(err, -ENOMEM, "%s: no memory", source);
	rc = job_expand(schema, root, source, err);
	if (rc == 0)
		rc = job_read(job, schema, root, err);
	if (rc == 0)
		rc = job_read_phases(job, schema, cJSON_GetObjectItemCaseSensitive(root, "phases"),
				     err);
	return rc < 0 ? job_blame(source, changes, pointers, rc, err) : 0;
}

void job_free(struct job *job)
{
	arena_free(&job->arena);
	memset(job, 0, sizeof(*job));
}

int job_parse_changed(struct job *job, const struct job_schema *schema, const char *source,
		      const char *text, size_t length, const struct job_changes *changes,
		      struct err *err)
{
	cJSON *root;
	int rc;

	memset(job, 0, sizeof(*job));
	if (length > JOB_TEXT_MAX)
		return err_set(err, -EINVAL, "%s: is larger than %d MiB, the most a job may be",
			       source, JOB_TEXT_MAX >> 20);
	rc = json_parse(&root, text, length, JOB_DEPTH_MAX, JOB_VALUES_MAX, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s", source);
	rc = job_from_tree(job, schema, source, root, changes, err);
	cJSON_Delete(root);
	if (rc < 0)
		job_free(job);
	return rc;
}

int job_parse(struct job *job, const struct job_schema *schema, const char *source,
	      const char *text, size_t length, const char *const *sets, unsigned set_count,
	      struct err *err)
{
	struct job_changes changes = {.items = sets, .count = set_count};

	return job_parse_changed(job, schema, source, text, length, &changes, err);
}

int job_read_file(const char *path, char **text, size_t *length, struct err *err)
{
	int rc = file_read(path, JOB_TEXT_MAX, text, length, err);

	return rc < 0 ? err_wrap(err, rc, "%s", path) : 0;
}

int job_load(struct job *job, const struct job_schema *schema, const char *path,
	     const char *const *sets, unsigned set_count, struct err *err)
{
	size_t length = 0;
	char *text = NULL;
	int rc;

	memset(job, 0, sizeof(*job));
	rc = job_read_file(path, &text, &length, err);
	if (rc < 0)
		return rc;
	rc = job_parse(job, schema, path, text, length, sets, set_count, err);
	free(text);
	return rc;
}

/* Messages and --set use paths that name a store; here it has no name of its own. */
int job_parse_store(struct job *job, const struct job_schema *schema, const char *uri,
		    const char *const *sets, unsigned set_count, struct err *err)
{
	char set[JOB_STORE_SET_BYTES], pointer[JOB_POINTER_BYTES];
	cJSON *root = cJSON_CreateObject(), *stores = cJSON_AddObjectToObject(root, "stores");
	cJSON *store = cJSON_AddObjectToObject(stores, "store");
	int rc = 0;

	memset(job, 0, sizeof(*job));
	if (!cJSON_AddStringToObject(store, "uri", uri))
		rc = err_set(err, -ENOMEM, "no memory for the store");
	for (unsigned i = 0; rc == 0 && i < set_count; i++) {
		if (snprintf(set, sizeof(set), "stores.store.%s", sets[i]) >= (int)sizeof(set))
			rc = err_set(err, -EINVAL, "is longer than a value may be");
		else
			rc = job_set(schema, root, set, pointer, err);
		if (rc < 0)
			err_wrap(err, rc, "--set %.*s", uri_change_shown(sets[i]), sets[i]);
	}
	if (rc == 0)
		rc = job_read_stores(job, schema, stores, err);
	cJSON_Delete(root);
	if (rc < 0)
		job_free(job);
	return rc;
}
