/* SPDX-License-Identifier: Apache-2.0 */
/* Entries as objects of a store: see objects.h. */
#include "workloads/kvcache/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "workloads/kvcache/tiers/key.h"

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

struct description kv_objects_description(const char *folder)
{
	return (struct description){.folder = folder,
				    .file = ".haul-kvcache.json",
				    .what = "entries",
				    .tables = objects_tables,
				    .version = KV_OBJECTS_LAYOUT,
				    .size = sizeof(struct kv_objects)};
}
