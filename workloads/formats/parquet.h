/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the format parquet: where row groups are (parquet_footer.c), the footer
 * (parquet_footer.c), and the format itself (parquet.c). Pure functions, any thread. */
#ifndef HAUL_WORKLOADS_FORMATS_PARQUET_H
#define HAUL_WORKLOADS_FORMATS_PARQUET_H

#include "workloads/formats/format.h"

enum {
	PARQUET_MARK_BYTES = 4,
	PARQUET_TAIL_BYTES = 8,       /* the footer's length and the mark */
	PARQUET_PAGE_BYTES = 1 << 20, /* of values, unless one value has more */
	PARQUET_PAGE_HEADER_BYTES = 29,
	PARQUET_COLUMNS_MAX = 10000,
	PARQUET_VALUE_MAX = 1 << 30
};

/* parquet.thrift, enum Type */
enum parquet_type {
	PARQUET_INT32 = 1,
	PARQUET_INT64 = 2,
	PARQUET_FLOAT = 4,
	PARQUET_DOUBLE = 5,
	PARQUET_FIXED = 7
};

/* Columns of one type, side by side. */
enum { PARQUET_RUNS_MAX = 8 };
struct parquet_run {
	uint32_t bytes; /* per value */
	uint16_t columns;
	uint8_t type; /* enum parquet_type */
	bool read;    /* by loaders */
};

/* In each layout: its columns, the run whose first column holds the ids, where the footer begins,
 * and the bytes of a row group but the last. */
struct parquet_layout {
	struct parquet_run runs[PARQUET_RUNS_MAX];
	uint8_t run_count, id_run;
	uint64_t footer_at, group_bytes;
};

struct parquet_options {
	struct texts columns; /* one text per run */
	uint64_t row_group;   /* rows */
};
_Static_assert(sizeof(struct parquet_options) <= FORMAT_OPTION_BYTES, "room for the options");

/* Rows of a row group but the last, of that row group, and of a page of such columns. */
uint64_t parquet_row_group(const struct layout *l);
uint64_t parquet_group_rows(const struct layout *l, uint64_t group);
uint64_t parquet_page_rows(const struct parquet_run *run);
/* Where a row group begins in the file, and its bytes. */
uint64_t parquet_group_at(const struct layout *l, uint64_t group);
uint64_t parquet_group_bytes(const struct layout *l, uint64_t group);
/* Bytes of one column chunk of `rows` rows, page headers included. */
uint64_t parquet_chunk_bytes(const struct parquet_run *run, uint64_t rows);

void parquet_page_header(uint8_t out[PARQUET_PAGE_HEADER_BYTES], uint64_t rows, uint64_t bytes);

/* The footer without the tail. */
uint64_t parquet_footer_bytes(const struct layout *l);
/* Makes bytes of footer and tail from position at on, at most length and not beyond one element;
 * returns how many. */
uint64_t parquet_footer(const struct layout *l, uint64_t at, uint8_t *out, uint64_t length);

#endif
