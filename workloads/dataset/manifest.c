/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest as JSON:
 *
 *	{"haul_manifest": 1, "made_by": "haul 0.1.0", "complete": true, "seed": "42",
 *	 "dataset": {the data set's options as in a job, without its store}}
 */
#include "workloads/dataset/manifest.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/option/option.h"
#include "haul_build.h"
#include "workloads/common/small_object.h"

enum { MANIFEST_DEPTH = 4, MANIFEST_VALUES = 256 };

void manifest_of(struct manifest *m, const struct dataset *d, bool complete)
{
	memset(m, 0, sizeof(*m));
	m->dataset = d->options;
	memset(m->dataset.store, 0, sizeof(m->dataset.store));
	m->dataset.files = d->set_files;
	m->dataset.files_per_rank = m->dataset.steps_per_epoch = m->dataset.memories = 0;
	m->seed = d->seed;
	m->layout = MANIFEST_LAYOUT;
	m->complete = complete;
	snprintf(m->generated_by, sizeof(m->generated_by), "haul %s", HAUL_VERSION);
}

void manifest_key(const char *folder, char key[OBJECT_KEY_BYTES])
{
	snprintf(key, OBJECT_KEY_BYTES, "%s%s.haul-manifest.json", folder, folder[0] ? "/" : "");
}

static int manifest_parse_seed(uint64_t *seed, const cJSON *value, struct err *err)
{
	const char *text = cJSON_GetStringValue(value);
	char *end;

	if (!text || text[0] < '0' || text[0] > '9')
		return err_set(err, -EINVAL, "\"seed\" must be a whole number in quotes");
	errno = 0;
	*seed = strtoull(text, &end, 10);
	if (errno || *end)
		return err_set(err, -EINVAL, "\"seed\" must be a whole number in quotes");
	return 0;
}

static int manifest_parse_head(struct manifest *m, const cJSON *root, struct err *err)
{
	const cJSON *layout = cJSON_GetObjectItemCaseSensitive(root, "haul_manifest");
	const cJSON *generated_by = cJSON_GetObjectItemCaseSensitive(root, "made_by");
	const cJSON *complete = cJSON_GetObjectItemCaseSensitive(root, "complete");

	if (!cJSON_IsNumber(layout) || layout->valuedouble < 1 || layout->valuedouble > 1000000)
		return err_set(err, -EINVAL, "has no \"haul_manifest\": it is none");
	if (!cJSON_IsString(generated_by) || !cJSON_IsBool(complete))
		return err_set(err, -EINVAL, "lacks \"made_by\" or \"complete\"");
	m->layout = (uint64_t)layout->valuedouble;
	m->complete = cJSON_IsTrue(complete);
	snprintf(m->generated_by, sizeof(m->generated_by), "%s", generated_by->valuestring);
	return manifest_parse_seed(&m->seed, cJSON_GetObjectItemCaseSensitive(root, "seed"), err);
}

int manifest_parse(struct manifest *m, const char *text, size_t length, struct err *err)
{
	const cJSON *dataset;
	cJSON *root = NULL;
	int rc;

	memset(m, 0, sizeof(*m));
	if (length > MANIFEST_TEXT_MAX)
		return err_set(err, -EINVAL, "is larger than a manifest");
	rc = json_parse(&root, text, length, MANIFEST_DEPTH, MANIFEST_VALUES, err);
	if (rc < 0)
		return rc;
	rc = manifest_parse_head(m, root, err);
	if (rc < 0)
		goto out_delete;
	dataset = cJSON_GetObjectItemCaseSensitive(root, "dataset");
	if (!cJSON_IsObject(dataset)) {
		rc = err_set(err, -EINVAL, "has no \"dataset\"");
		goto out_delete;
	}
	rc = options_parse(dataset_section.tables, &m->dataset, dataset, "/dataset", &m->arena,
			   err);
	/* A job may leave the number to others of its options; a data set that was made has one. */
	if (rc == 0 && m->dataset.files == 0)
		rc = err_set(err, -EINVAL, "/dataset/files: is 0");
	if (rc == 0 && dataset_is_existing(&m->dataset))
		rc = err_set(err, -EINVAL,
			     "/dataset/names: describes files that haul did not make");
out_delete:
	if (rc < 0)
		manifest_free(m);
	cJSON_Delete(root);
	return rc;
}

char *manifest_text(const struct manifest *m)
{
	cJSON *dataset = options_to_json(dataset_section.tables, &m->dataset);
	cJSON *root = cJSON_CreateObject();
	char *text = NULL;
	char seed[24];

	snprintf(seed, sizeof(seed), "%" PRIu64, m->seed);
	if (dataset && root && cJSON_AddNumberToObject(root, "haul_manifest", (double)m->layout) &&
	    cJSON_AddStringToObject(root, "made_by", m->generated_by) &&
	    cJSON_AddBoolToObject(root, "complete", m->complete) &&
	    cJSON_AddStringToObject(root, "seed", seed)) {
		cJSON_DeleteItemFromObjectCaseSensitive(dataset, "store");
		if (cJSON_AddItemToObject(root, "dataset", dataset)) {
			dataset = NULL;
			text = json_print(root);
		}
	}
	cJSON_Delete(dataset);
	cJSON_Delete(root);
	return text;
}

int manifest_load(struct manifest *m, struct queue *q, const char *folder, struct err *err)
{
	char key[OBJECT_KEY_BYTES], *text;
	size_t length;
	int rc;

	manifest_key(folder, key);
	rc = small_object_load(q, key, MANIFEST_TEXT_MAX, &text, &length, err);
	if (rc < 0)
		return rc;
	rc = manifest_parse(m, text, length, err);
	free(text);
	return rc < 0 ? err_wrap(err, rc, "%s/%s", q->channel.store->uri, key) : 0;
}

int manifest_save(const struct manifest *m, struct queue *q, struct err *err)
{
	char key[OBJECT_KEY_BYTES], *text = manifest_text(m);
	int rc;

	manifest_key(m->dataset.folder, key);
	rc = text ? small_object_save(q, key, text, err)
		  : err_set(err, -ENOMEM, "%s/%s: no memory", q->channel.store->uri, key);
	free(text);
	return rc;
}

void manifest_free(struct manifest *m)
{
	arena_free(&m->arena);
}

static int manifest_differs(const char *what, const char *where, const char *key, const char *was,
			    const char *is, struct err *err)
{
	return err_set(
		err, -EEXIST,
		"%s/%s: this data set was made with %s %s, this job says %s; run `haul clean` with the old job "
		"or use another folder",
		where, key, what, was, is);
}

/* The options of their one format. */
static int manifest_options_match(const struct dataset_options *a, const struct dataset_options *b,
				  const char *where, const char *key, struct err *err)
{
	const char *format = format_names[b->format];
	cJSON *was = options_to_json(dataset_section.tables, a);
	cJSON *is = options_to_json(dataset_section.tables, b);
	cJSON *x = cJSON_GetObjectItemCaseSensitive(was, format);
	cJSON *y = cJSON_GetObjectItemCaseSensitive(is, format);
	char *text[2] = {NULL};
	int rc = was && is ? 0 : err_set(err, -ENOMEM, "%s/%s: no memory", where, key);

	if (rc == 0 && x && y && !cJSON_Compare(x, y, true)) {
		text[0] = json_print(x);
		text[1] = json_print(y);
		rc = manifest_differs(format, where, key, text[0] ? text[0] : "",
				      text[1] ? text[1] : "", err);
	}
	free(text[0]);
	free(text[1]);
	cJSON_Delete(was);
	cJSON_Delete(is);
	return rc;
}

int manifest_matches(const struct manifest *have, const struct dataset *d, const char *where,
		     struct err *err)
{
	const struct dataset_options *a = &have->dataset, *b = &d->options;
	const struct {
		const char *name;
		uint64_t was, is;
	} numbers[] = {
		{"layout version", have->layout, MANIFEST_LAYOUT},
		{"seed", have->seed, d->seed},
		{"files", a->files < b->files ? a->files : b->files, b->files},
		{"samples_per_file", a->samples_per_file, b->samples_per_file},
		{"sample_bytes", a->sample_bytes, b->sample_bytes},
		{"sample_bytes_stdev", a->sample_bytes_stdev, b->sample_bytes_stdev},
		{"subfolders", a->subfolders, b->subfolders},
	};
	const struct {
		const char *name, *was, *is;
	} texts[] = {
		{"format", format_names[a->format], format_names[b->format]},
		{"folder", a->folder, b->folder},
		{"prefix", a->prefix, b->prefix},
	};
	char key[OBJECT_KEY_BYTES], was[160], is[160];

	manifest_key(b->folder, key);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		snprintf(was, sizeof(was), "%" PRIu64, numbers[i].was);
		snprintf(is, sizeof(is), "%" PRIu64, numbers[i].is);
		if (numbers[i].was != numbers[i].is)
			return manifest_differs(numbers[i].name, where, key, was, is, err);
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(was, sizeof(was), "\"%s\"", texts[i].was);
		snprintf(is, sizeof(is), "\"%s\"", texts[i].is);
		if (strcmp(texts[i].was, texts[i].is) != 0)
			return manifest_differs(texts[i].name, where, key, was, is, err);
	}
	return manifest_options_match(a, b, where, key, err);
}

/* set_files: files of the set in the store. */
static int manifest_check_one(const struct dataset *d, struct store *store, uint64_t *set_files,
			      struct err *err)
{
	const char *folder = d->options.folder;
	struct err none = {0};
	struct manifest m;
	struct queue q;
	int rc = queue_open(&q, store, 1, err);

	if (rc < 0)
		return rc;
	/* Not the phase's own work. */
	queue_unlogged(&q);
	rc = manifest_load(&m, &q, folder, &none);
	queue_close(&q);
	if (rc == -ENOENT)
		return err_set(err, rc,
			       "there is no data set in %s%s%s; run `haul generate JOB` first",
			       store->uri, folder[0] ? "/" : "", folder);
	if (rc < 0) {
		*err = none;
		return rc;
	}
	*set_files = m.dataset.files;
	rc = manifest_matches(&m, d, store->uri, err);
	if (rc == 0 && !m.complete)
		rc = err_set(
			err, -EINVAL,
			"the data set in %s%s%s is not complete; run `haul generate JOB` to finish it",
			store->uri, folder[0] ? "/" : "", folder);
	manifest_free(&m);
	return rc;
}

int manifest_check(struct dataset *d, struct store *store, struct group *group, struct err *err)
{
	uint64_t set_files = 0;
	int rc;

	if (d->existing || !store_can(store, BACKEND_CONTENT) ||
	    !store_can(store, BACKEND_PERSISTENT))
		return 0;
	rc = group->rank == 0 ? manifest_check_one(d, store, &set_files, err) : 0;
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, &set_files, sizeof(set_files));
	if (rc == 0)
		dataset_in_set(d, set_files);
	return rc;
}
