#include "workloads/kvcache/clean.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/common/clean.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/kvcache/objects.h"

enum { PAGE_ENTRIES = 256 };

/* One page of a folder, as the store lists it. */
struct cleaned_page {
	uint32_t count;
	char name[PAGE_ENTRIES][OBJECT_KEY_BYTES];
};

struct kv_cleaned {
	struct clean clean;
	struct kv_objects objects;
	const char *folder;
	struct cleaned_page page;
};

static int cleaned_entry(struct request *req, const char *name, uint64_t size)
{
	struct cleaned_page *p = req->user;

	(void)size;
	if (p->count < PAGE_ENTRIES)
		snprintf(p->name[p->count++], OBJECT_KEY_BYTES, "%s", name);
	return 0;
}

/* Removes the entries of one page. Returns how many, or a negative errno. */
static int cleaned_remove_page(struct kv_cleaned *c, const char *folder, struct listing *listing,
			       struct err *err)
{
	struct queue *q = clean_queue(&c->clean);
	struct object o = {0};
	struct request req = {.op = REQ_LIST,
			      .object = &o,
			      .length = PAGE_ENTRIES,
			      .listing = listing,
			      .user = &c->page};
	char key[OBJECT_KEY_BYTES];
	int rc, removed = 0;

	c->page.count = 0;
	snprintf(o.key, sizeof(o.key), "%s", folder);
	rc = queue_do(q, &req);
	if (rc < 0)
		return rc == -ENOENT ? 0
				     : err_set(err, rc, "%s/%s: %s", q->channel.store->uri, folder,
					       request_text(&req));
	for (uint32_t i = 0; i < c->page.count; i++) {
		if (!kv_object_named(c->page.name[i]))
			continue;
		snprintf(key, sizeof(key), "%.*s%.*s", OBJECT_KEY_BYTES / 2, folder,
			 OBJECT_KEY_BYTES / 2 - 1, c->page.name[i]);
		removed += clean_entry(&c->clean, key);
	}
	return removed;
}

/* A folder changes while it is listed and entries are removed, so it is listed again until none is removed. */
static int cleaned_folder(struct kv_cleaned *c, const char *folder, struct err *err)
{
	int removed;

	do {
		struct listing listing = {.entry = cleaned_entry};
		int page;

		removed = 0;
		do {
			page = cleaned_remove_page(c, folder, &listing, err);
			removed += page > 0 ? page : 0;
		} while (page >= 0 && listing.more);
		if (page < 0)
			return page;
	} while (removed);
	clean_folder(&c->clean, folder);
	return 0;
}

/* The ranks of this run share those of the run that was killed. */
static int cleaned_ranks(struct kv_cleaned *c, const struct group *g, struct err *err)
{
	char key[OBJECT_KEY_BYTES];
	int rc = 0;

	for (uint32_t rank = g->rank; rc == 0 && rank < c->objects.ranks; rank += g->size) {
		for (uint32_t k = 0; rc == 0 && k < c->objects.tiers; k++) {
			for (uint32_t part = 0; rc == 0 && part < KV_FOLDERS; part++) {
				kv_objects_folder(c->folder, rank, k, part, 3, key);
				rc = cleaned_folder(c, key, err);
			}
			kv_objects_folder(c->folder, rank, k, 0, 2, key);
			clean_folder(&c->clean, key);
		}
		kv_objects_folder(c->folder, rank, 0, 0, 1, key);
		clean_folder(&c->clean, key);
	}
	return rc;
}

static int cleaned_find(struct kv_cleaned *c, struct group *g, bool *found, struct err *err)
{
	int rc = 0;

	*found = false;
	if (g->rank == 0) {
		rc = kv_objects_load(&c->objects, clean_queue(&c->clean), c->folder, err);
		*found = rc == 0;
		rc = rc == -ENOENT ? 0 : rc;
		if (*found && c->objects.version != KV_OBJECTS_LAYOUT)
			rc = err_set(err, -EINVAL,
				     "\"%s\" was made by a haul that named entries otherwise; "
				     "clean with that version",
				     c->folder);
	}
	rc = group_agree(g, rc, err);
	if (rc == 0)
		rc = group_broadcast(g, found, sizeof(*found));
	return rc < 0 || !*found ? rc : group_broadcast(g, &c->objects, sizeof(c->objects));
}

/* For rank 0: the description and the folder, unless something stayed in it. A run that was killed may have left no more than
 * these: a description that was not published yet, or the folder of one that is gone. */
static void cleaned_end(struct kv_cleaned *c)
{
	char key[OBJECT_KEY_BYTES];

	kv_objects_description(c->folder, key);
	clean_key(&c->clean, key);
	kv_objects_folder(c->folder, 0, 0, 0, 0, key);
	clean_folder(&c->clean, key);
}

static int cleaned_store(struct kv_cleaned *c, struct phase_context *ctx,
			 const struct job_store *store, struct err *err)
{
	bool found = false;
	int rc = clean_open(&c->clean, ctx, store, err);

	if (rc == 0)
		rc = cleaned_find(c, ctx->group, &found, err);
	if (rc < 0)
		return rc;
	if (found)
		rc = group_agree(ctx->group, cleaned_ranks(c, ctx->group, err), err);
	if (rc == 0 && found)
		rc = clean_uploads_named(&c->clean, c->folder, kv_object_named, err);
	if (rc == 0)
		rc = clean_end(&c->clean, err);
	if (rc == 0 && ctx->group->rank == 0 &&
	    (found || store_can(&c->clean.store, BACKEND_UPDATE)))
		cleaned_end(c);
	return rc == 0 ? clean_end(&c->clean, err) : rc;
}

static int cleaned_one(struct phase_context *ctx, const struct job_store *store, const char *folder,
		       struct clean_counts *counts, struct err *err)
{
	struct kv_cleaned *c = calloc(1, sizeof(*c));
	int rc = group_agree(ctx->group, c ? 0 : err_set(err, -ENOMEM, "no memory"), err), counted;

	if (rc < 0 || !c) {
		free(c);
		return rc;
	}
	c->folder = folder;
	rc = cleaned_store(c, ctx, store, err);
	/* Nothing is kept there: nothing can be left. */
	rc = rc == -ENOTSUP ? 0 : rc;
	if (c->clean.crew.members) {
		counted = clean_add(&c->clean, rc == 0, counts);
		rc = rc < 0 ? rc : counted;
	}
	counts->complete = rc == 0;
	clean_close(&c->clean);
	free(c);
	return rc;
}

int kvcache_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	const struct job *job = ctx->job;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < job->phase_count; i++) {
		const struct kvcache_options *o = job->phases[i].options;
		struct kv_setup setup;

		if (job->phases[i].section->owner != &kvcache_workload)
			continue;
		rc = kv_setup_of(job, &job->phases[i], &setup, err);
		for (uint32_t k = 0; rc == 0 && k < setup.store_count; k++)
			rc = cleaned_one(ctx, setup.stores[k], o->folder, counts, err);
	}
	return rc;
}
