/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest: what `haul generate` leaves beside a data set, so that it can be continued, checked
 * and cleaned by what it is, never by a pattern. One small JSON object per folder, in the data
 * set's own store.
 *
 * It holds the definition (options, seed, version of the layouts), from which every name and size
 * follows, and whether all files are there. Plain data, any thread; load and save use the caller's
 * queue, with nothing else in flight. */
#ifndef HAUL_WORKLOADS_DATASET_MANIFEST_H
#define HAUL_WORKLOADS_DATASET_MANIFEST_H

#include "backends/queue/queue.h"
#include "core/arena.h"
#include "workloads/dataset/dataset.h"

enum {
	MANIFEST_TEXT_MAX = 64 << 10,
	MANIFEST_LAYOUT =
		1 /* raised whenever the same options would give other names, sizes or bytes */
};

struct manifest {
	struct dataset_options dataset; /* store is left empty: names of stores are the job's own */
	uint64_t seed;
	uint64_t layout;       /* MANIFEST_LAYOUT of the haul that made it */
	bool complete;         /* every file is there */
	char generated_by[32]; /* haul's version */
	struct arena arena;    /* lists in dataset, where it was parsed */
};

/* After a manifest_parse or manifest_load that returned 0. */
void manifest_free(struct manifest *m);

/* What generating d would leave. Shares d's lists; nothing to free. */
void manifest_of(struct manifest *m, const struct dataset *d, bool complete);

/* "train/.haul-manifest.json" */
void manifest_key(const char *folder, char key[OBJECT_KEY_BYTES]);

/* From and to JSON. -EINVAL with a sentence where text is not a manifest. The caller frees the
 * text; NULL: no memory. */
int manifest_parse(struct manifest *m, const char *text, size_t length, struct err *err);
char *manifest_text(const struct manifest *m);

/* The manifest of a folder. -ENOENT (err then says so too): there is none. */
int manifest_load(struct manifest *m, struct queue *q, const char *folder, struct err *err);

/* Writes it whole (begin, write, commit). */
int manifest_save(const struct manifest *m, struct queue *q, struct err *err);

/* 0 when have describes d's files, or a set of which they are the first (dataset_in_set is then the
 * caller's to call with have->dataset.files); -EEXIST with a sentence that names the first
 * difference ("…was made with seed 42, this job says 43; run `haul clean` or use another folder").
 * where: the store's URI. */
int manifest_matches(const struct manifest *have, const struct dataset *d, const char *where,
		     struct err *err);

/* Before a phase reads d: whether the manifest in the store describes d and its files are all
 * there, so that a mistake in the settings does not look like damage of the storage. Does nothing
 * for files that exist without haul, and where the store keeps no manifest. d becomes a part of the
 * set where that has more files. Rank 0 asks, with a queue of its own; collective. -ENOENT: there
 * is no data set; -EEXIST: another one; -EINVAL: it is not complete. */
int manifest_check(struct dataset *d, struct store *store, struct group *group, struct err *err);

#endif
