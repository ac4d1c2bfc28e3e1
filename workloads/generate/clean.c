#include "workloads/common/clean.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/common/batch_delete.h"
#include "workloads/common/crew.h"
#include "workloads/dataset/find.h"
#include "workloads/dataset/manifest.h"

enum { CLEAN_THREADS = 4 };
enum clean_count {
	COUNT_REMOVED,
	COUNT_REMOVED_BYTES,
	COUNT_PARTS,
	COUNT_KEPT,
	COUNT_ABSENT,
	COUNT_FOLDERS
};
_Static_assert((int)COUNT_FOLDERS < (int)CREW_COUNTS, "room for each");

struct clean {
	struct manifest manifest;
	struct dataset dataset; /* as the manifest says */
	struct store store;
	struct crew crew;
	struct batch_delete deletes[CLEAN_THREADS]; /* each its thread's */
};

static int open_store(struct clean *c, const struct job *job, const struct job_dataset *described,
		      const struct rank_place *place, struct group *group, struct group *node,
		      struct clock *clock, const struct log *log, struct err *err);
static int find_manifest(struct clean *c, const char *folder, struct group *group, struct err *err);
static int clean_object(struct crew_thread *w, uint64_t i);
static void removed(void *member, const struct request *req, uint64_t bytes);
static int clean_folders(struct clean *c, struct group *group, struct err *err);
static int clean_end(struct clean *c, struct group *group, struct err *err);
static int first_error(const struct clean *c, struct err *err);

static int clean_all(struct clean *c, const char *folder, struct group *group, struct err *err)
{
	enum stop_reason stopped;
	int rc = find_manifest(c, folder, group, err);

	if (rc < 0)
		return rc;
	rc = crew_run(&c->crew, clean_object, &stopped, err);
	/* The threads are at rest. */
	for (unsigned i = 0; i < CLEAN_THREADS; i++)
		batch_delete_flush(&c->deletes[i]);
	if (rc == 0)
		rc = group_agree(group, first_error(c, err), err);
	if (rc == 0)
		rc = clean_folders(c, group, err);
	if (rc == 0)
		rc = clean_end(c, group, err);
	return rc;
}

/* Adds what all ranks did. */
static int add_counts(const struct clean *c, struct group *group, bool complete,
		      struct clean_counts *counts)
{
	uint64_t words[CREW_COUNTS];
	int rc;

	for (unsigned i = 0; i < CREW_COUNTS; i++)
		words[i] = c->crew.members ? crew_count(&c->crew, i) : 0;
	rc = group_allreduce(group, MERGE_SUM, words, CREW_COUNTS);
	if (rc < 0)
		return rc;
	counts->removed += words[COUNT_REMOVED];
	counts->removed_bytes += words[COUNT_REMOVED_BYTES];
	counts->parts += words[COUNT_PARTS];
	counts->kept += words[COUNT_KEPT];
	counts->absent += words[COUNT_ABSENT];
	counts->folders += words[COUNT_FOLDERS];
	counts->complete = complete;
	return 0;
}

int clean_run(const struct job *job, const struct job_dataset *dataset,
	      const struct rank_place *place, struct group *group, struct group *node,
	      struct clock *clock, const struct log *log, struct clean_counts *counts,
	      struct err *err)
{
	const struct dataset_options *options = dataset->options;
	struct clean c = {0};
	int counted;
	int rc;

	if (dataset_is_existing(options))
		return err_set(
			err, -EPERM,
			"the data set%s%s exists without haul: nothing of it is ever removed",
			dataset->name[0] ? " " : "", dataset->name);
	rc = open_store(&c, job, dataset, place, group, node, clock, log, err);
	if (rc == 0)
		rc = clean_all(&c, options->folder, group, err);
	counted = add_counts(&c, group, rc == 0, counts);
	for (unsigned i = 0; i < CLEAN_THREADS; i++)
		batch_delete_close(&c.deletes[i]);
	crew_close(&c.crew);
	if (c.store.ops)
		store_close(&c.store);
	manifest_free(&c.manifest);
	return rc < 0 ? rc : counted;
}

static int open_store(struct clean *c, const struct job *job, const struct job_dataset *described,
		      const struct rank_place *place, struct group *group, struct group *node,
		      struct clock *clock, const struct log *log, struct err *err)
{
	struct job_phase none = {.path = ""};
	char path[DATASET_PATH_BYTES];
	const struct job_dataset *found;
	const struct job_store *store;
	int rc;

	dataset_path(described, path);
	snprintf(none.path, sizeof(none.path), "%.63s", path);
	rc = dataset_find(job, &none, described->name, &found, &store, err);
	if (rc == 0)
		rc = store_open(&c->store, store, place, node, clock, log, job->seed, err);
	if (rc < 0) {
		c->store.ops = NULL;
		return group_agree(group, rc, err);
	}
	if (!store_can(&c->store, BACKEND_PERSISTENT | BACKEND_CONTENT))
		rc = err_set(err, -ENOTSUP, "%s keeps nothing: there is nothing to clean",
			     c->store.uri);
	c->crew = (struct crew){
		.store = &c->store,
		.group = group,
		.start_ns = clock_now(clock),
		.threads = CLEAN_THREADS,
		.kind = "clean",
		.argument = c,
	};
	if (rc == 0)
		rc = crew_open(&c->crew, err);
	for (unsigned i = 0; rc == 0 && i < CLEAN_THREADS; i++)
		rc = batch_delete_open(&c->deletes[i], &c->crew.members[i].queue, removed,
				       &c->crew.members[i], err);
	return group_agree(group, rc, err);
}

static int load_manifest(struct clean *c, const char *folder, struct err *err)
{
	char key[OBJECT_KEY_BYTES];
	int rc = manifest_load(&c->manifest, &c->crew.members[0].queue, folder, err);

	manifest_key(folder, key);
	if (rc == -ENOENT)
		return err_set(
			err, rc,
			"%s/%s: there is no manifest, so nothing there is known to be haul's and nothing there was removed",
			c->store.uri, key);
	if (rc < 0)
		return rc;
	if (c->manifest.layout != MANIFEST_LAYOUT)
		return err_set(
			err, -EINVAL,
			"%s/%s: made by %s, which named or sized files otherwise; clean with that one",
			c->store.uri, key, c->manifest.generated_by);
	if (strcmp(c->manifest.dataset.folder, folder) != 0)
		return err_set(
			err, -EINVAL,
			"%s/%s: says its files are in folder \"%s\", not \"%s\"; nothing was removed",
			c->store.uri, key, c->manifest.dataset.folder, folder);
	return 0;
}

/* From rank 0 to all, as text. */
static int share_manifest(struct clean *c, struct group *group, struct err *err)
{
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

static int find_manifest(struct clean *c, const char *folder, struct group *group, struct err *err)
{
	int rc = group_agree(group, group->rank == 0 ? load_manifest(c, folder, err) : 0, err);

	if (rc < 0)
		return rc;
	rc = share_manifest(c, group, err);
	if (rc < 0)
		return rc;
	rc = dataset_init(&c->dataset, &c->manifest.dataset, c->manifest.seed, "manifest", err);
	c->crew.files = dataset_objects(&c->dataset);
	return rc;
}

/* What is not there or not empty is no error. Others are told at the end: the rest may still go. */
static int settle(struct crew_thread *w, const struct request *req)
{
	int rc = req->answer.status;

	if (rc == 0 || rc == -ENOENT || rc == -ENOTEMPTY || rc == -EEXIST || rc == -ENOTDIR)
		return rc;
	return crew_fail(w, req, rc, request_text(req));
}

static void removed(void *member, const struct request *req, uint64_t bytes)
{
	struct crew_thread *w = member;

	if (settle(w, req) < 0)
		return;
	w->counts[COUNT_REMOVED]++;
	w->counts[COUNT_REMOVED_BYTES] += bytes;
}

static int remove_key(struct crew_thread *w, const char *key)
{
	struct object o = {0};
	struct request req = {.op = REQ_DELETE, .object = &o};

	snprintf(o.key, sizeof(o.key), "%s", key);
	queue_do(&w->queue, &req);
	return settle(w, &req);
}

static int clean_object(struct crew_thread *w, uint64_t i)
{
	struct clean *c = w->crew->argument;
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o};
	char part[OBJECT_KEY_BYTES + 16];
	struct layout l;
	uint64_t file;
	uint32_t object;
	int rc;

	dataset_object(&c->dataset, i, &file, &object);
	dataset_object_key(&c->dataset, file, object, o.key);
	snprintf(part, sizeof(part), "%s.haul-part", o.key);
	rc = queue_do(&w->queue, &req);
	if (rc < 0 && rc != -ENOENT)
		crew_fail(w, &req, rc, request_text(&req));
	dataset_object_layout(&c->dataset, file, object, &l);
	if (rc == -ENOENT) {
		w->counts[COUNT_ABSENT]++;
	} else if (rc == 0 && req.answer.done_bytes != l.size) {
		w->counts[COUNT_KEPT]++;
	} else if (rc == 0) {
		batch_delete_add(&c->deletes[w - w->crew->members], o.key, l.size);
	}
	/* A complete data set has no unfinished files: each was renamed. */
	if (!c->manifest.complete && remove_key(w, part) == 0)
		w->counts[COUNT_PARTS]++;
	return 0;
}

static int first_error(const struct clean *c, struct err *err)
{
	for (uint32_t i = 0; i < c->crew.threads; i++) {
		const struct crew_thread *w = &c->crew.members[i];

		if (w->meter.failure_count) {
			*err = w->err;
			return w->meter.failures[0].error;
		}
	}
	return 0;
}

/* Subfolders that held files, each by one rank. */
static int clean_folders(struct clean *c, struct group *group, struct err *err)
{
	struct crew_thread *w = &c->crew.members[0];
	const struct dataset_options *o = &c->dataset.options;
	uint64_t used = o->subfolders < o->files ? o->subfolders : o->files;
	char key[OBJECT_KEY_BYTES];

	for (uint64_t i = group->rank; i < used; i += group->size) {
		dataset_subfolder(&c->dataset, i, key);
		if (remove_key(w, key) == 0)
			w->counts[COUNT_FOLDERS]++;
	}
	return group_agree(group, first_error(c, err), err);
}

/* Rank 0, at last: the manifest, and the folder if nothing else is in it. */
static int clean_end(struct clean *c, struct group *group, struct err *err)
{
	struct crew_thread *w = &c->crew.members[0];
	char key[OBJECT_KEY_BYTES];

	if (group->rank == 0) {
		manifest_key(c->dataset.options.folder, key);
		remove_key(w, key);
		snprintf(key, sizeof(key), "%s/", c->dataset.options.folder);
		if (c->dataset.options.folder[0] && remove_key(w, key) == 0)
			w->counts[COUNT_FOLDERS]++;
	}
	return group_agree(group, first_error(c, err), err);
}
