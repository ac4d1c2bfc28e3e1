#include "workloads/checkpoint/clean.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "workloads/checkpoint/checkpoint.h"
#include "workloads/checkpoint/marker.h"
#include "workloads/common/clean.h"

/* One checkpoint, as its marker says. Files are numbered through all ranks that wrote it. */
struct checkpoint_cleaned {
	struct marker marker;
	const char *folder;
	uint64_t number;
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
	checkpoint_file(&c->marker.shape, low, (uint32_t)(i - c->first[low]), out);
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
	return checkpoint_archive_bytes(&f, &size, NULL) == 0 && bytes == size;
}

static int checkpoint_cleaned_files(struct checkpoint_cleaned *c, struct clean *clean,
				    struct err *err)
{
	bool shared = c->marker.shape.layout == CHECKPOINT_SHARED;
	struct clean_objects objects = {.key = checkpoint_cleaned_key,
					.names = 1,
					.made = checkpoint_cleaned_made,
					.argument = c,
					.folder = c->folder,
					.unfinished = !c->marker.whole};
	int rc;

	c->first = calloc(c->marker.ranks + 1, sizeof(*c->first));
	if (!c->first)
		return err_set(err, -ENOMEM, "no memory for the files of a checkpoint");
	for (uint64_t rank = 0; rank < c->marker.ranks; rank++)
		c->first[rank + 1] =
			c->first[rank] +
			(shared ? rank == 0 : checkpoint_file_count(&c->marker.shape, rank));
	objects.count = c->first[c->marker.ranks];
	rc = clean_objects(clean, &objects, err);
	free(c->first);
	return rc;
}

/* For rank 0, after the files: the marker and the folder, unless something stayed in it. A run that
 * was killed may have left no more than these: a marker that was not published yet, or the folder
 * of a marker that is gone. */
static void checkpoint_cleaned_end(const struct checkpoint_cleaned *c, struct clean *clean)
{
	char key[OBJECT_KEY_BYTES];

	marker_key(c->folder, c->number, key);
	clean_key(clean, key);
	marker_folder(c->folder, c->number, key);
	clean_folder(clean, key);
}

/* *found: there is a marker. */
static int checkpoint_clean_number(struct checkpoint_cleaned *c, struct clean *clean,
				   struct group *g, bool *found, struct err *err)
{
	uint64_t kept = 0, before = 0;
	int rc = 0;

	*found = false;
	if (g->rank == 0) {
		rc = marker_load(&c->marker, clean_queue(clean), c->folder, c->number, err);
		*found = rc == 0;
		rc = rc == -ENOENT ? 0 : rc;
		if (*found && c->marker.version != MARKER_LAYOUT)
			rc = err_set(
				err, -EINVAL,
				"checkpoint %llu in \"%s\" was made by a haul that named or sized files otherwise; "
				"clean with that version",
				(unsigned long long)c->number, c->folder);
	}
	rc = group_agree(g, rc, err);
	if (rc == 0)
		rc = group_broadcast(g, found, sizeof(*found));
	if (rc == 0 && !*found && g->rank == 0 && store_can(&clean->store, BACKEND_UPDATE))
		checkpoint_cleaned_end(c, clean);
	if (rc < 0 || !*found)
		return rc;
	rc = group_broadcast(g, &c->marker, sizeof(c->marker));
	if (rc == 0)
		rc = clean_kept(clean, &before);
	if (rc == 0)
		rc = checkpoint_cleaned_files(c, clean, err);
	if (rc == 0)
		rc = clean_kept(clean, &kept);
	if (rc == 0 && g->rank == 0 && kept == before)
		checkpoint_cleaned_end(c, clean);
	return rc == 0 ? clean_end(clean, err) : rc;
}

/* All checkpoints that the phase may have made, and those that follow them: a phase before may have
 * made more. */
static int checkpoint_clean_all(struct clean *clean, void *options, struct err *err)
{
	const struct checkpoint_options *o = options;
	struct checkpoint_cleaned c = {.folder = o->folder};
	struct group *g = clean->crew.group;
	char key[OBJECT_KEY_BYTES];
	bool found = true;
	int rc = 0;

	for (; rc == 0 && (found || c.number < o->count); c.number++)
		rc = checkpoint_clean_number(&c, clean, g, &found, err);
	snprintf(key, sizeof(key), "%s/", o->folder);
	if (rc == 0 && g->rank == 0 && o->folder[0])
		clean_folder(clean, key);
	return rc == 0 ? clean_end(clean, err) : rc;
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
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < job->phase_count; i++) {
		struct checkpoint_use use;

		if (job->phases[i].section->owner != &checkpoint_workload)
			continue;
		rc = checkpoint_use_of(job, &job->phases[i], &use, err);
		if (rc == 0)
			rc = checkpoint_clean_use(ctx, &use, counts, err);
	}
	return rc;
}
