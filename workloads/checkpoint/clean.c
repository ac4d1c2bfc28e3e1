/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/checkpoint/marker.h"
#include "workloads/common/clean.h"
#include "workloads/common/description.h"
#include "workloads/common/open_uploads.h"

/* One checkpoint, as its marker says. Files are numbered through all ranks that wrote it. */
struct checkpoint_cleaned {
	struct marker marker;
	const char *folder;
	uint64_t number;
	bool metadata; /* the files are those that say that it is whole; else those with tensors */
	uint64_t *first; /* [ranks + 1]: number of each rank's first file, and of all files */
};

/* File i, and where archives have a size of their own, its size in the store. */
static void checkpoint_cleaned_file(const struct checkpoint_cleaned *c, uint64_t i,
				    struct checkpoint_file *out)
{
	uint64_t low = 0, high = c->marker.ranks;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (c->first[middle] <= i)
			low = middle;
		else
			high = middle;
	}
	i -= c->first[low];
	if (c->metadata)
		checkpoint_metadata_file(&c->marker.shape, low, out);
	else
		checkpoint_file(&c->marker.shape, low, (uint32_t)i, out);
}

static uint32_t checkpoint_cleaned_count(const struct checkpoint_cleaned *c, uint64_t rank)
{
	const struct checkpoint_shape *s = &c->marker.shape;
	struct checkpoint_file f;
	bool metadata = checkpoint_metadata_file(s, rank, &f);

	if (c->metadata)
		return metadata;
	return s->layout == CHECKPOINT_SHARED ? rank == 0
					      : checkpoint_file_count(s, rank) - metadata;
}

static void checkpoint_cleaned_key(const void *argument, uint64_t i, uint32_t name,
				   char key[OBJECT_KEY_BYTES])
{
	const struct checkpoint_cleaned *c = argument;
	struct checkpoint_file f;

	(void)name;
	checkpoint_cleaned_file(c, i, &f);
	marker_file_key(c->folder, c->number, &f, key);
}

static bool checkpoint_cleaned_made(const void *argument, uint64_t i, uint64_t bytes)
{
	const struct checkpoint_cleaned *c = argument;
	struct checkpoint_file f;
	uint64_t size;

	checkpoint_cleaned_file(c, i, &f);
	if (c->marker.shape.layout == CHECKPOINT_SHARED)
		return bytes <= checkpoint_shared_bytes(&c->marker.shape, c->marker.ranks);
	/* A distributed checkpoint's files have their names before they are whole. */
	return checkpoint_archive_bytes(&f, &size, NULL) == 0 &&
	       (bytes == size ||
		(bytes < size && checkpoint_has_state_dict(&c->marker.shape) && !f.metadata));
}

/* Counts the files of each rank. Returns false where there is no memory; else the caller frees first. */
static bool checkpoint_cleaned_number(struct checkpoint_cleaned *c)
{
	c->first = calloc(c->marker.ranks + 1, sizeof(*c->first));
	for (uint64_t rank = 0; c->first && rank < c->marker.ranks; rank++)
		c->first[rank + 1] = c->first[rank] + checkpoint_cleaned_count(c, rank);
	return c->first != NULL;
}

static int checkpoint_cleaned_files(struct checkpoint_cleaned *c, struct clean *clean,
				    struct err *err)
{
	char folder[OBJECT_KEY_BYTES];
	struct clean_objects objects = {.key = checkpoint_cleaned_key,
					.names = 1,
					.made = checkpoint_cleaned_made,
					.argument = c,
					.folder = folder};
	int rc;

	/* Without the slash at its end. */
	marker_folder(c->folder, c->number, folder);
	folder[strlen(folder) - 1] = '\0';
	if (!checkpoint_cleaned_number(c))
		return err_set(err, -ENOMEM, "no memory for the files of a checkpoint");
	objects.count = c->first[c->marker.ranks];
	rc = clean_objects(clean, &objects, err);
	free(c->first);
	return rc;
}

/* Metadata go first, so that no checkpoint is there to see that has lost files. Where they stay, the files do, too. */
static int checkpoint_cleaned_parts(struct checkpoint_cleaned *c, struct clean *clean,
				    struct group *g, struct err *err)
{
	struct err none = {0};
	struct marker now;
	bool whole = false;
	int rc = 0;

	c->metadata = checkpoint_has_metadata(&c->marker.shape);
	if (c->metadata)
		rc = checkpoint_cleaned_files(c, clean, err);
	c->metadata = false;
	if (rc < 0 && g->rank == 0)
		whole = marker_load(&now, clean_queue(clean), c->folder, c->number, &none) == 0 &&
			now.whole;
	if (rc < 0 && rc != -EINTR && group_broadcast(g, &whole, sizeof(whole)) == 0 && !whole)
		rc = 0;
	return rc < 0 ? rc : checkpoint_cleaned_files(c, clean, err);
}

/* For rank 0, after the files: the marker and the folder, unless something stayed in it. A run that
 * was killed may have left no more than these: a marker that was not published yet, or the folder
 * of a marker that is gone. */
static void checkpoint_cleaned_end(const struct checkpoint_cleaned *c, struct clean *clean)
{
	char key[OBJECT_KEY_BYTES];

	marker_shards(c->folder, c->number, key);
	if (store_can(&clean->store, BACKEND_UPDATE))
		clean_folder(clean, key);
	marker_key(c->folder, c->number, key);
	clean_key(clean, key);
	marker_folder(c->folder, c->number, key);
	clean_folder(clean, key);
}

/* A folder without a marker is removed if it is empty. */
static int checkpoint_clean_number(struct checkpoint_cleaned *c, struct clean *clean,
				   struct group *g, struct err *err)
{
	uint64_t kept = 0, before = 0;
	bool found = false;
	int rc = 0;

	if (g->rank == 0) {
		rc = marker_load(&c->marker, clean_queue(clean), c->folder, c->number, err);
		found = rc == 0;
		rc = rc == -ENOENT ? 0 : rc;
		if (found && c->marker.version != MARKER_LAYOUT)
			rc = err_set(
				err, -EINVAL,
				"checkpoint %llu in \"%s\" was made by a haul that named or sized files otherwise; "
				"clean with that version",
				(unsigned long long)c->number, c->folder);
	}
	rc = group_agree(g, rc, err);
	if (rc == 0)
		rc = group_broadcast(g, &found, sizeof(found));
	if (rc == 0 && !found && g->rank == 0 && store_can(&clean->store, BACKEND_UPDATE))
		checkpoint_cleaned_end(c, clean);
	if (rc < 0 || !found)
		return rc;
	rc = group_broadcast(g, &c->marker, sizeof(c->marker));
	if (rc == 0)
		rc = clean_kept(clean, &before);
	if (rc == 0)
		rc = checkpoint_cleaned_parts(c, clean, g, err);
	if (rc == 0)
		rc = clean_kept(clean, &kept);
	if (rc == 0 && g->rank == 0 && kept == before)
		checkpoint_cleaned_end(c, clean);
	return rc == 0 ? clean_end(clean, err) : rc;
}

/* Numbers of checkpoints that a folder has, as its listing names them. */
struct checkpoint_numbers {
	uint64_t *items;
	uint64_t count, room;
};

/* "000012/" of a folder, or what a name begins with, which is 12. Returns false where it is another name. */
static bool checkpoint_number_of(const char *name, uint64_t *number)
{
	char folder[OBJECT_KEY_BYTES], *end;

	errno = 0;
	if (name[0] < '0' || name[0] > '9')
		return false;
	*number = strtoull(name, &end, 10);
	marker_folder("", *number, folder);
	return errno == 0 && *end == '/' && strncmp(folder, name, strlen(folder)) == 0;
}

static int checkpoint_number_listed(struct request *req, const char *name, uint64_t size)
{
	struct checkpoint_numbers *n = req->user;
	uint64_t number, *more;

	(void)size;
	if (!checkpoint_number_of(name, &number) || strchr(name, '/')[1])
		return 0;
	if (n->count == n->room) {
		more = realloc(n->items, (2 * n->room + 64) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		n->items = more;
		n->room = 2 * n->room + 64;
	}
	n->items[n->count++] = number;
	return 0;
}

static int checkpoint_number_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int checkpoint_numbers_list(struct checkpoint_numbers *n, struct queue *q,
				   const char *folder, struct err *err)
{
	struct listing listing = {.entry = checkpoint_number_listed};
	struct object o = {0};
	struct request req;
	int rc;

	snprintf(o.key, sizeof(o.key), "%s%s", folder, folder[0] ? "/" : "");
	do {
		req = (struct request){
			.op = REQ_LIST, .object = &o, .listing = &listing, .user = n};
		rc = queue_do(q, &req);
	} while (rc == 0 && listing.more);
	if (rc < 0 && rc != -ENOENT)
		return failure_set(err, rc, q->channel.store, &req, NULL);
	if (n->count)
		qsort(n->items, n->count, sizeof(*n->items), checkpoint_number_compare);
	return 0;
}

/* Which checkpoints are there, on all ranks: a training may have removed any of the first, and a
 * phase before may have made more than the job says. */
static int checkpoint_numbers_find(struct checkpoint_numbers *n, struct clean *clean,
				   const char *folder, struct err *err)
{
	struct group *g = clean->crew.group;
	int rc = g->rank == 0 ? checkpoint_numbers_list(n, clean_queue(clean), folder, err) : 0;

	rc = group_agree(g, rc, err);
	if (rc == 0)
		rc = group_broadcast(g, &n->count, sizeof(n->count));
	if (rc < 0 || !n->count)
		return rc;
	if (g->rank != 0)
		n->items = calloc(n->count, sizeof(*n->items));
	rc = group_agree(
		g, n->items ? 0 : err_set(err, -ENOMEM, "no memory for numbers of checkpoints"),
		err);
	return rc < 0 ? rc : group_broadcast(g, n->items, n->count * sizeof(*n->items));
}

/* All checkpoints that stand in the folder. One that cannot be removed keeps none of the others. */
static int checkpoint_clean_all(struct clean *clean, void *options, struct err *err)
{
	const struct checkpoint_options *o = options;
	struct checkpoint_cleaned c = {.folder = o->folder};
	struct group *g = clean->crew.group;
	struct checkpoint_numbers n = {.items = NULL};
	char key[OBJECT_KEY_BYTES];
	struct place place = {.next_ns = 0};
	struct err one = {0};
	int rc = place_take(&place, &clean->store, o->folder, g, err);

	if (rc < 0)
		return rc;
	rc = checkpoint_numbers_find(&n, clean, o->folder, err);
	for (uint64_t i = 0; i < n.count; i++) {
		c.number = n.items[i];
		if (!clean_goes_on(checkpoint_clean_number(&c, clean, g, &one), &one, &rc, err))
			break;
	}
	free(n.items);
	/* It has no description of its own. */
	snprintf(key, sizeof(key), "%s%s.haul-", o->folder, o->folder[0] ? "/" : "");
	if (g->rank == 0)
		clean_home(clean, key);
	rc = rc == 0 ? clean_end(clean, err) : rc;
	place_give(&place);
	return rc;
}

/* Of one checkpoint, unless it is whole: then they are of somebody else. */
static void checkpoint_drop_uploads_of(struct queue *q, const char *folder, uint64_t number)
{
	struct checkpoint_cleaned c = {.folder = folder, .number = number};
	char key[OBJECT_KEY_BYTES];
	struct err none = {0};

	if (marker_load(&c.marker, q, folder, number, &none) < 0 || c.marker.whole ||
	    c.marker.version != MARKER_LAYOUT || !checkpoint_cleaned_number(&c))
		return;
	marker_folder(folder, number, key);
	key[strlen(key) - 1] = '\0';
	open_uploads_drop_left(q, key, c.first[c.marker.ranks], checkpoint_cleaned_key, &c);
	free(c.first);
}

void checkpoint_drop_uploads(struct queue *q, struct group *g, const char *folder)
{
	size_t skip = folder[0] ? strlen(folder) + 1 : 0;
	uint64_t number, last = UINT64_MAX;
	struct checkpoint_numbers n = {.items = NULL};
	struct open_uploads u = {0};
	struct err none = {0};

	if (!store_can(q->channel.store, BACKEND_UPLOADS))
		return;
	/* Each has its marker before its first upload: a new folder's uploads need not be asked for. */
	if (g->rank == 0)
		checkpoint_numbers_list(&n, q, folder, &none);
	free(n.items);
	if (group_broadcast(g, &n.count, sizeof(n.count)) < 0 || !n.count)
		return;
	if (open_uploads_find(&u, q, g, folder, &none) == 0 && g->rank == 0)
		for (uint64_t i = 0; i < u.count; i++) {
			if (!checkpoint_number_of(u.keys[i] + skip, &number) || number == last)
				continue;
			checkpoint_drop_uploads_of(q, folder, number);
			last = number;
		}
	open_uploads_free(&u);
}

int checkpoint_clean_use(struct phase_context *ctx, const struct checkpoint_use *use,
			 struct clean_counts *counts, struct err *err)
{
	struct checkpoint_options o = *use->options;
	int rc = clean_store(ctx, use->store, checkpoint_clean_all, &o, counts, err);

	/* Nothing is kept there: nothing can be left. */
	return rc == -ENOTSUP ? 0 : rc;
}

int checkpoint_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	const struct job *job = ctx->job;
	struct err one = {0};
	int rc = 0, first = 0;

	for (uint32_t i = 0; i < job->phase_count; i++) {
		struct checkpoint_use use;

		if (job->phases[i].section->owner != &checkpoint_workload)
			continue;
		rc = checkpoint_use_of(job, &job->phases[i], &use, &one);
		if (rc == 0)
			rc = checkpoint_clean_use(ctx, &use, counts, &one);
		if (!clean_goes_on(rc, &one, &first, err))
			break;
	}
	return first;
}
