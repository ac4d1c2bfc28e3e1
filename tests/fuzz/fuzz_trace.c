/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of key-value cache traces: any bytes, plain or compressed, end in rows or in a
 * sentence. Rows are within the bounds that they are promised to be in. Where errors are left out,
 * the rows before the first one are the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/fnv.h"
#include "tests/libs/doubles/trace_memory.h"
#include "workloads/trace/trace.h"

enum { ROWS_MAX = 1 << 16 }; /* a small input may decompress to a large one */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void row_check(const struct trace_row *row)
{
	if (row->bytes > TRACE_BYTES_MAX || row->offset > TRACE_BYTES_MAX ||
	    row->tier >= TRACE_TIERS || row->operation >= TRACE_OPERATION_COUNT ||
	    row->phase >= TRACE_PHASE_COUNT || row->ns / 1000000000 > TRACE_SECONDS_MAX ||
	    !row->key_length || row->key_length > TRACE_KEY_MAX ||
	    strlen(row->key) != row->key_length)
		abort();
}

/* Reads at most `rows` rows. Returns how many there were. */
static uint64_t read_all(const uint8_t *data, size_t size, bool lenient, uint64_t rows,
			 uint64_t *hash)
{
	struct trace_reader t;
	struct trace_row row;
	struct err err = {0};
	char text[256];
	int rc = trace_open_memory(&t, data, size, lenient, &err);

	*hash = FNV_START;
	if (rc < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	while (t.rows < rows && (rc = trace_next(&t, &row, &err)) > 0) {
		row_check(&row);
		*hash = fnv_add(*hash, &row.ns, sizeof(row.ns));
		*hash = fnv_add(*hash, row.key, row.key_length);
	}
	if (rc < 0 && !err.text[0])
		abort();
	trace_skipped_text(&t, text, sizeof(text));
	rows = t.rows;
	trace_close(&t);
	return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t strict_hash, lenient_hash;
	uint64_t rows = read_all(data, size, false, ROWS_MAX, &strict_hash);

	if (read_all(data, size, true, rows, &lenient_hash) != rows || lenient_hash != strict_hash)
		abort();
	read_all(data, size, true, ROWS_MAX, &lenient_hash);
	return 0;
}
