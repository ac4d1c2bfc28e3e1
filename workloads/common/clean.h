/* SPDX-License-Identifier: Apache-2.0 */
/* Removing what haul made: what the kinds of phases share for `haul clean`.
 *
 * A kind finds out, from what it left beside its objects, their names and sizes. clean_objects
 * removes those that are there and unchanged, with all ranks and several threads of each, as many
 * per request as the store takes, and drops their open uploads. All other objects stay and are
 * counted. Main thread. Every call is collective, except clean_key, clean_listed and
 * clean_folder. */
#ifndef HAUL_WORKLOADS_COMMON_CLEAN_H
#define HAUL_WORKLOADS_COMMON_CLEAN_H

#include "workloads/common/crew.h"
#include "workloads/common/open_uploads.h"

/* Batched deletes: removes objects, as many per request as the store takes. It belongs to the
 * thread of its queue. */

struct batch_delete {
	struct queue *queue;
	struct request_key *keys; /* [REQ_KEYS_MAX]; NULL: the store takes one at a time */
	uint64_t *bytes;          /* [REQ_KEYS_MAX] */
	uint32_t count;           /* waiting to be removed */
	void (*removed)(void *argument, const struct request *req, uint64_t bytes);
	void *argument;
	uint64_t versions; /* so many were removed, and stay as versions */
};

/* removed is called once for each added key, in batch_delete_add or batch_delete_flush. The request
 * then has the key, the status (0, -ENOENT where the store can tell, or the error) and why. removed
 * must not use the queue. Returns 0 or -ENOMEM. */
int batch_delete_open(struct batch_delete *r, struct queue *q,
		      void (*removed)(void *argument, const struct request *req, uint64_t bytes),
		      void *argument, struct err *err);
/* May be called for a zeroed struct. Keys that still wait are not removed. */
void batch_delete_close(struct batch_delete *r);

/* Adds an object, not a folder. bytes are passed to removed. Nothing else may be in flight. */
void batch_delete_add(struct batch_delete *r, const char *key, uint64_t bytes);
void batch_delete_flush(struct batch_delete *r);

enum { CLEAN_THREADS = 4 };

struct clean_objects {
	uint64_t count;
	/* One of the names that object i may have. The first is its own; another one may replace it
	 * where the first is not there. */
	void (*key)(const void *argument, uint64_t i, uint32_t name, char key[OBJECT_KEY_BYTES]);
	uint32_t names;
	/* Whether an object i of that size is as haul made it, or less of it where a run ended
	 * early. */
	bool (*made)(const void *argument, uint64_t i, uint64_t bytes);
	const void *argument;
	const char *folder; /* that all of them are in; "": the store's root */
};

struct clean {
	struct store store;
	struct crew crew;
	struct batch_delete deletes[CLEAN_THREADS]; /* one per thread */
	const struct clean_objects *objects;
	struct open_uploads uploads; /* below the folder of objects */
	/* Of each thread, the number of the first object that it left as it is; UINT64_MAX:
	 * none. */
	uint64_t first_kept[CLEAN_THREADS];
	uint64_t remain; /* on all ranks, the same on each: see struct clean_counts */
	/* On rank 0: see struct clean_counts. */
	char kept_name[CLEAN_TEXT_BYTES], holds[CLEAN_TEXT_BYTES];
};

/* Opens the store and the threads, calls remove, and adds what has been removed, however that
 * ended. -ENOTSUP: the store keeps nothing, and remove was not called. */
int clean_store(struct phase_context *ctx, const struct job_store *described,
		int (*remove)(struct clean *c, void *argument, struct err *err), void *argument,
		struct clean_counts *counts, struct err *err);

/* Removes the objects, and drops uploads of them that runs have left open. An object that is not
 * there is not an error. Of other errors the first is returned, after everything else has been
 * removed. -EINTR: a stop was requested. */
int clean_objects(struct clean *c, const struct clean_objects *objects, struct err *err);

/* The first queue of this rank, for what lies beside the objects. Failures are reported by
 * clean_end. */
struct queue *clean_queue(struct clean *c);
void clean_key(struct clean *c, const char *key);
/* Removes the objects of a folder, whose key ends in "/", that are ours by their names; then the
 * folder if it is empty. Not collective. Returns a negative errno with a sentence where the folder
 * cannot be listed. */
int clean_listed(struct clean *c, const char *folder,
		 bool (*ours)(const void *argument, const char *name), const void *argument,
		 struct err *err);
/* Drops the open uploads below a folder whose names, behind the last slash, are those of haul's
 * objects. Collective. */
int clean_uploads_named(struct clean *c, const char *folder, bool (*named)(const char *name),
			struct err *err);
/* Removes what describes a folder, and the folder: see small_object_leave. Rank 0 notes what a folder that stays holds. */
void clean_home(struct clean *c, const char *description);
/* The key ends in "/". Folders that are not empty stay, and rank 0 notes what the first of its own
 * holds. */
void clean_folder(struct clean *c, const char *key);

/* For kinds that have several places to clean: keeps the error of the first that failed, so that
 * the next one is cleaned all the same. Returns whether to go on: not after a stop. */
bool clean_goes_on(int rc, const struct err *err, int *first, struct err *first_err);

/* The first error that any rank met, or 0. */
int clean_end(struct clean *c, struct err *err);

/* Objects of all ranks that stayed because they are not as haul made them. */
int clean_kept(struct clean *c, uint64_t *kept);

#endif
