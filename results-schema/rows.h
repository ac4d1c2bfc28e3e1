/* SPDX-License-Identifier: Apache-2.0 */
/* Row types of results.h5. A row of measures is an array of 8-byte words: keys ("rank", "node";
 * "epoch"), then the measures, then the figures computed from them as doubles. */
#ifndef HAUL_RESULTS_SCHEMA_ROWS_H
#define HAUL_RESULTS_SCHEMA_ROWS_H

#include <hdf5.h>
#include <stdint.h>

#include "core/answer.h"
#include "core/err.h"
#include "core/measure/quantile.h"
#include "core/measure/tally.h"
#include "results-schema/h5_writer.h"
#include "results-schema/results.h"

struct row_shape {
	const char *const *keys;
	uint32_t key_count;
	const struct columns *columns;
};

uint32_t rows_words(const struct row_shape *shape);
hid_t rows_type(const struct row_shape *shape); /* the caller closes it; negative: failed */

/* Fills one row: keys as given, measures copied, figures computed. */
void rows_fill(const struct row_shape *shape, const uint64_t *keys, const uint64_t *measures,
	       uint64_t *out);

/* Writes attributes "units", "roles" and, where there are any, "counted_by" of measures and
 * "formulas" of figures: one text for each column, in their order. */
void rows_describe(struct h5_writer *w, const struct row_shape *shape);
/* Makes a described data set of these rows, which stays entered. */
void rows_write(struct h5_writer *w, const char *name, const struct row_shape *shape,
		uint64_t count, const uint64_t *rows);

/* A row of /summary. Units are part of the names, because people read this table with h5dump, which
 * also prints attributes. */
enum { SUMMARY_NAME_BYTES = 64, SUMMARY_KIND_BYTES = 12, SUMMARY_SWEEP_BYTES = 128 };
struct summary_row {
	char phase[SUMMARY_NAME_BYTES], kind[SUMMARY_KIND_BYTES];
	double seconds, au, gb_per_s, operations_per_s;
	double quantile_ms[QUANTILES], max_ms;
	uint64_t errors;
	uint32_t run, repeat, warmup;
	char samples[SUMMARY_KIND_BYTES]; /* how they are known */
	char sweep[SUMMARY_SWEEP_BYTES];
};

extern const struct record_shape rows_summary, rows_node, rows_rank, rows_store, rows_failure,
	rows_target;
hid_t rows_record_type(const struct record_shape *shape); /* the caller closes it */
hid_t rows_packed_type(const struct record_shape *shape); /* in the file; the caller closes it */

/* Makes a data set of these records, which stays entered. */
void records_write(struct h5_writer *w, const char *name, const struct record_shape *shape,
		   hsize_t count, const void *records);
/* Makes one that grows, without rows, and leaves it. */
void records_make_growing(struct h5_writer *w, const char *name, const struct record_shape *shape,
			  hsize_t chunk);
/* Makes a data set that grows `count` rows long, and writes those from `first` on. */
void records_grow(struct h5_writer *w, const char *name, const struct record_shape *shape,
		  hsize_t first, hsize_t count, const void *records);

/* Ends each text of records that were read with a zero byte, whatever the file has. */
void rows_end_texts(const struct record_shape *shape, void *rows, uint64_t count);

/* Makes /summary, with texts no longer than needed (0: as in memory): of each run there is a row in
 * the file that is copied with each publication. */
void rows_make_summary(struct h5_writer *w, uint32_t name_bytes, uint32_t sweep_bytes);

#endif
