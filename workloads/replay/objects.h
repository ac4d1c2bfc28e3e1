/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a trace as objects of a store:
 *
 *	FOLDER/.haul-replay.json               the description of the folder
 *	FOLDER/2/7f/conv_user_0007_turn_1      the key "conv_user_0007_turn_1" of tier 2; 7f: eight bits of a hash of the key
 *
 * All bytes of a key but letters, digits, "-" and "_" are written as "%2F". So a key has no folders, cannot leave FOLDER, and
 * cannot look like a file of haul's own or of a store. A name that would be longer than file systems allow ends, after
 * OBJECTS_CUT bytes, in "%%" and a hash of the whole key.
 *
 * In a folder with a description, the objects whose names fit the folders that they are in are haul's.
 *
 * Functions with a queue are for the thread that owns it, with nothing else in flight. */
#ifndef HAUL_WORKLOADS_REPLAY_OBJECTS_H
#define HAUL_WORKLOADS_REPLAY_OBJECTS_H

#include "workloads/common/description.h"

enum {
	OBJECTS_FOLDERS = 256,
	OBJECTS_LAYOUT = 1,
	OBJECTS_NAME_MAX =
		240, /* a file system allows 255, and the store has a name beside it while it writes */
	OBJECTS_CUT = 200,
	OBJECTS_HASH_DIGITS = 32
};

/* The key of the draws that give each key of a trace to a thread: "thread". */
#define REPLAY_THREAD_STREAM UINT64_C(0x746872656164)

struct replay_objects {
	uint64_t version; /* OBJECTS_LAYOUT of the haul that made them */
	uint64_t tiers;   /* as bits */
};

/* A hash of a key, by which keys are spread over ranks, threads and folders. */
uint64_t replay_key_hash(const char *text, size_t length);

/* "replay/2/7f/", with fewer parts where depth is less than 2. */
void replay_objects_folder(const char *folder, uint32_t tier, uint32_t part, unsigned depth,
			   char key[OBJECT_KEY_BYTES]);
/* The object of a key (ending in a zero byte) of a tier. folder: at most REPLAY_FOLDER_BYTES. */
void replay_object_key(const char *folder, uint32_t tier, const char *text,
		       char key[OBJECT_KEY_BYTES]);
/* Whether the last part of a name is one that replay_object_key makes, published or not; and
 * whether it is one of that folder. */
bool replay_object_named(const char *name);
bool replay_object_of(const char *name, uint32_t part);

/* Of the folder; a struct replay_objects is written. */
struct description replay_objects_description(const char *folder);
/* Removes this rank's share of the folders that objects were in, which are empty now, where the
 * store has folders. When all ranks have removed their objects. */
void replay_objects_leave(const struct replay_objects *o, struct queue *q, const char *folder,
			  const struct group *g);
/* Removes the folders of the tiers, the description and the folder. For rank 0, when all ranks have
 * left. */
void replay_objects_end(const struct replay_objects *o, struct queue *q, const char *folder);

#endif
