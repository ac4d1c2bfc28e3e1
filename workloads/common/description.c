/* SPDX-License-Identifier: Apache-2.0 */
/* Description of a folder: see description.h. */
#include "workloads/common/description.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/clock_wait.h"
#include "core/json.h"
#include "core/part.h"
#include "core/time_ns.h"
#include "workloads/common/open_uploads.h"
#include "workloads/common/small_object.h"

enum { PLACE_LOOK_MS = 100 };

/* Rank 0. Where nothing can be written there, the phase will say so, if it has anything to
 * write. */
static int place_try(struct place *p, const struct store *store, const char *folder,
		     struct err *err)
{
	uint64_t now_ns = clock_kernel_ns();
	int rc = 0;

	if (now_ns < p->next_ns)
		rc = -EBUSY;
	else if (store->ops->own)
		rc = store->ops->own(store, folder, &p->owner, err);
	if (now_ns >= p->next_ns)
		p->next_ns = now_ns + p->owner.look_ms * NS_PER_MS;

	if (rc == -ENOLCK)
		log_say(store->log, LOG_WARNING,
			"%s, so nothing keeps another run from writing there", err->text);
	if (rc == -EBUSY)
		err_set(err, rc,
			"%s/%s: another run writes there: %s; wait for it, or use another folder",
			store->uri, folder, p->owner.who);
	return rc == -EBUSY || rc == -ELOOP || rc == -EINVAL ? rc : 0;
}

int place_take(struct place *p, const struct store *store, const char *folder, struct group *group,
	       struct err *err)
{
	return group_agree(group, group->rank == 0 ? place_try(p, store, folder, err) : 0, err);
}

/* Ranks rest, and hear of a reason to end. */
static int place_rest(const struct phase_context *ctx, enum stop_reason *stopped)
{
	struct status mine = {.unfinished = 1}, merged;
	int rc;

	clock_nap(PLACE_LOOK_MS * NS_PER_MS);
	mine.stop = ctx->stop ? stop_asked(ctx->stop) : STOP_NONE;
	if (!mine.stop && ctx->deadline_ns && clock_now(ctx->clock) >= ctx->deadline_ns)
		mine.stop = STOP_DEADLINE;
	rc = group_status(ctx->group, &mine, &merged);
	*stopped = rc == 0 ? (enum stop_reason)merged.stop : STOP_NONE;
	return rc;
}

int place_wait(struct place *p, const struct store *store, const char *folder,
	       const struct phase_context *ctx, enum stop_reason *stopped, struct err *err)
{
	bool told = false;
	int rc;

	*stopped = STOP_NONE;
	for (;;) {
		struct err why = {0};

		rc = place_take(p, store, folder, ctx->group, &why);
		if (rc != -EBUSY) {
			if (rc < 0)
				*err = why;
			return rc;
		}
		if (!told && ctx->group->rank == 0)
			log_say(ctx->log, LOG_WARNING, "waiting: %s", why.text);
		told = true;
		rc = place_rest(ctx, stopped);
		if (rc < 0 || *stopped != STOP_NONE)
			return rc;
	}
}

void place_give(struct place *p)
{
	owner_drop(&p->owner);
}

enum { DESCRIPTION_MAX = 16 << 10, DESCRIPTION_DEPTH = 4, DESCRIPTION_VALUES = 256 };

void description_key(const struct description *d, char key[OBJECT_KEY_BYTES])
{
	snprintf(key, OBJECT_KEY_BYTES, "%s%s%s", d->folder, d->folder[0] ? "/" : "", d->file);
}

bool description_wanted(const struct queue *q)
{
	return store_can(q->channel.store, BACKEND_CONTENT) &&
	       store_can(q->channel.store, BACKEND_PERSISTENT);
}

int description_parse(const struct description *d, void *into, const char *text, size_t length,
		      struct err *err)
{
	struct arena arena = {NULL};
	cJSON *root = NULL;
	int rc = json_parse(&root, text, length, DESCRIPTION_DEPTH, DESCRIPTION_VALUES, err);

	if (rc == 0)
		rc = options_parse(d->tables, into, root, "", &arena, err);
	if (rc == 0 && d->check)
		rc = d->check(into, err);
	cJSON_Delete(root);
	arena_free(&arena);
	return rc;
}

int description_load(const struct description *d, void *into, struct queue *q, struct err *err)
{
	char key[OBJECT_KEY_BYTES], *text = NULL;
	size_t length;
	int rc;

	description_key(d, key);
	rc = small_object_load(q, key, DESCRIPTION_MAX, &text, &length, err);
	if (rc < 0)
		return rc;
	rc = description_parse(d, into, text, length, err);
	if (rc < 0)
		err_wrap(err, rc, "%s/%s", q->channel.store->uri, key);
	free(text);
	return rc;
}

int description_save(const struct description *d, const void *from, struct queue *q,
		     struct err *err)
{
	cJSON *root = options_to_json(d->tables, from);
	char key[OBJECT_KEY_BYTES], *text = root ? json_print(root) : NULL;
	int rc;

	description_key(d, key);
	rc = text ? small_object_save(q, key, text, err)
		  : err_set(err, -ENOMEM, "%s/%s: no memory", q->channel.store->uri, key);
	free(text);
	cJSON_Delete(root);
	return rc;
}

int description_refuse_others(const struct description *d, struct queue *q, struct err *err)
{
	char name[OBJECT_KEY_BYTES], key[OBJECT_KEY_BYTES];
	int rc;

	if (!store_can(q->channel.store, BACKEND_LIST))
		return 0;
	description_key(d, key);
	rc = folder_first_whole(q, d->folder, key, name, err);
	if (rc < 0 || !name[0])
		return rc;
	return err_set(err, -EEXIST,
		       "%s/%s: holds \"%s\", and nothing says that haul made it: it stays; use "
		       "another folder",
		       q->channel.store->uri, d->folder, name);
}

static int description_check_empty(const struct description *d, struct queue *q, struct err *err)
{
	void *had = calloc(1, d->size);
	struct err ignored;
	int rc = had ? description_load(d, had, q, &ignored) : -ENOENT;

	free(had);
	if (rc == 0)
		return err_set(err, -EEXIST,
			       "%s/%s: has %s of a run that goes on or was killed; `%s` "
			       "removes them, or use another folder",
			       q->channel.store->uri, d->folder, d->what,
			       d->clean ? d->clean : "haul clean JOB");
	return description_refuse_others(d, q, err);
}

int description_begin(const struct description *d, const void *from, struct queue *q,
		      struct group *g, struct err *err)
{
	int rc = 0;

	if (g->rank == 0 && description_wanted(q)) {
		rc = description_check_empty(d, q, err);
		if (rc == 0)
			rc = description_save(d, from, q, err);
	}
	return group_agree(g, rc, err);
}

void description_end(const struct description *d, struct queue *q)
{
	char key[OBJECT_KEY_BYTES];

	if (!description_wanted(q))
		return;
	description_key(d, key);
	small_object_leave(q, key);
}

/* Rank 0 reads the description, all learn of it. */
static int description_find(const struct description *d, void *into, struct clean *c,
			    struct group *g, bool *found, struct err *err)
{
	int rc = 0;

	*found = false;
	if (g->rank == 0) {
		rc = description_load(d, into, clean_queue(c), err);
		*found = rc == 0;
		rc = rc == -ENOENT ? 0 : rc;
		if (*found && d->version && *(const uint64_t *)into != d->version)
			rc = err_set(err, -EINVAL,
				     "\"%s\" was made by a haul that named %s otherwise; clean "
				     "with that version",
				     d->folder, d->what);
	}
	rc = group_agree(g, rc, err);
	if (rc == 0)
		rc = group_broadcast(g, found, sizeof(*found));
	return rc < 0 || !*found ? rc : group_broadcast(g, into, d->size);
}

/* For rank 0: the description and the folder, unless something stayed in it. A run that was killed
 * may have left no more than these: a description that was not published yet, or the folder of one
 * that is gone. */
static void description_clean_end(const struct description *d, const struct description_clean *how,
				  struct clean *c, bool found)
{
	char key[OBJECT_KEY_BYTES];

	if (found && how->folders)
		how->folders(c, d, how->described);
	description_key(d, key);
	clean_home(c, key);
}

struct description_removed {
	const struct description *d;
	const struct description_clean *how;
};

static int description_remove(struct clean *c, void *argument, struct err *err)
{
	const struct description_removed *x = argument;
	const struct description *d = x->d;
	const struct description_clean *how = x->how;
	struct group *g = c->crew.group;
	bool found = false, stays = false;
	struct place place = {.next_ns = 0};
	int rc = place_take(&place, &c->store, d->folder, g, err);

	if (rc == 0)
		rc = description_find(d, how->described, c, g, &found, err);
	if (rc == 0 && found)
		rc = group_agree(g, how->objects(c, d, how->described, &stays, err), err);
	if (rc == 0 && found && how->named)
		rc = clean_uploads_named(c, d->folder, how->named, err);
	if (rc == 0)
		rc = clean_end(c, err);
	if (rc == 0 && g->rank == 0 && !stays && (found || store_can(&c->store, BACKEND_UPDATE)))
		description_clean_end(d, how, c, found);
	rc = rc == 0 ? clean_end(c, err) : rc;
	place_give(&place);
	return rc;
}

static int description_stores(const struct description_phases *p, const struct job *job,
			      const struct job_phase *phase,
			      const struct job_store *out[PHASE_STORES_MAX], uint32_t *count,
			      struct err *err)
{
	if (p->stores)
		return p->stores(job, phase, out, count, err);
	*count = 1;
	return phase_store_find(job, phase, &out[0], err);
}

/* A phase before this one has the same folder on that store: it is clean. */
static bool description_cleaned(const struct description_phases *p, const struct phase_context *ctx,
				const struct job_phase *phase, const struct job_store *store)
{
	const char *folder = p->of(ctx, phase, p->how.described).folder;
	const struct job_store *stores[PHASE_STORES_MAX];
	struct err other = {0};
	uint32_t count = 0;

	for (const struct job_phase *q = ctx->job->phases; q < phase; q++) {
		if (q->section->owner != p->owner ||
		    strcmp(p->of(ctx, q, p->how.described).folder, folder) != 0 ||
		    description_stores(p, ctx->job, q, stores, &count, &other) < 0)
			continue;
		for (uint32_t k = 0; k < count; k++)
			if (stores[k] == store)
				return true;
	}
	return false;
}

static int description_clean_phase(const struct description_phases *p, struct phase_context *ctx,
				   const struct job_phase *phase, struct clean_counts *counts,
				   struct err *err)
{
	const struct job_store *stores[PHASE_STORES_MAX];
	uint32_t count = 0;
	int rc = description_stores(p, ctx->job, phase, stores, &count, err);

	for (uint32_t k = 0; k < count && rc == 0; k++) {
		struct description d;
		struct description_removed x = {&d, &p->how};

		if (description_cleaned(p, ctx, phase, stores[k]))
			continue;
		d = p->of(ctx, phase, p->how.described);
		rc = clean_store(ctx, stores[k], description_remove, &x, counts, err);
		/* Nothing is kept there: nothing can be left. */
		rc = rc == -ENOTSUP ? 0 : rc;
	}
	return rc;
}

int description_clean(const struct description_phases *p, struct phase_context *ctx,
		      struct clean_counts *counts, struct err *err)
{
	struct err one = {0};
	int rc = 0, first = 0;

	for (uint32_t i = 0; i < ctx->job->phase_count; i++) {
		if (ctx->job->phases[i].section->owner != p->owner)
			continue;
		rc = description_clean_phase(p, ctx, &ctx->job->phases[i], counts, &one);
		if (!clean_goes_on(rc, &one, &first, err))
			break;
	}
	return first;
}
