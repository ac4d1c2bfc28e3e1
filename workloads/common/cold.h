/* SPDX-License-Identifier: Apache-2.0 */
/* Cold reads: makes sure that what a phase reads comes from the storage and not from this client's
 * page cache. It drops from the cache what belongs to a store, takes memory away from the cache,
 * and sets how often to sample what it holds (struct residency). Every phase that reads has these
 * options. Each phase decides which objects are dropped, and when.
 *
 * For the main thread of each rank. */
#ifndef HAUL_WORKLOADS_COMMON_COLD_H
#define HAUL_WORKLOADS_COMMON_COLD_H

#include "backends/backend.h"
#include "core/option/option.h"
#include "workloads/workload.h"

/* Page cache sampling: evidence of cold reads. It measures how much of what is about to be read is
 * in this client's page cache.
 *
 * Bytes are sampled at places that are drawn each time, with a given average distance, so that each
 * byte has the same chance, whatever the sizes of files and requests. A sample is one system call
 * on one page. It must be taken before anything of the object is read, because the kernel's
 * read-ahead would be mistaken for an old copy.
 *
 * Each reader has a sampler of its own, which belongs to its thread. */
enum { RESIDENCY_LOOK_BYTES = 4096, RESIDENCY_EVERY_BYTES = 1 << 20 };

/* Measures of the counts, as enumerators that begin with prefix. */
/* clang-format off */
#define RESIDENCY_LIST(X, prefix) \
	X(prefix##RESIDENT_SAMPLED_BYTES, "resident_sampled_bytes", "bytes", SUM, \
	  "bytes looked at before they were read") \
	X(prefix##RESIDENT_BYTES, "resident_bytes", "bytes", SUM, \
	  "those of them that were in this client's page cache")
/* clang-format on */

struct residency {
	uint64_t every_bytes; /* average distance of samples; 0: no samples */
	uint64_t skip_bytes;  /* to the next sample */
	uint64_t looks;
	/* What is counted: bytes sampled, and those of them that were cached. */
	uint64_t sampled_bytes, resident_bytes;
};

/* every_bytes: see RESIDENCY_EVERY_BYTES. */
void residency_init(struct residency *r, uint64_t every_bytes);

/* Call before [offset, offset + length) of the open object o is read. Does nothing where the store
 * has no page cache. */
void residency_look(struct residency *r, const struct store *store, const struct object *o,
		    uint64_t offset, uint64_t length);

enum cold_drop { DROP_NONE, DROP_FADVISE, DROP_CACHES };
enum cold_when { COLD_EPOCHS, COLD_PHASE };

struct cold_options {
	uint32_t drop, when;
	uint64_t evidence_bytes;   /* see residency_init */
	uint64_t memory_hog_bytes; /* per node */
	double memory_hog_share;
};
extern const struct option cold_options[];

/* Measures of a rank's row, as enumerators that begin with prefix, and the figure. */
/* clang-format off */
#define COLD_LIST(X, prefix) \
	RESIDENCY_LIST(X, prefix) \
	X(prefix##DROP_NS, "drop_ns", "ns", MAX, \
	  "dropping caches before epochs, or before plain I/O; in no account and not in wall_ns") \
	X(prefix##STAYED_BYTES, "stayed_bytes", "bytes", SUM, \
	  "of files dropped: what was in the page cache all the same")
#define COLD_FIGURE(prefix) \
	FIGURE_PER("cached_share", "fraction", 1, OF(prefix##RESIDENT_BYTES), \
		   OF(prefix##RESIDENT_SAMPLED_BYTES), \
		   "of the bytes looked at before they were read: what was in the page cache", \
		   .role = ROLE_CACHED)
/* clang-format on */

/* Checks rules that an option table cannot express. path: of the phase. */
int cold_check(const struct cold_options *o, const struct job_store *store, const char *path,
	       struct err *err);

/* Adds what it needs of the machine. */
void cold_size(const struct cold_options *o, uint32_t ranks_per_node, struct demand *out);

struct cold {
	const struct cold_options *options;
	const struct phase_context *ctx;
	void *hog; /* held by the first rank of a node; NULL: none */
	uint64_t hog_bytes;
	uint64_t stayed_bytes; /* bytes of dropped files that stayed in the cache */
};

/* What may be dropped, by number: each number is one or several objects of the store. */
struct cold_objects {
	const struct store *store;
	uint64_t count;
	uint32_t parts;
	void (*key)(const void *argument, uint64_t number, uint32_t part,
		    char key[OBJECT_KEY_BYTES]);
	const void *argument;
};

/* Occupies the memory, and tries what only root may do. Collective. Call cold_close also after an
 * error. */
int cold_open(struct cold *c, const struct cold_options *options, const struct phase_context *ctx,
	      struct err *err);
void cold_close(struct cold *c);

/* Whether the run is to end, for callers that drop many files. */
bool cold_ends(const struct cold *c);

/* Drops all of them, divided among the ranks of each node; or all caches of the nodes. Collective.
 * Ends early where a stop is requested. */
int cold_drop_all(struct cold *c, const struct cold_objects *objects, struct err *err);

/* Drops one of them. Not collective: err is for group_agree. */
int cold_drop_one(struct cold *c, const struct cold_objects *objects, uint64_t number,
		  struct err *err);

/* Drops all caches of all nodes. Collective. */
int cold_drop_caches(struct cold *c, struct err *err);

/* Warns where dropping was asked for but the store cannot become cold. */
void cold_warn(const struct cold *c, const struct store *store);

/* Adds to ctx->message how much of what was read from store had been in the page cache. The
 * arguments are the bytes sampled, resident and read by this rank. Collective. */
void cold_say(struct phase_context *ctx, const struct cold_options *o, const struct store *store,
	      uint64_t sampled_bytes, uint64_t resident_bytes, uint64_t read_bytes);

#endif
