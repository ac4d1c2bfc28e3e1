/* Import of a run of MLPerf's key-value cache benchmark: see import_kvcache.h. */
#include "import/kvcache/import_kvcache.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "import/kvcache/keys.h"
#include "import/kvcache/kvc.h"
#include "import/kvcache/parts.h"
#include "import/overrides.h"
#include "import/yaml/tree.h"

enum { JOB_NAME_MAX = 63, FLAG_BYTES = 1024, KEY_DEPTH_MAX = 4, URI_MAX = 1024 };

static const double seed_default = 42;

static bool kvc_is(const cJSON *value, enum kvc_kind kind)
{
	const cJSON *first = cJSON_GetArrayItem(value, 0), *second = cJSON_GetArrayItem(value, 1);

	switch (kind) {
	case KVC_NUMBER:
		return cJSON_IsNumber(value);
	case KVC_TEXT:
		return cJSON_IsString(value);
	case KVC_BOOL:
		return cJSON_IsBool(value);
	case KVC_RANGE:
		return cJSON_IsArray(value) && cJSON_GetArraySize(value) == 2 &&
		       cJSON_IsNumber(first) && cJSON_IsNumber(second) &&
		       first->valuedouble <= second->valuedouble;
	case KVC_ANY:
		break;
	}
	return true;
}

/* One key that is given. */
static int kvc_key(struct kvc *k, const char *path, const cJSON *value)
{
	static const char *const kinds[] = {[KVC_NUMBER] = "a number",
					    [KVC_TEXT] = "a text",
					    [KVC_BOOL] = "true or false",
					    [KVC_RANGE] = "two numbers, the smaller one first",
					    [KVC_ANY] = "anything"};
	const struct kvc_key *key = kvc_key_find(path);

	k->out->keys++;
	if (!key) {
		kvc_found(k, IMPORT_UNKNOWN, path, "the benchmark has no such flag or key");
		return 0;
	}
	if (!kvc_is(value, key->kind))
		return err_set(k->err, -EINVAL, "%s: must be %s", path, kinds[key->kind]);
	if (key->way == KVC_COPY || key->way == KVC_CHANGED)
		kvc_put(k, key->to, cJSON_Duplicate(value, true));
	if (key->way == KVC_CHANGED)
		kvc_found(k, IMPORT_CHANGED, path, key->why);
	else if (key->way == KVC_LEFT)
		kvc_found(k, IMPORT_LEFT, path, key->why);
	return 0;
}

/* All keys below one. */
static int kvc_keys_of(struct kvc *k, const char *path, const cJSON *value, unsigned depth)
{
	const cJSON *one;
	int rc = 0;

	if (cJSON_IsNull(value))
		return 0;
	if (!cJSON_IsObject(value))
		return kvc_key(k, path, value);
	if (depth == KEY_DEPTH_MAX)
		return err_set(k->err, -EINVAL, "%s: has keys below keys below keys", path);
	cJSON_ArrayForEach(one, value)
	{
		char below[IMPORT_KEY_BYTES];
		int n = snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "",
				 one->string);

		if (n < 0 || (size_t)n >= sizeof(below))
			return err_set(k->err, -EINVAL, "%s: has a key that is too long", path);
		rc = kvc_keys_of(k, below, one, depth + 1);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void kvc_add_store(struct kvc *k, cJSON *job)
{
	const char *folder = kvc_text(k, "cache-dir", "./kvcache");
	cJSON *stores = cJSON_AddObjectToObject(job, "stores");
	cJSON *store = cJSON_AddObjectToObject(stores, "cache");
	char uri[URI_MAX];

	snprintf(uri, sizeof(uri), "file://%s%s", folder[0] == '/' || folder[0] == '.' ? "" : "./",
		 folder);
	if (!store) {
		k->out->failed = true;
		return;
	}
	kvc_add_text(k, store, "uri", uri);
	kvc_add_text(k, store, "fsync", "file");
	if (kvc_at(k, "cache-dir"))
		kvc_found(
			k, IMPORT_CHANGED, "cache-dir",
			"entries lie in a folder of it, which must be empty; the original deletes "
			"all *.npy that it finds");
}

static int kvc_job(struct kvc *k, const char *name)
{
	cJSON *job = k->out->job = cJSON_CreateObject(), *phases, *entry;
	char cut[JOB_NAME_MAX + 1];
	int rc;

	snprintf(cut, sizeof(cut), "%s", json_text_plain(name) && *name ? name : "kvcache");
	kvc_add_text(k, job, "name", cut);
	kvc_add_number(k, job, "seed", kvc_number(k, "seed", seed_default));
	kvc_add_cluster(k, job);
	kvc_add_store(k, job);
	phases = cJSON_AddArrayToObject(job, "phases");
	entry = cJSON_CreateObject();
	if (!cJSON_AddItemToArray(phases, entry))
		cJSON_Delete(entry);
	else
		k->phase = cJSON_AddObjectToObject(entry, "kvcache");
	if (!k->phase)
		return err_set(k->err, -ENOMEM, "no memory for the job");
	rc = kvc_keys_of(k, "", k->tree, 0);
	if (rc < 0)
		return rc;
	kvc_add_model(k);
	kvc_add_users(k);
	kvc_add_tiers(k);
	kvc_add_retrieval(k);
	kvc_add_modes(k);
	kvc_add_autoscaling(k);
	return k->out->failed ? err_set(k->err, -ENOMEM, "no memory for the job") : 0;
}

/* "--num-users=200" and "num-users=200" are the same. */
static int kvc_flags(struct kvc *k, const char *const *flags, unsigned count)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < count; i++) {
		const char *flag = flags[i] + (strncmp(flags[i], "--", 2) == 0 ? 2 : 0);
		char text[FLAG_BYTES];
		int n = snprintf(text, sizeof(text), "++%s%s", flag,
				 strchr(flag, '=') ? "" : "=true");

		if (n < 0 || (size_t)n >= sizeof(text))
			return err_set(k->err, -EINVAL, "%.64s: is too long", flags[i]);
		rc = override_apply(k->tree, text, k->err);
	}
	return rc;
}

int import_kvcache(struct import *out, const char *name, const char *text, size_t length,
		   const char *const *flags, unsigned flag_count, struct err *err)
{
	struct kvc k = {.out = out, .err = err};
	int rc = 0;

	*out = (struct import){0};
	if (length)
		rc = yaml_tree_read(&k.tree, text, length, err);
	else
		k.tree = cJSON_CreateObject();
	if (rc < 0)
		return rc;
	if (!cJSON_IsObject(k.tree)) {
		cJSON_Delete(k.tree);
		return err_set(err, -EINVAL, "is not a config.yaml: it must hold keys");
	}
	rc = kvc_flags(&k, flags, flag_count);
	if (rc == 0)
		rc = kvc_job(&k, name);
	cJSON_Delete(k.tree);
	return rc;
}
