/* SPDX-License-Identifier: Apache-2.0 */
/* Merge of a phase's tallies over all ranks, before anything is written. What only rank 0 writes is
 * on rank 0. What every rank has to know (the shapes of data sets to which each writes its own
 * rows) is on all ranks. */
#ifndef HAUL_RESULTS_SCHEMA_MERGE_H
#define HAUL_RESULTS_SCHEMA_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/group/group.h"
#include "results-schema/results.h"

/* A row of by_rank or by_node counts several buckets of a histogram in one, and has all of them, so
 * that a row takes the same bytes whatever was measured. */
enum { HIST_ROW_MERGES = 4, HIST_ROW_BUCKETS = HIST_BUCKETS / HIST_ROW_MERGES };

struct merged_hist {
	const struct hist_kind *kind;
	/* The buckets that any rank has used: first .. first + count. */
	unsigned first, count;
	struct hist *whole; /* on rank 0 */
};

struct merged_table {
	const struct table_kind *kind;
	uint32_t rows;
	uint64_t left_out; /* rows beyond rows_max of the table, over all ranks; on rank 0 */
	/* [rows][table_row_words(kind)]: merged on rank 0; other ranks have only its keys */
	uint64_t *words;
	/* The same shape with the rows of this rank, zeros where it has no such row. NULL where the
	 * kind does not ask for it. */
	uint64_t *own;
};

/* How the nodes were distributed in each interval, where there are too many for a row each. */
enum client_stat { CLIENT_SUM, CLIENT_MIN, CLIENT_P50, CLIENT_P95, CLIENT_MAX, CLIENT_STATS };
enum { CLIENT_OVER_ROWS = 256 };
extern const char *const client_stat_names[CLIENT_STATS];
struct client_over {
	uint64_t interval_ns;
	uint32_t rows;
	uint64_t nodes[CLIENT_OVER_ROWS]; /* that had a reading */
	uint64_t row[CLIENT_STATS][CLIENT_OVER_ROWS][CLIENT_COLUMNS];
};

/* Client-side rows of the nodes. The first rank of each node has its own. */
struct merged_client {
	uint64_t interval_ns;
	uint32_t nodes, rows;            /* rows 0: there are none */
	const struct client_series *own; /* NULL on other ranks */
	struct client_over *over;        /* on rank 0, of many nodes; else NULL */
};

struct merged {
	const struct results_phase *phase;
	const struct tally_schema *schema;
	uint64_t *row;       /* merged, on rank 0 */
	uint64_t *range;     /* [2 * schema->hist_count]: which buckets some rank has used */
	uint32_t hist_count; /* those that are not empty */
	struct merged_hist *hists;
	int32_t main_hist; /* index in hists of the one that the summary shows; -1: all are empty */
	/* Likewise of the one by which ranks are compared: that of reads, else the main one. */
	int32_t rank_hist;
	uint32_t
		*hist_row; /* [HIST_ROW_BUCKETS]: this rank's or node's row of by_rank or by_node */
	struct merged_table *tables; /* [schema->table_count] */
	struct timeline *timeline;   /* on rank 0; NULL: it has no rows */
	struct steps *steps;         /* on rank 0; NULL: it has no rows */
	struct merged_client client;
	uint64_t failure_count;
	uint32_t failure_rows;
	struct failure *failures; /* [failure_rows], on rank 0, by time */
};

/* Merges. node: the group of this node where histograms have a row per node, else NULL. Of more
 * than client_nodes_max nodes the client's rows are folded. Folds and reads phase->tally.
 * Collective. Returns the same on every rank. */
int merged_make(struct merged *m, const struct results_phase *phase, uint32_t client_nodes_max,
		struct group *group, struct group *node, struct err *err);
void merged_free(struct merged *m);

/* How many rows of what a node did there are at most. */
uint64_t merged_client_most(uint32_t nodes, uint32_t nodes_max);

/* Whether each of the nodes has rows of what it did. */
static inline bool merged_has_client(const struct merged *m, uint32_t nodes)
{
	return m->client.rows && m->client.nodes == nodes;
}

int merge_tables(struct merged *m, struct group *group, struct err *err);

enum {
	MERGED_FAILURES_MAX = 1024,   /* rows, over all ranks */
	MERGED_CLIENT_ROWS = 1 << 18, /* rows, over all nodes: 64 MiB */
	/* The client's rows per node if there are very many nodes; never are there fewer. */
	MERGED_CLIENT_LEAST = 8
};

#endif
