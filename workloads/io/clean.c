/* `haul clean` for the objects of io phases: removes exactly what the description in a phase's folder says that haul
 * made there, whatever run and number of ranks left it. Objects of another size than they were given stay and are
 * counted; while there are any, so does the description. Without a description nothing is touched. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "workloads/io/set.h"

static void io_clean_key(const void *set, uint64_t i, uint32_t name, char key[OBJECT_KEY_BYTES])
{
	const struct io_set *s = set;

	io_set_key(s, i / s->objects, i % s->objects, key);
	/* An object at which a rename was interrupted has its other name. */
	if (name)
		io_set_renamed(key);
}

static bool io_clean_made(const void *set, uint64_t i, uint64_t bytes)
{
	const struct io_set *s = set;
	uint64_t whole = io_set_bytes(s, i / s->objects, i % s->objects);

	return s->complete ? bytes == whole : bytes <= whole;
}

static int io_clean_set(struct clean *c, const struct description *d, const void *set, bool *stays,
			struct err *err)
{
	const struct group *g = c->crew.group;
	const struct io_set *s = set;
	const struct clean_objects objects = {
		.count = s->objects * (s->layout == IO_OBJECTS ? s->ranks : 1),
		.key = io_clean_key,
		.names = 2,
		.made = io_clean_made,
		.argument = s,
		.folder = s->folder,
		.unfinished = !s->complete,
	};
	uint64_t kept = 0;
	int rc;

	if (strcmp(s->folder, d->folder) != 0)
		return err_set(err, -EINVAL,
			       "%s/%s: says its objects are in folder \"%s\"; nothing was removed",
			       c->store.uri, d->folder, s->folder);
	rc = clean_objects(c, &objects, err);
	for (uint64_t rank = g->rank; rc == 0 && s->folder_per_rank && rank < s->ranks;
	     rank += g->size)
		io_set_remove_folder(s, rank, clean_queue(c));
	if (rc == 0)
		rc = clean_kept(c, &kept);
	*stays = kept > 0;
	return rc;
}

/* A phase before this one has the same folder: it is clean. */
static bool io_clean_done(const struct job *job, const struct job_phase *phase)
{
	const struct io_options *o = phase->options;

	for (const struct job_phase *p = job->phases; p < phase; p++) {
		const struct io_options *other = p->options;

		if (p->section == phase->section && strcmp(p->store, phase->store) == 0 &&
		    strcmp(other->folder, o->folder) == 0)
			return true;
	}
	return false;
}

int io_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	const struct job *job = ctx->job;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < job->phase_count; i++) {
		const struct job_phase *phase = &job->phases[i];
		const struct io_options *o = phase->options;
		const struct job_store *store = NULL;
		struct description d;
		struct io_set set;
		const struct description_clean how = {.objects = io_clean_set, .described = &set};

		if (phase->section->owner != &io_workload || io_clean_done(job, phase))
			continue;
		io_set_of(&set, o, job->seed, ctx->group->size);
		d = io_set_description(o->folder);
		rc = phase_store_find(job, phase, &store, err);
		if (rc == 0)
			rc = description_clean(&d, &how, ctx, store, counts, err);
	}
	return rc;
}
