/* SPDX-License-Identifier: Apache-2.0 */
/* Row groups of parquet: how many rows and bytes they have, and where they begin. */
#include "workloads/formats/parquet.h"

uint64_t parquet_row_group(const struct layout *l)
{
	const struct parquet_options *o = l->options;

	return o->row_group;
}

uint64_t parquet_group_rows(const struct layout *l, uint64_t group)
{
	uint64_t rows = parquet_row_group(l), first = group * rows;

	return l->samples - first < rows ? l->samples - first : rows;
}

uint64_t parquet_page_rows(const struct parquet_run *run)
{
	return run->bytes < PARQUET_PAGE_BYTES ? PARQUET_PAGE_BYTES / run->bytes : 1;
}

uint64_t parquet_chunk_bytes(const struct parquet_run *run, uint64_t rows)
{
	uint64_t pages = (rows + parquet_page_rows(run) - 1) / parquet_page_rows(run);

	return pages * PARQUET_PAGE_HEADER_BYTES + rows * run->bytes;
}

uint64_t parquet_group_bytes(const struct layout *l, uint64_t group)
{
	const struct parquet_layout *p = LAYOUT_STATE(const struct parquet_layout, l);
	uint64_t rows = parquet_group_rows(l, group), bytes = 0;

	for (uint32_t i = 0; i < p->run_count; i++)
		bytes += p->runs[i].columns * parquet_chunk_bytes(&p->runs[i], rows);
	return bytes;
}

uint64_t parquet_group_at(const struct layout *l, uint64_t group)
{
	return PARQUET_MARK_BYTES +
	       group * LAYOUT_STATE(const struct parquet_layout, l)->group_bytes;
}
