/* Reads that come from the storage: dropping what this client's page cache holds of a store, memory taken
 * away from it, and how often to look what it holds (residency.h).
 *
 * Main thread of each rank. */
#ifndef HAUL_WORKLOADS_COLD_H
#define HAUL_WORKLOADS_COLD_H

#include "core/option.h"
#include "workloads/dataset.h"
#include "workloads/workload.h"

enum cold_drop { DROP_NONE, DROP_FADVISE, DROP_CACHES };
enum cold_when { COLD_EPOCHS, COLD_PHASE };

struct cold_options {
	uint32_t drop, when;
	uint64_t evidence_bytes;   /* see residency_init */
	uint64_t memory_hog_bytes; /* a node */
	double memory_hog_share;
};
extern const struct option cold_options[];

/* What no table can refuse. path: of the phase. */
int cold_check(const struct cold_options *o, const struct job_store *store, const char *path,
	       struct err *err);

struct cold {
	const struct cold_options *options;
	const struct phase_context *ctx;
	void *hog; /* held by the first rank of a node; NULL: none */
	uint64_t hog_bytes;
	uint64_t stayed_bytes; /* of files dropped: what is in the cache all the same */
};

/* Takes the memory, and tries what only root may. Collective. cold_close also after an error. */
int cold_open(struct cold *c, const struct cold_options *options, const struct phase_context *ctx,
	      struct err *err);
void cold_close(struct cold *c);

/* Whether the run is to end, for those who drop many files. */
bool cold_ends(const struct cold *c);

/* All of a data set, its files shared out over the ranks of each node; or all caches of the nodes.
 * Collective. Ends early where a stop is asked for. */
int cold_drop_all(struct cold *c, const struct dataset *d, const struct store *store,
		  struct err *err);

/* One file. Not collective: a sentence for group_agree. */
int cold_drop_file(struct cold *c, const struct dataset *d, const struct store *store,
		   uint64_t file, struct err *err);

/* All caches of all nodes. Collective. */
int cold_drop_caches(struct cold *c, struct err *err);

#endif
