/* SPDX-License-Identifier: Apache-2.0 */
/* Removing what haul made: see clean.h. */
#include "workloads/common/clean.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "core/numbers.h"
#include "workloads/common/small_object.h"

int batch_delete_open(struct batch_delete *r, struct queue *q,
		      void (*removed)(void *argument, const struct request *req, uint64_t bytes),
		      void *argument, struct err *err)
{
	*r = (struct batch_delete){.queue = q, .removed = removed, .argument = argument};
	if (!store_can(q->channel.store, BACKEND_BATCH))
		return 0;
	r->keys = calloc(REQ_KEYS_MAX, sizeof(*r->keys));
	r->bytes = calloc(REQ_KEYS_MAX, sizeof(*r->bytes));
	return r->keys && r->bytes ? 0 : err_set(err, -ENOMEM, "no memory for keys to remove");
}

void batch_delete_close(struct batch_delete *r)
{
	free(r->keys);
	free(r->bytes);
	*r = (struct batch_delete){0};
}

void batch_delete_add(struct batch_delete *r, const char *key, uint64_t bytes)
{
	struct object o = {0};
	struct request req = {.op = REQ_DELETE, .object = &o};

	if (r->keys) {
		snprintf(r->keys[r->count].key, sizeof(r->keys[0].key), "%s", key);
		r->bytes[r->count++] = bytes;
		if (r->count == REQ_KEYS_MAX)
			batch_delete_flush(r);
		return;
	}
	snprintf(o.key, sizeof(o.key), "%s", key);
	queue_do(r->queue, &req);
	r->removed(r->argument, &req, bytes);
}

void batch_delete_flush(struct batch_delete *r)
{
	struct object o = {0};
	struct request req = {
		.op = REQ_DELETE, .object = &o, .batch.keys = r->keys, .batch.count = r->count};

	if (!r->count)
		return;
	snprintf(o.key, sizeof(o.key), "%s", r->keys[0].key);
	queue_do(r->queue, &req);
	for (uint32_t i = 0; i < r->count; i++) {
		struct request one = req;

		snprintf(o.key, sizeof(o.key), "%s", r->keys[i].key);
		one.answer.status = r->keys[i].status;
		one.answer.why = r->keys[i].why;
		r->versions += one.answer.status == 0 && r->keys[i].version;
		one.batch.keys = NULL;
		one.batch.count = 0;
		r->removed(r->argument, &one, r->bytes[i]);
	}
	r->count = 0;
}

enum { CLEAN_PAGE = 256, CLEAN_NAMED = 8 };

enum clean_word {
	CLEAN_REMOVED,
	CLEAN_REMOVED_BYTES,
	CLEAN_PARTS,
	CLEAN_UPLOADS,
	CLEAN_KEPT,
	CLEAN_ABSENT,
	CLEAN_FOLDERS,
	CLEAN_FAILED,
	CLEAN_WORDS
};
_Static_assert((int)CLEAN_WORDS <= (int)CREW_COUNTS, "room for each");

static void clean_removed(void *member, const struct request *req, uint64_t bytes);

static int clean_open(struct clean *c, struct phase_context *ctx, const struct job_store *described,
		      struct err *err)
{
	int rc = workload_store_open_to_clean(ctx, described, &c->store, err);

	if (rc < 0)
		return group_agree(ctx->group, rc, err);
	if (!store_can(&c->store, BACKEND_PERSISTENT) || !store_can(&c->store, BACKEND_CONTENT))
		rc = err_set(err, -ENOTSUP, "%s keeps nothing: there is nothing to clean",
			     c->store.uri);
	c->crew = crew_of(ctx, &c->store, NULL, CLEAN_THREADS, 1, "clean");
	c->crew.items = "files";
	c->crew.removes = true;
	c->crew.argument = c;
	if (rc == 0)
		rc = crew_open(&c->crew, err);
	for (unsigned i = 0; rc == 0 && i < CLEAN_THREADS; i++)
		rc = batch_delete_open(&c->deletes[i], &c->crew.members[i].queue, clean_removed,
				       &c->crew.members[i], err);
	return group_agree(ctx->group, rc, err);
}

static void clean_close(struct clean *c)
{
	for (unsigned i = 0; i < CLEAN_THREADS; i++)
		batch_delete_close(&c->deletes[i]);
	crew_close(&c->crew);
	store_close(&c->store);
}

/* What cannot be removed is named, the first of it, and counted; all else is removed all the same. */
static int clean_fail(struct crew_thread *w, const struct request *req)
{
	int rc = crew_fail(w, req, req->answer.status, request_text(req));
	struct err err = {0};

	if (stop_began(w->crew->stop) || w->counts[CLEAN_FAILED]++ >= CLEAN_NAMED)
		return rc;
	failure_set(&err, rc, w->crew->store, req, request_text(req));
	log_say(w->crew->store->log, LOG_WARNING, "not removed: %s", err.text);
	return rc;
}

/* An object that is not there, or a folder that is not empty, is not an error. */
static int clean_judge(struct crew_thread *w, const struct request *req)
{
	int rc = req->answer.status;

	if (rc == 0 || rc == -ENOENT || rc == -ENOTEMPTY || rc == -EEXIST || rc == -ENOTDIR)
		return rc;
	return clean_fail(w, req);
}

static void clean_removed(void *member, const struct request *req, uint64_t bytes)
{
	struct crew_thread *w = member;

	if (clean_judge(w, req) < 0)
		return;
	w->counts[CLEAN_REMOVED]++;
	w->counts[CLEAN_REMOVED_BYTES] += bytes;
	crew_removed(w, bytes);
}

static int clean_remove(struct crew_thread *w, const char *key)
{
	struct object o = {0};
	struct request req = {.op = REQ_DELETE, .object = &o};

	snprintf(o.key, sizeof(o.key), "%s", key);
	queue_do(&w->queue, &req);
	return clean_judge(w, &req);
}

/* Object i is not as haul made it: it stays. */
static void clean_keep(struct clean *c, struct crew_thread *w, uint64_t i)
{
	uint64_t *first = &c->first_kept[w - c->crew.members];

	w->counts[CLEAN_KEPT]++;
	*first = min_u64(*first, i);
}

/* Removes one name of an object. -ENOENT: there is no object of that name. */
static int clean_name(struct crew_thread *w, uint64_t i, const char *key)
{
	struct clean *c = w->crew->argument;
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o, .own = true};
	int rc;

	snprintf(o.key, sizeof(o.key), "%s", key);
	rc = queue_do(&w->queue, &req);
	if (rc == -ENOENT)
		return rc;
	if (rc < 0)
		clean_fail(w, &req);
	else if (req.answer.done_bytes != OBJECT_OF_OTHERS &&
		 c->objects->made(c->objects->argument, i, req.answer.done_bytes))
		batch_delete_add(&c->deletes[w - w->crew->members], key, req.answer.done_bytes);
	else
		clean_keep(c, w, i);
	return 0;
}

static void clean_upload(struct crew_thread *w, uint64_t i)
{
	const struct clean *c = w->crew->argument;
	struct request req;
	struct object o;
	int rc = open_uploads_drop(&c->uploads, i, &w->queue, &o, &req);

	if (rc < 0)
		clean_fail(w, &req);
	else
		w->counts[store_can(&c->store, BACKEND_UPLOADS) ? CLEAN_UPLOADS : CLEAN_PARTS]++;
}

static int clean_object(struct crew_thread *w, uint64_t i)
{
	const struct clean *c = w->crew->argument;
	const struct clean_objects *objects = c->objects;
	uint64_t first, uploads;
	char key[OBJECT_KEY_BYTES];
	int rc = -ENOENT;

	for (uint32_t name = 0; name < objects->names && rc == -ENOENT; name++) {
		objects->key(objects->argument, i, name, key);
		rc = clean_name(w, i, key);
	}
	if (rc == -ENOENT)
		w->counts[CLEAN_ABSENT]++;
	objects->key(objects->argument, i, 0, key);
	/* What runs that were killed have left of a new version of the object. */
	uploads = open_uploads_of(&c->uploads, key, &first);
	for (uint64_t k = 0; k < uploads; k++)
		clean_upload(w, first + k);
	return 0;
}

bool clean_goes_on(int rc, const struct err *err, int *first, struct err *first_err)
{
	if (rc < 0 && *first == 0) {
		*first = rc;
		*first_err = *err;
	}
	return rc != -EINTR;
}

/* The first error of this rank. After a stop some objects may not have been removed, which is in no
 * count of failures. */
static int clean_first_error(const struct clean *c, struct err *err)
{
	if (stop_began(c->crew.stop))
		return err_set(err, -EINTR, "stopped by a signal");
	for (uint32_t i = 0; i < c->crew.threads; i++) {
		const struct crew_thread *w = &c->crew.members[i];

		if (w->meter.failure_count) {
			*err = w->err;
			return w->meter.failures[0].error;
		}
	}
	return 0;
}

/* Rank 0 learns the name of the first object of all that was left. */
static int clean_name_kept(struct clean *c)
{
	uint64_t first = UINT64_MAX;
	int rc;

	for (unsigned i = 0; i < CLEAN_THREADS; i++)
		first = min_u64(first, c->first_kept[i]);
	rc = group_allreduce(c->crew.group, MERGE_MIN, &first, 1);
	if (rc < 0 || first == UINT64_MAX || c->crew.group->rank != 0 || c->kept_name[0])
		return rc;
	c->objects->key(c->objects->argument, first, 0, c->kept_name);
	return 0;
}

/* Objects that all ranks have looked at, and removed or left. */
static int clean_looked(const struct clean *c, uint64_t *looked)
{
	*looked = crew_count(&c->crew, CLEAN_REMOVED) + crew_count(&c->crew, CLEAN_KEPT) +
		  crew_count(&c->crew, CLEAN_ABSENT);
	return group_allreduce(c->crew.group, MERGE_SUM, looked, 1);
}

static int clean_run(struct clean *c, struct err *err)
{
	uint64_t before = 0, after = 0;
	enum stop_reason stopped;
	int rc = clean_looked(c, &before);

	if (rc < 0)
		return rc;

	for (unsigned i = 0; i < CLEAN_THREADS; i++)
		c->first_kept[i] = UINT64_MAX;
	rc = crew_run(&c->crew, clean_object, &stopped, err);

	/* The threads do not run now. */
	for (unsigned i = 0; i < CLEAN_THREADS; i++)
		batch_delete_flush(&c->deletes[i]);
	if (rc == 0 && stopped > STOP_LIMIT) {
		rc = clean_looked(c, &after);
		c->remain += excess_u64(c->objects->count, after - before);
		return rc < 0 ? rc : err_set(err, -EINTR, "stopped by a signal");
	}
	if (rc == 0)
		rc = clean_name_kept(c);
	return rc < 0 ? rc : clean_end(c, err);
}

int clean_objects(struct clean *c, const struct clean_objects *objects, struct err *err)
{
	int found, rc;

	c->objects = objects;
	c->crew.files = objects->count;
	found = open_uploads_find(&c->uploads, clean_queue(c), c->crew.group, objects->folder, err);
	if (found < 0)
		open_uploads_free(&c->uploads);
	rc = clean_run(c, err);
	open_uploads_free(&c->uploads);
	return rc < 0 ? rc : found;
}

struct queue *clean_queue(struct clean *c)
{
	return &c->crew.members[0].queue;
}

static void clean_stays(struct clean *c, const char *key)
{
	c->crew.members[0].counts[CLEAN_KEPT]++;
	if (!c->kept_name[0])
		snprintf(c->kept_name, sizeof(c->kept_name), "%s", key);
}

/* Whether something of others is there under a name of haul's: it stays. Only a store that links may
 * have such a thing. */
static bool clean_others(struct clean *c, const char *key)
{
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o, .own = true};

	snprintf(o.key, sizeof(o.key), "%s", key);
	if (!store_can(&c->store, BACKEND_UPDATE) || queue_do(clean_queue(c), &req) < 0 ||
	    req.answer.done_bytes != OBJECT_OF_OTHERS)
		return false;
	clean_stays(c, key);
	return true;
}

void clean_key(struct clean *c, const char *key)
{
	struct crew_thread *w = &c->crew.members[0];

	if (clean_others(c, key))
		return;
	clean_remove(w, key);
	w->counts[CLEAN_PARTS] += open_uploads_drop_parts(&w->queue, key);
}

/* Of an object of haul that a listing has named. Returns whether it was removed. */
static bool clean_entry(struct clean *c, const char *key)
{
	struct crew_thread *w = &c->crew.members[0];

	if (clean_others(c, key) || clean_remove(w, key) < 0)
		return false;
	w->counts[CLEAN_REMOVED]++;
	return true;
}

/* One page of a folder, as the store lists it. */
struct clean_page {
	uint32_t count;
	char name[CLEAN_PAGE][OBJECT_KEY_BYTES];
};

static int clean_page_entry(struct request *req, const char *name, uint64_t size)
{
	struct clean_page *p = req->user;

	(void)size;
	if (p->count < CLEAN_PAGE)
		snprintf(p->name[p->count++], OBJECT_KEY_BYTES, "%s", name);
	return 0;
}

/* Lists the next page. A folder that is not there has no entries. */
static int clean_page_list(struct clean *c, const char *folder, struct listing *listing,
			   struct clean_page *page, struct err *err)
{
	struct queue *q = clean_queue(c);
	struct object o = {0};
	struct request req = {.op = REQ_LIST,
			      .object = &o,
			      .length = CLEAN_PAGE,
			      .listing = listing,
			      .user = page};
	int rc;

	page->count = 0;
	snprintf(o.key, sizeof(o.key), "%s", folder);
	rc = queue_do(q, &req);
	if (rc == 0)
		return 0;
	page->count = 0;
	listing->more = false;
	return rc == -ENOENT ? 0 : failure_set(err, rc, q->channel.store, &req, NULL);
}

/* Goes through the folder once. Returns how many objects were removed, or a negative errno. */
static int clean_list_once(struct clean *c, const char *folder,
			   bool (*ours)(const void *argument, const char *name),
			   const void *argument, struct clean_page *page, struct err *err)
{
	struct listing listing = {.entry = clean_page_entry};
	char key[OBJECT_KEY_BYTES];
	int removed = 0, rc;

	do {
		rc = clean_page_list(c, folder, &listing, page, err);
		if (rc < 0)
			return rc;
		for (uint32_t i = 0; i < page->count && !stop_began(c->crew.stop); i++) {
			if (!ours(argument, page->name[i]))
				continue;
			snprintf(key, sizeof(key), "%.*s%.*s", OBJECT_KEY_BYTES / 2, folder,
				 OBJECT_KEY_BYTES / 2 - 1, page->name[i]);
			removed += clean_entry(c, key);
		}
	} while (listing.more && !stop_began(c->crew.stop));
	return removed;
}

/* A folder changes while it is listed and objects are removed, so it is listed again until none is
 * removed. */
int clean_listed(struct clean *c, const char *folder,
		 bool (*ours)(const void *argument, const char *name), const void *argument,
		 struct err *err)
{
	struct clean_page *page = malloc(sizeof(*page));
	int removed;

	if (!page)
		return err_set(err, -ENOMEM, "no memory for a page of a folder");
	do {
		removed = clean_list_once(c, folder, ours, argument, page, err);
	} while (removed > 0 && !stop_began(c->crew.stop));
	free(page);
	if (removed == 0)
		clean_folder(c, folder);
	return removed;
}

int clean_uploads_named(struct clean *c, const char *folder, bool (*named)(const char *name),
			struct err *err)
{
	const struct group *g = c->crew.group;
	int rc = open_uploads_find(&c->uploads, clean_queue(c), c->crew.group, folder, err);

	for (uint64_t i = g->rank; rc == 0 && i < c->uploads.count; i += g->size) {
		const char *name = strrchr(c->uploads.keys[i], '/');

		if (name && named(name + 1))
			clean_upload(&c->crew.members[0], i);
	}
	open_uploads_free(&c->uploads);
	return rc;
}

static void clean_holds(struct clean *c, const char *key)
{
	struct crew_thread *w = &c->crew.members[0];
	char name[OBJECT_KEY_BYTES];

	if (c->crew.group->rank != 0 || c->holds[0])
		return;
	if (folder_first(&w->queue, key, name, NULL) == 0 && name[0])
		snprintf(c->holds, sizeof(c->holds), "%.*s/%.*s holds \"%.*s\"", URI_BYTES - 1,
			 c->store.uri, OBJECT_KEY_BYTES - 1, key, OBJECT_KEY_BYTES - 1, name);
}

void clean_folder(struct clean *c, const char *key)
{
	struct crew_thread *w = &c->crew.members[0];
	int rc = clean_remove(w, key);

	if (rc == 0)
		w->counts[CLEAN_FOLDERS]++;
	if (rc == -ENOTEMPTY || rc == -EEXIST)
		clean_holds(c, key);
}

void clean_home(struct clean *c, const char *description)
{
	char folder[OBJECT_KEY_BYTES];

	clean_key(c, description);
	if (small_object_folder(&c->store, description, folder))
		clean_folder(c, folder);
	else if (folder[0] && store_can(&c->store, BACKEND_UPDATE))
		clean_holds(c, folder);
}

int clean_end(struct clean *c, struct err *err)
{
	return group_agree(c->crew.group, clean_first_error(c, err), err);
}

int clean_kept(struct clean *c, uint64_t *kept)
{
	*kept = crew_count(&c->crew, CLEAN_KEPT);
	return group_allreduce(c->crew.group, MERGE_SUM, kept, 1);
}

/* Adds the work of all ranks. */
static int clean_add(const struct clean *c, struct clean_counts *counts)
{
	uint64_t words[CLEAN_WORDS + 1] = {0};
	int rc;

	for (unsigned i = 0; i < CLEAN_WORDS; i++)
		words[i] = crew_count(&c->crew, i);
	for (unsigned i = 0; i < CLEAN_THREADS; i++)
		words[CLEAN_WORDS] += c->deletes[i].versions;
	rc = group_allreduce(c->crew.group, MERGE_SUM, words, CLEAN_WORDS + 1);
	if (rc < 0)
		return rc;
	counts->removed += words[CLEAN_REMOVED];
	counts->removed_bytes += words[CLEAN_REMOVED_BYTES];
	counts->parts += words[CLEAN_PARTS];
	counts->uploads += words[CLEAN_UPLOADS];
	counts->kept += words[CLEAN_KEPT];
	counts->absent += words[CLEAN_ABSENT];
	counts->folders += words[CLEAN_FOLDERS];
	counts->failed += words[CLEAN_FAILED];
	counts->versions += words[CLEAN_WORDS];
	counts->remain += c->remain;
	if (!counts->kept_name[0] && c->kept_name[0])
		snprintf(counts->kept_name, sizeof(counts->kept_name), "%.*s/%.*s", URI_BYTES - 1,
			 c->store.uri, OBJECT_KEY_BYTES - 1, c->kept_name);
	if (!counts->holds[0])
		memcpy(counts->holds, c->holds, sizeof(counts->holds));
	return 0;
}

/* Once nothing is left in what haul made for all objects. */
static int clean_root(struct clean *c, struct clean_counts *counts, struct err *err)
{
	int rc = 0;

	if (!c->store.ops->root_drop)
		return 0;
	if (c->crew.group->rank == 0)
		rc = c->store.ops->root_drop(&c->store, err);
	counts->buckets += rc > 0;
	return group_agree(c->crew.group, rc < 0 ? rc : 0, err);
}

int clean_store(struct phase_context *ctx, const struct job_store *described,
		int (*remove)(struct clean *c, void *argument, struct err *err), void *argument,
		struct clean_counts *counts, struct err *err)
{
	struct clean *c = calloc(1, sizeof(*c));
	int rc = group_agree(ctx->group, c ? 0 : err_set(err, -ENOMEM, "no memory"), err);
	int added = 0;

	if (rc < 0 || !c)
		goto out_free;
	rc = clean_open(c, ctx, described, err);
	if (rc == 0)
		rc = remove(c, argument, err);
	if (rc == 0)
		rc = clean_root(c, counts, err);
	if (c->crew.members)
		added = clean_add(c, counts);
	clean_close(c);
out_free:
	free(c);
	return rc < 0 ? rc : added;
}
