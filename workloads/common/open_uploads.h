/* SPDX-License-Identifier: Apache-2.0 */
/* Open uploads: versions of objects that runs have begun in a store and never ended, because they
 * were killed. An object store keeps the parts that have come, out of sight, until somebody drops
 * them. A store of files has them beside the objects, under the names of parts (core/part.h).
 *
 * It holds the name and the id of every upload below a folder in memory, whoever began it: the
 * caller drops those of its own objects. Read-only after open_uploads_find, then for any thread. */
#ifndef HAUL_WORKLOADS_COMMON_OPEN_UPLOADS_H
#define HAUL_WORKLOADS_COMMON_OPEN_UPLOADS_H

#include "backends/queue/queue.h"
#include "core/group/group.h"

struct open_uploads {
	char *text; /* for each upload its key and its id, each with a zero byte */
	uint64_t bytes, room;
	const char **keys; /* [count] into text, in the order of strcmp; the id follows the key */
	uint64_t count;
};

/* All uploads below the folder ("": of the whole store). Collective over the group; rank 0 asks the
 * store, by its queue, with nothing else in flight. A store that has neither BACKEND_UPLOADS nor
 * files has none; of one with files each folder is listed. Where the store does not let this client
 * list them, it says so in a warning, and has none. Call open_uploads_free also after an error. */
int open_uploads_find(struct open_uploads *u, struct queue *q, struct group *g, const char *folder,
		      struct err *err);
void open_uploads_free(struct open_uploads *u);

/* The uploads of one object: their number, and where in keys the first of them is. */
uint64_t open_uploads_of(const struct open_uploads *u, const char *key, uint64_t *first);

/* Drops upload i. req is filled in for messages; o must live as long as req. One that is gone
 * already is not an error. */
int open_uploads_drop(const struct open_uploads *u, uint64_t i, struct queue *q, struct object *o,
		      struct request *req);

/* For one rank alone, whose queue it is, and who has the folder's lock: drops what a run that ended early has left of the folder's
 * objects 0 to count - 1, and says how much; key as in struct clean_objects. Where the store has no uploads, or does not list
 * them, nothing is done. */
void open_uploads_drop_left(struct queue *q, const char *folder, uint64_t count,
			    void (*key)(const void *argument, uint64_t i, uint32_t name,
					char key[OBJECT_KEY_BYTES]),
			    const void *argument);

/* Of a store that has files, for one rank alone, whose queue it is: removes the parts of one
 * object, or, where the key is "" or ends in "/", of all objects in the folder and below it.
 * Returns how many. */
uint64_t open_uploads_drop_parts(struct queue *q, const char *key);

/* folder_first, for who has the folder's lock: versions of the object key in it that are not whole are of runs that were killed, so
 * they are removed where they are all that the folder seems to hold. */
int folder_first_whole(struct queue *q, const char *folder, const char *key,
		       char name[OBJECT_KEY_BYTES], struct err *err);

#endif
