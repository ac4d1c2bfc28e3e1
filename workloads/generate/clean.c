/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/generate/generate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/common/clean.h"
#include "workloads/common/description.h"
#include "workloads/common/small_object.h"
#include "workloads/dataset/dataset.h"
#include "workloads/dataset/manifest.h"

/* One data set. */
struct generate_cleaned {
	struct clean *clean;
	struct manifest manifest;
	struct dataset dataset; /* as the manifest says */
	struct group *group;
	const char *folder;
	struct clean_counts *counts;
	uint64_t unmade; /* whether nobody has made it */
};

/* Rank 0: there is no manifest. Where nothing else is there, either, there is nothing to clean. */
static int generate_clean_unmade(struct generate_cleaned *c, const char *key, struct err *err)
{
	const char *uri = c->clean->store.uri;
	char name[OBJECT_KEY_BYTES] = "";
	int rc = 0;

	if (store_can(&c->clean->store, BACKEND_LIST)) {
		rc = folder_first_whole(clean_queue(c->clean), c->folder, key, name, err);
		c->unmade = rc == 0 && !name[0];
	}
	if (rc < 0)
		return rc;
	if (!c->unmade)
		return err_set(
			err, -ENOENT,
			"%s/%s: there is no manifest, so nothing there is known to be haul's, "
			"and all of it stays",
			uri, key);
	if (!c->counts->unmade_name[0])
		snprintf(c->counts->unmade_name, sizeof(c->counts->unmade_name), "%s%s%s", uri,
			 c->folder[0] ? "/" : "", c->folder);
	return 0;
}

static int generate_clean_load(struct generate_cleaned *c, struct err *err)
{
	const char *folder = c->folder;
	const char *uri = c->clean->store.uri;
	char key[OBJECT_KEY_BYTES];
	int rc = manifest_load(&c->manifest, clean_queue(c->clean), folder, err);

	manifest_key(folder, key);
	if (rc == -ENOENT)
		return generate_clean_unmade(c, key, err);
	if (rc < 0)
		return rc;
	if (c->manifest.layout != MANIFEST_LAYOUT)
		return err_set(
			err, -EINVAL,
			"%s/%s: made by %s, which named or sized files otherwise; clean with "
			"that version",
			uri, key, c->manifest.generated_by);
	if (strcmp(c->manifest.dataset.folder, folder) != 0)
		return err_set(
			err, -EINVAL,
			"%s/%s: says its files are in folder \"%s\", not \"%s\"; all of them stay",
			uri, key, c->manifest.dataset.folder, folder);
	return 0;
}

/* From rank 0 to all, as text. */
static int generate_clean_share(struct generate_cleaned *c, struct err *err)
{
	struct group *group = c->group;
	char *text = group->rank == 0 ? manifest_text(&c->manifest) : NULL;
	uint64_t length = text ? strlen(text) + 1 : 0;
	int rc = group_broadcast(group, &length, sizeof(length));

	if (rc == 0 && group->rank != 0)
		text = malloc(length);
	if (rc == 0)
		rc = group_agree(group, text ? 0 : err_set(err, -ENOMEM, "no memory"), err);
	if (rc == 0)
		rc = group_broadcast(group, text, length);
	if (rc == 0 && group->rank != 0)
		rc = manifest_parse(&c->manifest, text, length - 1, err);
	free(text);
	return group_agree(group, rc, err);
}

static int generate_clean_find(struct generate_cleaned *c, struct err *err)
{
	int rc = group_agree(c->group, c->group->rank == 0 ? generate_clean_load(c, err) : 0, err);

	if (rc == 0)
		rc = group_broadcast(c->group, &c->unmade, sizeof(c->unmade));
	if (rc < 0 || c->unmade)
		return rc;
	rc = generate_clean_share(c, err);
	if (rc == 0)
		rc = dataset_init(&c->dataset, &c->manifest.dataset, c->manifest.seed, "manifest",
				  err);
	return rc;
}

void generate_clean_key(const void *dataset, uint64_t i, uint32_t name, char key[OBJECT_KEY_BYTES])
{
	(void)name;
	dataset_numbered_key(dataset, i, key);
}

static bool generate_clean_made(const void *dataset, uint64_t i, uint64_t bytes)
{
	struct layout l;
	uint64_t file;
	uint32_t object;

	dataset_object(dataset, i, &file, &object);
	dataset_object_layout(dataset, file, object, &l);
	return bytes == l.size;
}

static int generate_clean_files(struct generate_cleaned *c, struct err *err)
{
	const struct clean_objects files = {.count = dataset_objects(&c->dataset),
					    .key = generate_clean_key,
					    .names = 1,
					    .made = generate_clean_made,
					    .argument = &c->dataset,
					    .folder = c->dataset.options.folder};

	return clean_objects(c->clean, &files, err);
}

/* Subfolders that held files, each by one rank. */
static int generate_clean_folders(struct generate_cleaned *c, struct err *err)
{
	const struct dataset_options *o = &c->dataset.options;
	uint64_t used = o->subfolders < o->files ? o->subfolders : o->files;
	char key[OBJECT_KEY_BYTES];

	for (uint64_t i = c->group->rank; i < used; i += c->group->size) {
		dataset_subfolder(&c->dataset, i, key);
		clean_folder(c->clean, key);
	}
	return clean_end(c->clean, err);
}

/* Rank 0, at last: the manifest, and the folder if nothing else is in it, which a run that was killed has made before that. */
static int generate_clean_end(struct generate_cleaned *c, struct err *err)
{
	char key[OBJECT_KEY_BYTES];

	if (c->group->rank == 0) {
		manifest_key(c->folder, key);
		clean_home(c->clean, key);
	}
	return clean_end(c->clean, err);
}

static int generate_clean_set(struct generate_cleaned *c, struct err *err)
{
	int rc = generate_clean_files(c, err), more = 0;

	/* What could not be removed keeps no other folder. */
	if (rc != -EINTR)
		more = generate_clean_folders(c, err);
	rc = rc < 0 ? rc : more;
	return rc == 0 ? generate_clean_end(c, err) : rc;
}

static int generate_clean_all(struct clean *clean, void *cleaned, struct err *err)
{
	struct generate_cleaned *c = cleaned;
	struct place place = {.next_ns = 0};
	int rc;

	c->clean = clean;
	c->group = clean->crew.group;
	rc = place_take(&place, &clean->store, c->folder, c->group, err);
	if (rc == 0)
		rc = generate_clean_find(c, err);
	if (rc == 0)
		rc = c->unmade ? generate_clean_end(c, err) : generate_clean_set(c, err);
	place_give(&place);
	return rc;
}

static int generate_clean_one(struct phase_context *ctx, const struct job_dataset *described,
			      struct clean_counts *counts, struct err *err)
{
	const struct dataset_options *options = described->options;
	struct generate_cleaned c = {.folder = options->folder, .counts = counts};
	struct job_phase none = {.path = ""};
	char path[DATASET_PATH_BYTES];
	const struct job_dataset *found;
	const struct job_store *store;
	int rc;

	if (dataset_is_existing(options))
		return err_set(
			err, -EPERM,
			"the data set%s%s exists without haul: nothing of it is ever removed",
			described->name[0] ? " " : "", described->name);
	dataset_path(described, path);
	snprintf(none.path, sizeof(none.path), "%.63s", path);
	rc = dataset_find(ctx->job, &none, described->name, &found, &store, err);
	if (rc < 0)
		return rc;
	rc = clean_store(ctx, store, generate_clean_all, &c, counts, err);
	counts->unmade += c.unmade;
	manifest_free(&c.manifest);
	return rc;
}

int generate_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	struct err one = {0};
	int rc, first = 0;

	for (uint32_t i = 0; i < ctx->job->dataset_count; i++) {
		rc = generate_clean_one(ctx, &ctx->job->datasets[i], counts, &one);
		if (!clean_goes_on(rc, &one, &first, err))
			break;
	}
	rc = generate_model_clean(ctx, counts, &one);
	clean_goes_on(rc, &one, &first, err);
	return first;
}
