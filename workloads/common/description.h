/* SPDX-License-Identifier: Apache-2.0 */
/* Description of a folder: a small JSON object beside the objects of a phase, which says what a run
 * keeps there while it keeps something. It is written before the first object, and removed after
 * the last one. So a folder that has one belongs to a run, or to one that was killed, and `haul
 * clean` removes the objects, whose names it finds by listing folders.
 *
 * A store that keeps no content, or whose content nobody else sees, has no descriptions.
 *
 * Functions with a queue are for the thread that owns it, with nothing else in flight. */
#ifndef HAUL_WORKLOADS_COMMON_DESCRIPTION_H
#define HAUL_WORKLOADS_COMMON_DESCRIPTION_H

#include "core/option/option.h"
#include "core/owner.h"
#include "workloads/common/clean.h"
#include "workloads/workload.h"

/* Place: a folder of a store that one run at a time writes, beside others that may want to: a data
 * set, checkpoints, tiers. Rank 0 holds the lock, which no crash leaves behind (core/owner.h), by a
 * file beside the folder, "FOLDER.haul-owner", or an object that is a lease (backends/http/http.h).
 * Where a file system has no locks, or an object store heeds no conditions, a warning says that nothing
 * keeps another run out; daos:// has none, and says nothing.
 *
 * Main thread. place_take and place_wait are collective over the group. */

struct place {
	struct owner owner; /* zeroed: none */
	uint64_t next_ns;   /* trying again pays no sooner */
};

/* Takes the folder. -EBUSY with a sentence that says who has it. */
int place_take(struct place *p, const struct store *store, const char *folder, struct group *group,
	       struct err *err);
/* The same, but waits until another run gives it back. *stopped: a reason to end came meanwhile;
 * then it is not taken. */
int place_wait(struct place *p, const struct store *store, const char *folder,
	       const struct phase_context *ctx, enum stop_reason *stopped, struct err *err);
/* Gives it back; a place that was not taken is none. */
void place_give(struct place *p);

struct description {
	const char *folder;                 /* "kvcache"; "": the root of the store */
	const char *file;                   /* ".haul-kvcache.json" */
	const char *what;                   /* that lie there, for messages: "entries" */
	const struct option *const *tables; /* of the struct that is written */
	/* For description_clean, the struct begins with a uint64_t, which must be this: the version
	 * of the names. 0: it does not. */
	uint64_t version;
	/* Checks a struct that was read: -EINVAL with a sentence. NULL: it needs none. */
	int (*check)(void *into, struct err *err);
	size_t size; /* of the struct */
	/* For description_begin: the command that removes what a run has left. NULL: not known. */
	const char *clean;
};

void description_key(const struct description *d, char key[OBJECT_KEY_BYTES]);
/* Whether the store of the queue has descriptions. */
bool description_wanted(const struct queue *q);

/* The struct that a text describes, whoever has written it. -EINVAL: it is not a description. */
int description_parse(const struct description *d, void *into, const char *text, size_t length,
		      struct err *err);
/* -ENOENT: there is none. -EINVAL: it is not one. */
int description_load(const struct description *d, void *into, struct queue *q, struct err *err);
int description_save(const struct description *d, const void *from, struct queue *q,
		     struct err *err);
/* Refuses a folder without a description that holds something, since it might be someone else's
 * (-EEXIST). */
int description_refuse_others(const struct description *d, struct queue *q, struct err *err);
/* Refuses a folder that has a description or anything else (-EEXIST), and writes one. Collective;
 * rank 0 asks the store. */
int description_begin(const struct description *d, const void *from, struct queue *q,
		      struct group *g, struct err *err);
/* Removes the description and the folder. For rank 0, when nothing else is in it. */
void description_end(const struct description *d, struct queue *q);

/* How the objects of a described folder are removed. */
struct description_clean {
	/* Removes this rank's share of the objects (clean_listed, clean_objects), and of their
	 * folders. described: the struct of the description. *stays, false before, is set where
	 * some objects are not removed: then the description stays, too. Returns the first
	 * error. */
	int (*objects)(struct clean *c, const struct description *d, const void *described,
		       bool *stays, struct err *err);
	/* Whether the last part of the name of an open upload is one of them. NULL: uploads are
	 * removed with objects. */
	bool (*named)(const char *name);
	/* For rank 0, when all ranks have removed theirs: removes folders that have become empty.
	 * NULL: there are none. */
	void (*folders)(struct clean *c, const struct description *d, const void *described);
	void *described; /* [d->size] */
};
/* Phases of one kind, each of which has a described folder. */
struct description_phases {
	const struct workload *owner;
	/* The description of the folder of such a phase; `described` becomes what the job says. */
	struct description (*of)(const struct phase_context *ctx, const struct job_phase *phase,
				 void *described);
	/* The stores that have the folder. NULL: the phase's own store. */
	int (*stores)(const struct job *job, const struct job_phase *phase,
		      const struct job_store *out[PHASE_STORES_MAX], uint32_t *count,
		      struct err *err);
	struct description_clean how;
};
/* Removes what runs have left in the folders of all such phases: objects, open uploads, the
 * description. Without a description, only one that was not published is removed, and the folder if
 * it is empty. Adds to counts. Returns the first error; the other folders are cleaned all the same.
 * Collective. */
int description_clean(const struct description_phases *p, struct phase_context *ctx,
		      struct clean_counts *counts, struct err *err);

#endif
