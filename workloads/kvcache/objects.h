/* Entries as objects of a store:
 *
 *	FOLDER/.haul-kvcache.json               what a run keeps there, while it keeps something
 *	FOLDER/RANK/TIER/XX/conv_user_0007_…    an entry; XX: eight bits of a hash of its id
 *
 * The description is written before the first entry, and removed after the last one. So a folder that has one belongs to a
 * run, or to one that was killed, and `haul clean` removes it.
 *
 * Functions with a queue are for the thread that owns it, with nothing else in flight. */
#ifndef HAUL_WORKLOADS_KVCACHE_OBJECTS_H
#define HAUL_WORKLOADS_KVCACHE_OBJECTS_H

#include "backends/queue/queue.h"
#include "core/group/group.h"
#include "workloads/kvcache/tiers/entries.h"

enum { KV_FOLDERS = 256, KV_OBJECTS_LAYOUT = 1 };

struct kv_objects {
	uint64_t version; /* KV_OBJECTS_LAYOUT of the haul that made them */
	uint64_t ranks, tiers;
};

/* "kvcache/000003/1/7f/", with fewer parts where depth is less than 3. */
void kv_objects_folder(const char *folder, uint32_t rank, uint32_t tier, uint32_t part,
		       unsigned depth, char key[OBJECT_KEY_BYTES]);
/* The key of an entry; prefix: the folder of its tier, "kvcache/000003/1/". */
void kv_object_key(const char *prefix, struct kv_id id, char key[OBJECT_KEY_BYTES]);
/* Whether the last part of a name is that of an entry, as kv_key_text makes them. */
bool kv_object_named(const char *name);

/* The key of the description. */
void kv_objects_description(const char *folder, char key[OBJECT_KEY_BYTES]);
/* The description. -ENOENT: there is none. -EINVAL: it is not one. */
int kv_objects_load(struct kv_objects *o, struct queue *q, const char *folder, struct err *err);
/* Refuses a folder that has a description or anything else (-EEXIST), and writes one. Collective; rank 0 asks the store. */
int kv_objects_begin(const struct kv_objects *o, struct queue *q, const char *folder,
		     struct group *g, struct err *err);
/* Removes the folders of a rank, which are empty, where the store has folders. */
void kv_objects_leave(struct queue *q, const char *folder, uint32_t rank, uint32_t tiers);
/* Removes the description and the folder. For rank 0, when all ranks have left. */
void kv_objects_end(struct queue *q, const char *folder);

#endif
