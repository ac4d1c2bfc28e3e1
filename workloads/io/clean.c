/* `haul clean` for the objects of io phases: removes exactly what the description in a phase's folder says that haul
 * made there, whatever run and number of ranks left it. Objects of another size than they were given stay and are
 * counted; while there are any, so does the description. Without a description nothing is touched. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "workloads/common/clean.h"
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

/* For rank 0, after the objects: the description and the folder, unless something stayed in it. A run that was killed may
 * have left no more than a description that was not published yet, or the folder. */
static void io_clean_end(struct clean *c, const struct io_set *s)
{
	char key[OBJECT_KEY_BYTES];

	io_set_description(s, key);
	clean_key(c, key);
	snprintf(key, sizeof(key), "%s/", s->folder);
	if (s->folder[0] && store_can(&c->store, BACKEND_PERSISTENT))
		clean_folder(c, key);
}

static int io_clean_set(struct clean *c, const struct io_set *s, struct group *g, struct err *err)
{
	const struct clean_objects objects = {
		.count = s->objects * (s->layout == IO_OBJECTS ? s->ranks : 1),
		.key = io_clean_key,
		.names = 2,
		.made = io_clean_made,
		.argument = s,
		.folder = s->folder,
		.unfinished = !s->complete,
	};
	uint64_t kept;
	int rc = clean_objects(c, &objects, err);

	for (uint64_t rank = g->rank; rc == 0 && s->folder_per_rank && rank < s->ranks;
	     rank += g->size)
		io_set_remove_folder(s, rank, clean_queue(c));
	if (rc == 0)
		rc = clean_kept(c, &kept);
	if (rc == 0 && g->rank == 0 && !kept)
		io_clean_end(c, s);
	return rc;
}

/* Rank 0 reads the description, all learn of it. */
static int io_clean_find(struct clean *c, struct io_set *s, struct group *g, bool *found,
			 struct err *err)
{
	int rc = 0;

	*found = false;
	if (g->rank == 0) {
		rc = io_set_load(s, clean_queue(c), err);
		*found = rc == 0;
		rc = rc == -ENOENT ? 0 : rc;
	}
	rc = group_agree(g, rc, err);
	if (rc == 0)
		rc = group_broadcast(g, found, sizeof(*found));
	return rc < 0 || !*found ? rc : group_broadcast(g, s, sizeof(*s));
}

static int io_clean_one(struct phase_context *ctx, const struct job_phase *phase,
			struct clean_counts *counts, struct err *err)
{
	const struct job_store *described;
	struct io_set set;
	struct clean c = {0};
	bool found = false;
	int rc, counted;

	rc = phase_store_find(ctx->job, phase, &described, err);
	if (rc < 0)
		return rc;
	io_set_of(&set, phase->options, ctx->job->seed, ctx->group->size);
	rc = clean_open(&c, ctx, described, err);
	if (rc == 0)
		rc = io_clean_find(&c, &set, ctx->group, &found, err);
	if (rc == 0 && found)
		rc = io_clean_set(&c, &set, ctx->group, err);
	else if (rc == 0 && ctx->group->rank == 0 && store_can(&c.store, BACKEND_UPDATE))
		io_clean_end(&c, &set);
	/* Nothing is kept there: nothing can be left. */
	rc = rc == -ENOTSUP ? 0 : rc;
	if (c.crew.members) {
		counted = clean_add(&c, rc == 0, counts);
		rc = rc < 0 ? rc : counted;
	}
	counts->complete = rc == 0;
	clean_close(&c);
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

		if (phase->section->owner == &io_workload && !io_clean_done(job, phase))
			rc = io_clean_one(ctx, phase, counts, err);
	}
	return rc;
}
