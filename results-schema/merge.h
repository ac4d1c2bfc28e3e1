/* One phase's tallies merged over all ranks, before anything is written. What stands in the file's
 * metadata (shapes, attributes) is known to every rank, because HDF5 wants every rank to write the
 * same; what is only data stands on rank 0. */
#ifndef HAUL_RESULTS_SCHEMA_MERGE_H
#define HAUL_RESULTS_SCHEMA_MERGE_H

#include <stdint.h>

#include "core/err.h"
#include "core/group/group.h"
#include "core/measure/endpoints.h"
#include "results-schema/results.h"

enum { MERGED_SETS_MAX = 8, MERGED_SET_BYTES = 256 };

/* Said by rank 0, known to all. Plain data. */
struct merged_text {
	char kind[32], name[64], store[64], status[16], message[512], error[ERR_TEXT_BYTES];
	uint32_t number;
	uint64_t seconds_ns, run_seconds_ns;
	double null_au, target_au;
	uint32_t run, combination, repeat, warmup, set_count;
	char sets[MERGED_SETS_MAX][MERGED_SET_BYTES];
};

enum hist_fact {
	FACT_COUNT,
	FACT_SUM,
	FACT_CLIPPED,
	FACT_MAX,
	FACT_MIN,
	FACT_P50,
	FACT_P95,
	FACT_P99,
	FACT_P999,
	FACT_P9999,
	FACTS
};

struct merged_hist {
	const struct hist_kind *kind;
	unsigned first,
		count; /* the buckets that are not empty on all ranks: first .. first + count */
	uint64_t fact[FACTS];
	uint64_t *buckets; /* [count], rank 0 */
	uint32_t *row;     /* [count], ranks that write a row of by_rank or by_node */
};

/* What the nodes did: each node's first rank has its own. */
struct merged_client {
	uint64_t interval_ns;
	uint32_t nodes, rows;            /* 0 rows: nothing is known of them */
	const struct client_series *own; /* NULL on other ranks */
};

struct merged {
	const struct tally_schema *schema;
	struct merged_text text;
	uint64_t *row; /* every rank's */
	uint32_t epochs;
	uint64_t *own_epochs; /* [epochs][measures]: this rank's, zeros where it has none */
	uint64_t *epoch_rows; /* [epochs][measures]: merged, rank 0 */
	uint32_t hist_count;  /* those that are not empty */
	struct merged_hist *hists;
	int32_t main_hist;    /* index in hists of the one the summary shows, -1: all are empty */
	uint64_t interval_ns; /* of the timeline */
	uint32_t seconds;     /* its rows */
	uint64_t *timeline;   /* [seconds][SECOND_WORDS], rank 0 */
	struct merged_client client;
	uint32_t endpoint_count, status_rows; /* status_rows: those of all endpoints */
	struct tally_endpoint *endpoints;     /* names; figures on rank 0 */
	uint64_t failure_count;
	uint32_t failure_rows;
	struct failure *failures; /* [failure_rows], rank 0, by time */
};

/* Collective. node: the group of this node where histograms have a row a node, else NULL. Folds and
 * reads phase->tally. The same outcome on every rank. */
int merged_make(struct merged *m, const struct results_phase *phase, uint64_t run_seconds_ns,
		struct group *group, struct group *node, struct err *err);
void merged_free(struct merged *m);

/* At least what the phase adds to the file, in bytes; hist_rows: rows of by_rank or by_node. */
uint64_t merged_room(const struct merged *m, uint32_t ranks, uint32_t hist_rows);

#endif
