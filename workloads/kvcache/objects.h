/* SPDX-License-Identifier: Apache-2.0 */
/* Entries as objects of a store:
 *
 *	FOLDER/.haul-kvcache.json               the description of the folder
 *	FOLDER/RANK/TIER/XX/conv_user_0007_…    an entry; XX: eight bits of a hash of its id
 *	FOLDER/XX/block_…                       a block of the profile serving, which all ranks share; other
 *	                                        layouts, and files of slots: see serving/layout.h
 */
#ifndef HAUL_WORKLOADS_KVCACHE_OBJECTS_H
#define HAUL_WORKLOADS_KVCACHE_OBJECTS_H

#include "backends/queue/queue.h"
#include "workloads/common/description.h"
#include "workloads/kvcache/tiers/entries.h"

enum { KV_FOLDERS = 256, KV_OBJECTS_LAYOUT = 1 };

struct kv_work;

struct kv_objects {
	uint64_t version; /* KV_OBJECTS_LAYOUT of the haul that made them */
	uint64_t ranks, tiers;
	uint64_t layout; /* profile serving: enum kv_layout_kind + 1; else 0 */
};

/* "kvcache/000003/1/7f/", with fewer parts where depth is less than 3. */
void kv_objects_folder(const char *folder, uint32_t rank, uint32_t tier, uint32_t part,
		       unsigned depth, char key[OBJECT_KEY_BYTES]);
/* The key of an entry; prefix: the folder of its tier, "kvcache/000003/1/". */
void kv_object_key(const char *prefix, struct kv_id id, char key[OBJECT_KEY_BYTES]);

/* The key of a block of the profile serving. */
void kv_block_key(const struct kv_work *work, uint32_t tier, struct kv_id id,
		  char key[OBJECT_KEY_BYTES]);
/* Removes the folders that a block lay in, where they are empty, and the store has folders. */
void kv_block_remove_folders(const struct kv_work *work, struct queue *q, const char *key);

/* Of the folder; a struct kv_objects is written. */
struct description kv_objects_description(const char *folder);

#endif
