/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a phase: rows by name or number beside the phase's own row, for example of epochs,
 * endpoints, checkpoints or tiers. A workload declares a table once; its data set in results.h5,
 * its key in JSON, its lines in the report and the merge over ranks follow from that.
 * results-schema/ and report/ treat all tables alike.
 *
 * A row on one rank is an array of words:
 *
 *	key        1 word (a number), or TABLE_TEXT_WORDS (a text that ends with a zero byte)
 *	measures   columns.measure_count words
 *	codes      codes->codes words, where the table has any: counts by a small number, such as a status
 *	histograms each HIST_WORDS or COARSE_BUCKETS words
 *
 * Belongs to the rank's main thread. */
#ifndef HAUL_CORE_MEASURE_TABLE_H
#define HAUL_CORE_MEASURE_TABLE_H

#include "core/err.h"
#include "core/measure/hist.h"
#include "core/measure/measure.h"

enum { TABLE_TEXT_BYTES = 256, TABLE_TEXT_WORDS = TABLE_TEXT_BYTES / 8, TABLE_ROWS_MAX = 1 << 20 };

enum table_key {
	TABLE_NUMBER, /* rows in the order of their numbers, from 1 */
	TABLE_TEXT    /* rows in the order in which they appeared, the lowest rank's first */
};

/* Counts by a small number: the file has a row for each number whose count is not 0. */
struct code_kind {
	const char *name;  /* of the data set: "statuses" */
	const char *code;  /* its columns: "status", */
	const char *count; /* "requests" */
	uint32_t codes;    /* 0 … codes - 1 */
};

struct table_kind {
	const char *
		name; /* of the data set or group in results.h5, and of the key in JSON: "epochs" */
	const char *help;
	enum table_key key;
	/* name of the key's column: "epoch"; NULL: the measures already contain it */
	const char *key_name;
	struct columns columns;
	const struct hist_kind *hists;
	uint32_t hist_count;
	const struct code_kind *codes; /* NULL: none */
	/* Further rows are counted as left out. 0: only whoever makes the table knows it. */
	uint32_t rows_max;
	const char *rank_rows; /* the data set of each rank's own rows: "epoch_ranks"; NULL: none */
};

struct table {
	const struct table_kind *kind;
	uint32_t rows_max;
	uint32_t rows, capacity;
	uint64_t left_out; /* asked for beyond rows_max */
	uint64_t *words;   /* [capacity][table_row_words(kind)] */
};

uint32_t table_key_words(const struct table_kind *kind);
uint32_t table_row_words(const struct table_kind *kind);

/* rows_max 0: that of its kind. A table by numbers allocates memory at once, for rows_max rows. A
 * table by texts allocates it as rows appear. */
int table_init(struct table *t, const struct table_kind *kind, uint32_t rows_max, struct err *err);
void table_free(struct table *t);

/* Leaves no rows. Memory stays. */
void table_clear(struct table *t);
/* Adds all rows of a table of the same kind. */
void table_add(struct table *into, const struct table *from);

/* The measures of the row of that number (from 1) or text. A new row is made where there is none,
 * all zeros. Returns NULL where the row is beyond rows_max, which is counted, or there is no
 * memory. Rows of a table by texts move when one is added. */
uint64_t *table_numbered(struct table *t, uint64_t number);
uint64_t *table_named(struct table *t, const char *name);

/* The measures of row i of the rows in use. */
uint64_t *table_row(const struct table *t, uint32_t i);

/* The other parts of a row, found from its measures. kind->codes must not be NULL; hist <
 * kind->hist_count, and of that sort. */
uint64_t *table_codes(const struct table_kind *kind, uint64_t *row);
struct hist *table_hist(const struct table_kind *kind, uint64_t *row, uint32_t hist);
struct coarse_hist *table_coarse_hist(const struct table_kind *kind, uint64_t *row, uint32_t hist);
const uint64_t *table_key(const struct table_kind *kind, const uint64_t *row);

/* Where a part of a row begins, counted from its measures. */
uint32_t table_codes_at(const struct table_kind *kind);
uint32_t table_hist_at(const struct table_kind *kind, uint32_t hist);

#endif
