/* Entries as objects of a store: see objects.h. */
#include "workloads/kvcache/objects.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/json.h"
#include "core/option/option.h"
#include "workloads/common/folder.h"
#include "workloads/common/small_object.h"
#include "workloads/kvcache/tiers/key.h"

enum { OBJECTS_TEXT_MAX = 4096, OBJECTS_DEPTH = 2, OBJECTS_VALUES = 16 };

static const struct option objects_options[] = {
	OPT_U64("haul_kvcache", struct kv_objects, version, .required = true, .min = 1,
		.max = 1000000),
	OPT_U64("ranks", struct kv_objects, ranks, .required = true, .min = 1, .max = UINT32_MAX),
	OPT_U64("tiers", struct kv_objects, tiers, .required = true, .min = 1, .max = KV_TIERS_MAX),
	OPT_END};
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

bool kv_object_named(const char *name)
{
	static const char *const begins[] = {"conv_user_", "user_",    "kv_system_",
					     "rag_doc_",   "precond_", "prepop_"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

void kv_objects_description(const char *folder, char key[OBJECT_KEY_BYTES])
{
	snprintf(key, OBJECT_KEY_BYTES, "%s/.haul-kvcache.json", folder);
}

int kv_objects_load(struct kv_objects *o, struct queue *q, const char *folder, struct err *err)
{
	char key[OBJECT_KEY_BYTES], *text = NULL;
	struct arena arena = {NULL};
	cJSON *root = NULL;
	size_t length;
	int rc;

	kv_objects_description(folder, key);
	rc = small_object_load(q, key, OBJECTS_TEXT_MAX, &text, &length, err);
	if (rc < 0)
		return rc;
	rc = json_parse(&root, text, length, OBJECTS_DEPTH, OBJECTS_VALUES, err);
	if (rc == 0)
		rc = options_parse(objects_tables, o, root, "", &arena, err);
	if (rc < 0)
		err_wrap(err, rc, "%s/%s", q->channel.store->uri, key);
	cJSON_Delete(root);
	arena_free(&arena);
	free(text);
	return rc;
}

static int objects_save(const struct kv_objects *o, struct queue *q, const char *folder,
			struct err *err)
{
	cJSON *root = options_to_json(objects_tables, o);
	char key[OBJECT_KEY_BYTES], *text = root ? json_print(root) : NULL;
	int rc;

	kv_objects_description(folder, key);
	rc = text ? small_object_save(q, key, text, err)
		  : err_set(err, -ENOMEM, "%s/%s: no memory", q->channel.store->uri, key);
	free(text);
	cJSON_Delete(root);
	return rc;
}

/* What is in the folder might be someone else's. */
static int objects_check_empty(struct queue *q, const char *folder, struct err *err)
{
	const char *uri = q->channel.store->uri;
	char name[OBJECT_KEY_BYTES];
	struct kv_objects had;
	struct err ignored;
	int rc = kv_objects_load(&had, q, folder, &ignored);

	if (rc == 0)
		return err_set(err, -EEXIST,
			       "%s/%s: has entries of a run that goes on or was killed; `haul "
			       "clean` removes them, or use another folder",
			       uri, folder);
	if (!store_can(q->channel.store, BACKEND_LIST))
		return 0;
	rc = folder_first(q, folder, name, err);
	if (rc < 0 || !name[0])
		return rc;
	return err_set(err, -EEXIST,
		       "%s/%s: holds \"%s\", and nothing says that haul made it: it stays; use "
		       "another folder",
		       uri, folder, name);
}

/* A store that keeps no content, or whose content nobody else sees, needs no description. */
static bool objects_described(const struct queue *q)
{
	return store_can(q->channel.store, BACKEND_CONTENT) &&
	       store_can(q->channel.store, BACKEND_PERSISTENT);
}

int kv_objects_begin(const struct kv_objects *o, struct queue *q, const char *folder,
		     struct group *g, struct err *err)
{
	int rc = 0;

	if (g->rank == 0 && objects_described(q)) {
		rc = objects_check_empty(q, folder, err);
		if (rc == 0)
			rc = objects_save(o, q, folder, err);
	}
	return group_agree(g, rc, err);
}

static void objects_remove(struct queue *q, const char *key)
{
	struct object o = {0};
	struct request req = {.op = REQ_DELETE, .object = &o};

	snprintf(o.key, sizeof(o.key), "%s", key);
	queue_do(q, &req);
}

void kv_objects_leave(struct queue *q, const char *folder, uint32_t rank, uint32_t tiers)
{
	char key[OBJECT_KEY_BYTES];

	if (!objects_described(q) || !store_can(q->channel.store, BACKEND_UPDATE))
		return;
	for (uint32_t k = 0; k < tiers; k++) {
		for (uint32_t part = 0; part < KV_FOLDERS; part++) {
			kv_objects_folder(folder, rank, k, part, 3, key);
			objects_remove(q, key);
		}
		kv_objects_folder(folder, rank, k, 0, 2, key);
		objects_remove(q, key);
	}
	kv_objects_folder(folder, rank, 0, 0, 1, key);
	objects_remove(q, key);
}

void kv_objects_end(struct queue *q, const char *folder)
{
	char key[OBJECT_KEY_BYTES];

	if (!objects_described(q))
		return;
	kv_objects_description(folder, key);
	objects_remove(q, key);
	kv_objects_folder(folder, 0, 0, 0, 0, key);
	if (store_can(q->channel.store, BACKEND_UPDATE))
		objects_remove(q, key);
}
