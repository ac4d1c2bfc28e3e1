/* Removing what a run of the phase "replay" has left, for `haul clean`. */
#include "workloads/replay/objects.h"
#include "workloads/replay/replay.h"
#include "workloads/trace/trace.h"

static bool cleaned_of(const void *part, const char *name)
{
	return replay_object_of(name, *(const uint32_t *)part);
}

/* The ranks share the folders. */
static int cleaned_objects(struct clean *c, const struct description *d, const void *described,
			   bool *stays, struct err *err)
{
	const struct group *g = c->crew.group;
	const struct replay_objects *r = described;
	char key[OBJECT_KEY_BYTES];
	int rc = 0;

	(void)stays;
	for (uint32_t k = 0; rc == 0 && k < TRACE_TIERS; k++) {
		if (!(r->tiers >> k & 1))
			continue;
		for (uint32_t part = g->rank; rc == 0 && part < OBJECTS_FOLDERS; part += g->size) {
			replay_objects_folder(d->folder, k, part, 2, key);
			rc = clean_listed(c, key, cleaned_of, &part, err);
		}
	}
	return rc;
}

static void cleaned_folders(struct clean *c, const struct description *d, const void *described)
{
	const struct replay_objects *r = described;
	char key[OBJECT_KEY_BYTES];

	for (uint32_t k = 0; k < TRACE_TIERS; k++) {
		if (!(r->tiers >> k & 1))
			continue;
		replay_objects_folder(d->folder, k, 0, 1, key);
		clean_folder(c, key);
	}
}

int replay_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	const struct job *job = ctx->job;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < job->phase_count; i++) {
		const struct replay_options *o = job->phases[i].options;
		struct replay_objects described;
		const struct description_clean how = {.objects = cleaned_objects,
						      .named = replay_object_named,
						      .folders = cleaned_folders,
						      .described = &described};
		const struct job_store *store = NULL;
		struct description d;

		if (job->phases[i].section->owner != &replay_workload)
			continue;
		d = replay_objects_description(o->folder);
		rc = phase_store_find(job, &job->phases[i], &store, err);
		if (rc == 0)
			rc = description_clean(&d, &how, ctx, store, counts, err);
	}
	return rc;
}
