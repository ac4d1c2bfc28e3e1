/* SPDX-License-Identifier: Apache-2.0 */
/* Small objects that haul itself keeps in a store beside the data. They are read and written as a
 * whole. For the thread that owns the queue, with nothing else in flight. */
#ifndef HAUL_WORKLOADS_COMMON_SMALL_OBJECT_H
#define HAUL_WORKLOADS_COMMON_SMALL_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/queue/queue.h"

/* Gives *text (which the caller frees; it ends with a zero byte) and its length. -ENOENT, with a
 * sentence: there is none. -EINVAL: it has more than bytes_max. */
int small_object_load(struct queue *q, const char *key, uint64_t bytes_max, char **text,
		      size_t *length, struct err *err);

/* Replaces the object as a whole (begin, write, commit). */
int small_object_save_bytes(struct queue *q, const char *key, const void *bytes, uint64_t length,
			    struct err *err);
int small_object_save(struct queue *q, const char *key, const char *text, struct err *err);

/* Removes an object, or a folder (the key ends in "/") if it is empty. Nobody needs to know whether
 * it was there. */
void small_object_remove(struct queue *q, const char *key);
/* Removes an object that says what its folder holds, and the folder where nothing else is in it: a store that keeps records of the
 * folders that haul made (core/made.h) removes those with it, any other one is asked to. */
void small_object_leave(struct queue *q, const char *key);
/* The key of the folder that an object is in, with the slash at its end; "": the store's root. False: the store has no folders to
 * remove by a request. */
bool small_object_folder(const struct store *store, const char *key, char folder[OBJECT_KEY_BYTES]);

/* The name of one entry of the folder ("": the store's root; with or without the slash at its end), namely the first that the store
 * returns; "" where the folder is empty or does not exist. Takes one request. Returns a negative
 * errno with a sentence where the store cannot tell. */
int folder_first(struct queue *q, const char *folder, char name[OBJECT_KEY_BYTES], struct err *err);

#endif
