/* SPDX-License-Identifier: Apache-2.0 */
/* Entries as objects of a store: see objects.h. */
#include "workloads/kvcache/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "workloads/common/clean.h"
#include "workloads/common/small_object.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/kvcache/run.h"

static const struct option objects_options[] = {
	OPT_U64("haul_kvcache", struct kv_objects, version, .required = true, .min = 1,
		.max = 1000000),
	OPT_U64("ranks", struct kv_objects, ranks, .required = true, .min = 1, .max = UINT32_MAX),
	OPT_U64("tiers", struct kv_objects, tiers, .required = true, .min = 1, .max = KV_TIERS_MAX),
	OPT_U64("layout", struct kv_objects, layout, .max = KV_LAYOUTS), OPT_END};
static const struct option *const objects_tables[] = {objects_options, NULL};

void kv_objects_folder(const char *folder, uint32_t rank, uint32_t tier, uint32_t part,
		       unsigned depth, char key[OBJECT_KEY_BYTES])
{
	int n = snprintf(key, OBJECT_KEY_BYTES, "%s/", folder);

	if (depth > 0)
		n += snprintf(key + n, (size_t)(OBJECT_KEY_BYTES - n), "%06" PRIu32 "/", rank);
	if (depth > 1)
		n += snprintf(key + n, (size_t)(OBJECT_KEY_BYTES - n), "%" PRIu32 "/", tier);
	if (depth > 2)
		snprintf(key + n, (size_t)(OBJECT_KEY_BYTES - n), "%02" PRIx32 "/", part);
}

void kv_object_key(const char *prefix, struct kv_id id, char key[OBJECT_KEY_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	uint32_t part = (uint32_t)(kv_id_hash(id) % KV_FOLDERS);
	char *at = stpcpy(key, prefix);

	*at++ = digits[part >> 4];
	*at++ = digits[part & 15];
	*at++ = '/';
	kv_key_text(at, id);
}

/* Layouts put a folder, a model and at most 128 bytes of their own together without looking at the room. */
_Static_assert(KV_FOLDER_BYTES + KV_LAYOUT_MODEL_BYTES + 128 <= OBJECT_KEY_BYTES,
	       "the name of a block has room");

void kv_block_key(const struct kv_work *work, uint32_t tier, struct kv_id id,
		  char key[OBJECT_KEY_BYTES])
{
	const struct kvcache_options *o = work->setup->options;
	const char *model =
		o->serving.model[0] ? o->serving.model : model_known(&work->setup->model);

	(void)tier;
	work->layout->key(o->folder, model ? model : "model", id, key);
}

void kv_block_remove_folders(const struct kv_work *work, struct queue *q, const char *key)
{
	char folder[OBJECT_KEY_BYTES];

	if (!description_wanted(q) || !store_can(q->channel.store, BACKEND_UPDATE))
		return;
	snprintf(folder, sizeof(folder), "%s", key);
	for (uint32_t level = 0; level < work->layout->depth; level++) {
		strrchr(folder, '/')[level > 0 ? 0 : 1] = '\0';
		if (level > 0 && strrchr(folder, '/'))
			strrchr(folder, '/')[1] = '\0';
		small_object_remove(q, folder);
	}
}

struct description kv_objects_description(const char *folder)
{
	return (struct description){.folder = folder,
				    .file = ".haul-kvcache.json",
				    .what = "entries",
				    .tables = objects_tables,
				    .version = KV_OBJECTS_LAYOUT,
				    .size = sizeof(struct kv_objects)};
}

/* Removing the entries of a phase "kvcache" when it is over. Only the leader of a tensor group
 * knows which there are. It tells the others, page by page, and each rank removes what it has
 * written.
 *
 * And `haul clean`, for what runs that were killed leave behind: it removes what the description in
 * a phase's folder says that haul keeps there. What does not have the name of an entry stays, and
 * then so does the description. Without a description nothing is touched. */

enum { REMOVE_PAGE = 512 };

struct removed_entry {
	struct kv_id id;
	uint64_t bytes, tier;
};

struct removal {
	struct kv_run *r;
	uint32_t store;
	bool deletes; /* this rank has written to stores, and can delete */
	struct batch_delete batch;
	uint64_t left; /* entries that could not be removed */
	uint64_t count;
	struct removed_entry page[REMOVE_PAGE];
};

static void removal_removed(void *argument, const struct request *req, uint64_t bytes)
{
	struct removal *m = argument;

	(void)bytes;
	m->left += request_failed(req);
}

/* Removes the entries of a page. Returns how many there were: 0 after the last page, or where the
 * group is no more. */
static uint64_t removal_page(struct removal *m)
{
	struct group *g = m->r->part.group;
	char key[OBJECT_KEY_BYTES];
	uint64_t count;

	if (g && (group_broadcast(g, &m->count, sizeof(m->count)) < 0 ||
		  (m->count && group_broadcast(g, m->page, m->count * sizeof(m->page[0])) < 0))) {
		m->left++;
		m->count = 0;
	}
	for (uint64_t i = 0; m->deletes && i < m->count; i++) {
		kv_object_key(m->r->work.prefix[m->page[i].tier], m->page[i].id, key);
		batch_delete_add(&m->batch, key, m->page[i].bytes);
	}
	count = m->count;
	m->count = 0;
	return count;
}

static void removal_tier(struct removal *m, uint32_t k)
{
	const struct kv_tiers *tiers = &m->r->tiers;

	for (uint32_t home = 0; home <= k; home++) {
		uint32_t number = tiers->tier[k].lists[home].oldest;

		while (number != KV_NONE) {
			const struct kv_entry *entry = kv_entry_at(&tiers->entries, number);

			m->page[m->count++] =
				(struct removed_entry){entry->item.id, entry->bytes, k};
			if (m->count == REMOVE_PAGE)
				removal_page(m);
			number = entry->link[k].newer;
		}
	}
}

/* Those of all servers that share the tier; none of them has anything under way any more. */
static void removal_shared(struct removal *m, uint32_t k)
{
	struct removed_entry entry = {.tier = k};
	uint32_t at = 0;

	while (kv_shared_next(m->r->sharing.shared, &at, &entry.id, &entry.bytes)) {
		m->page[m->count++] = entry;
		if (m->count == REMOVE_PAGE)
			removal_page(m);
	}
}

static void removal_lead(struct removal *m)
{
	const struct kv_run *r = m->r;

	for (uint32_t k = 0; k < r->tiers.count; k++) {
		if (r->setup.tiers[k].kind != KV_TIER_STORE || r->setup.tiers[k].store != m->store)
			continue;
		if (!kv_tiers_shared(&r->tiers, k))
			removal_tier(m, k);
		else if (r->sharing.owns)
			removal_shared(m, k);
	}
	if (m->count)
		removal_page(m);
	/* The page without entries is the last one. */
	if (m->r->part.group)
		removal_page(m);
}

/* Removes the folders of a rank, which are empty, where the store has folders. */
static void remove_folders(struct queue *q, const char *folder, uint32_t rank, uint32_t tiers)
{
	char key[OBJECT_KEY_BYTES];

	if (!description_wanted(q) || !store_can(q->channel.store, BACKEND_UPDATE))
		return;
	for (uint32_t k = 0; k < tiers; k++) {
		for (uint32_t part = 0; part < KV_FOLDERS; part++) {
			kv_objects_folder(folder, rank, k, part, 3, key);
			small_object_remove(q, key);
		}
		kv_objects_folder(folder, rank, k, 0, 2, key);
		small_object_remove(q, key);
	}
	kv_objects_folder(folder, rank, 0, 0, 1, key);
	small_object_remove(q, key);
}

uint64_t kv_remove(struct kv_run *r, uint32_t store)
{
	struct removal m = {.r = r, .store = store};
	struct err ignored;

	if (!store_can(&r->stores[store], BACKEND_CONTENT))
		return 0;
	m.deletes = r->part.writes;
	if (m.deletes &&
	    batch_delete_open(&m.batch, &r->side[store], removal_removed, &m, &ignored) < 0) {
		m.deletes = false;
		m.left = 1;
	}
	if (r->part.leads)
		removal_lead(&m);
	else
		while (removal_page(&m))
			;
	if (m.deletes)
		batch_delete_flush(&m.batch);
	batch_delete_close(&m.batch);
	/* On other nodes, others remove what is in the same folders. */
	if (r->remote.group && group_barrier(r->remote.group) < 0)
		m.left++;
	remove_folders(&r->side[store], r->setup.options->folder, r->ctx->group->rank,
		       r->setup.tier_count);
	return m.left;
}

/* Whether the last part of a name is that of an entry, as kv_key_text makes them. */
static bool cleaned_name(const char *name)
{
	static const char *const begins[] = {"conv_user_", "user_",   "kv_system_", "rag_doc_",
					     "precond_",   "prepop_", "block_"};

	for (size_t i = 0; i < COUNT(begins); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static bool cleaned_named(const void *argument, const char *name)
{
	(void)argument;
	return cleaned_name(name);
}

/* A folder of blocks while it is cleaned. */
struct cleaned_folder {
	struct clean *clean;
	const char *key; /* ends in "/" */
	enum kv_layout_kind layout;
	uint32_t levels; /* of folders below it */
	struct err *err;
	int *rc;
};

/* Whether it is a block; folders below are cleaned on the way. */
static bool cleaned_block(const void *argument, const char *name)
{
	const struct cleaned_folder *f = argument;
	char key[OBJECT_KEY_BYTES];
	struct cleaned_folder below = *f;

	if (!f->levels)
		return kv_layout_named(f->layout, name);
	snprintf(key, sizeof(key), "%.*s%.*s%s", OBJECT_KEY_BYTES / 2 - 2, f->key,
		 OBJECT_KEY_BYTES / 2 - 2, name, name[strlen(name) - 1] == '/' ? "" : "/");
	below.key = key;
	below.levels--;
	if (*f->rc == 0 && f->key[0] && name[0] != '.')
		*f->rc = clean_listed(f->clean, key, cleaned_block, &below, f->err);
	return false;
}

static int cleaned_blocks(struct clean *c, const char *folder, uint64_t layout, struct err *err)
{
	char key[OBJECT_KEY_BYTES];
	int rc = 0, listed;
	const struct cleaned_folder f = {.clean = c,
					 .key = key,
					 .layout = (enum kv_layout_kind)layout,
					 .levels = kv_layouts[layout].depth,
					 .err = err,
					 .rc = &rc};

	snprintf(key, sizeof(key), "%s/", folder);
	listed = clean_listed(c, key, cleaned_block, &f, err);
	return listed < 0 ? listed : rc;
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
	if (k->layout)
		return g->rank == 0 ? cleaned_blocks(c, d->folder, k->layout - 1, err) : 0;
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

static struct description cleaned_description(const struct phase_context *ctx,
					      const struct job_phase *phase, void *described)
{
	const struct kvcache_options *o = phase->options;

	(void)ctx;
	(void)described;
	return kv_objects_description(o->folder);
}

static int cleaned_stores(const struct job *job, const struct job_phase *phase,
			  const struct job_store *out[PHASE_STORES_MAX], uint32_t *count,
			  struct err *err)
{
	struct kv_setup setup;
	int rc = kv_setup_of(job, phase, &setup, err);

	for (uint32_t k = 0; rc == 0 && k < setup.store_count; k++)
		out[(*count)++] = setup.stores[k];
	return rc;
}

int kvcache_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	struct kv_objects described;
	const struct description_phases phases = {.owner = &kvcache_workload,
						  .of = cleaned_description,
						  .stores = cleaned_stores,
						  .how = {.objects = cleaned_objects,
							  .named = cleaned_name,
							  .described = &described}};

	return description_clean(&phases, ctx, counts, err);
}
