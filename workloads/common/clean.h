/* Removing what haul made: what the kinds of phases share of their `clean`.
 *
 * A kind finds out, from what it left beside its objects, what they are called and how large they are. clean_objects
 * removes those that are there and are as they were made, by all ranks and several threads of each, as many by one
 * request as the store takes. Everything else stays and is counted. Main thread; every call is collective but for
 * clean_key and clean_folder. */
#ifndef HAUL_WORKLOADS_COMMON_CLEAN_H
#define HAUL_WORKLOADS_COMMON_CLEAN_H

#include "workloads/common/batch_delete.h"
#include "workloads/common/crew.h"

enum { CLEAN_THREADS = 4 };

struct clean_objects {
	uint64_t count;
	/* Object i under one of the names that it may have: the first is its own, another may stand for it where
	 * the first is not there. */
	void (*key)(const void *argument, uint64_t i, uint32_t name, char key[OBJECT_KEY_BYTES]);
	uint32_t names;
	/* Whether object i is as haul made it, or less of it where a run ended early, when it has so many bytes. */
	bool (*made)(const void *argument, uint64_t i, uint64_t bytes);
	const void *argument;
	/* A run may have ended early: parts of files that a file store had not published go, too. */
	bool unfinished;
};

struct clean {
	struct store store;
	struct crew crew;
	struct batch_delete deletes[CLEAN_THREADS]; /* each its thread's */
	const struct clean_objects *objects;
};

/* Opens the store and the threads. -ENOTSUP: the store keeps nothing. clean_close also after an error. */
int clean_open(struct clean *c, struct phase_context *ctx, const struct job_store *described,
	       struct err *err);
void clean_close(struct clean *c);

/* What is not there, or not empty, is no error; of others the first is returned, after all that could be removed
 * is. -EINTR: a stop was asked for. */
int clean_objects(struct clean *c, const struct clean_objects *objects, struct err *err);

/* For what lies beside the objects. This rank alone, from its first queue; failures are for clean_end. */
struct queue *clean_queue(struct clean *c);
void clean_key(struct clean *c, const char *key);
/* The key ends in "/". Folders that hold something stay. */
void clean_folder(struct clean *c, const char *key);

/* The first error that any rank met, or 0. */
int clean_end(struct clean *c, struct err *err);

/* Objects of all ranks that stayed because they are not as haul made them. */
int clean_kept(struct clean *c, uint64_t *kept);

/* Adds what all ranks did. complete: all of it is gone. */
int clean_add(const struct clean *c, bool complete, struct clean_counts *counts);

#endif
