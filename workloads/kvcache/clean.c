/* `haul clean` for the entries of phases "kvcache", which only runs that were killed leave behind: removes what the
 * description in a phase's folder says that haul keeps there. What does not have the name of an entry stays, and then so does
 * the description. Without a description nothing is touched. */
#include "workloads/kvcache/kvcache.h"
#include "workloads/kvcache/objects.h"

static bool cleaned_named(const void *argument, const char *name)
{
	(void)argument;
	return kv_object_named(name);
}

/* The ranks of this run share those of the run that was killed. */
static int cleaned_objects(struct clean *c, const struct description *d, const void *described,
			   bool *stays, struct err *err)
{
	const struct group *g = c->crew.group;
	const struct kv_objects *k = described;
	char key[OBJECT_KEY_BYTES];
	int rc = 0;

	(void)stays;
	for (uint32_t rank = g->rank; rc == 0 && rank < k->ranks; rank += g->size) {
		for (uint32_t tier = 0; rc == 0 && tier < k->tiers; tier++) {
			for (uint32_t part = 0; rc == 0 && part < KV_FOLDERS; part++) {
				kv_objects_folder(d->folder, rank, tier, part, 3, key);
				rc = clean_listed(c, key, cleaned_named, NULL, err);
			}
			kv_objects_folder(d->folder, rank, tier, 0, 2, key);
			clean_folder(c, key);
		}
		kv_objects_folder(d->folder, rank, 0, 0, 1, key);
		clean_folder(c, key);
	}
	return rc;
}

int kvcache_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	const struct job *job = ctx->job;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < job->phase_count; i++) {
		const struct kvcache_options *o = job->phases[i].options;
		struct kv_objects described;
		const struct description_clean how = {.objects = cleaned_objects,
						      .named = kv_object_named,
						      .described = &described};
		struct description d;
		struct kv_setup setup;

		if (job->phases[i].section->owner != &kvcache_workload)
			continue;
		d = kv_objects_description(o->folder);
		rc = kv_setup_of(job, &job->phases[i], &setup, err);
		for (uint32_t k = 0; rc == 0 && k < setup.store_count; k++)
			rc = description_clean(&d, &how, ctx, setup.stores[k], counts, err);
	}
	return rc;
}
