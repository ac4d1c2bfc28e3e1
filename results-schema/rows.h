/* The compound types of results.h5. A row of measures is an array of 8-byte words: keys ("rank",
 * "node"; "epoch"), then the measures, then the figures made of them as doubles. */
#ifndef HAUL_RESULTS_SCHEMA_ROWS_H
#define HAUL_RESULTS_SCHEMA_ROWS_H

#include <hdf5.h>
#include <stdint.h>

#include "core/err.h"
#include "core/measure/tally.h"
#include "results-schema/results.h"

struct row_shape {
	const char *const *keys;
	uint32_t key_count;
	const struct columns *columns;
};

uint32_t rows_words(const struct row_shape *shape);
hid_t rows_type(const struct row_shape *shape); /* the caller closes it; negative: failed */

/* One row: keys as given, measures copied, figures computed. */
void rows_fill(const struct row_shape *shape, const uint64_t *keys, const uint64_t *measures,
	       uint64_t *out);

/* Attribute "units": the unit of each column, in their order. */
int rows_units(hid_t dataset, const struct row_shape *shape, struct err *err);

/* A row of /summary. Units stand in the names: h5dump shows attributes too, and this is to be read. */
enum { SUMMARY_NAME_BYTES = 64, SUMMARY_KIND_BYTES = 32, SUMMARY_SWEEP_BYTES = 128 };
struct summary_row {
	char phase[SUMMARY_NAME_BYTES], kind[SUMMARY_KIND_BYTES];
	double seconds, au, gb_per_s, operations_per_s;
	double p50_ms, p95_ms, p99_ms, p999_ms, p9999_ms, max_ms;
	uint64_t errors, run, repeat, warmup;
	char sweep[SUMMARY_SWEEP_BYTES];
};

/* Types of the fixed records as they stand in memory; rows_packed gives the file's: without holes. */
hid_t rows_summary_type(void);
hid_t rows_node_type(void);
hid_t rows_rank_type(void);
hid_t rows_store_type(void);
hid_t rows_failure_type(void);
hid_t rows_packed(hid_t memory_type);

#endif
