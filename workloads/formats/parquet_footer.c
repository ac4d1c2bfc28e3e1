/* SPDX-License-Identifier: Apache-2.0 */
/* Footer of a Parquet file, and page headers, in Thrift's compact protocol. A struct's field is
 * (step from the last field's number) << 4 | type, then its value; integers are zigzag varints,
 * here padded to a fixed width; a struct ends with a zero.
 *
 *   head | a schema element per column | middle | row groups | end || length | PAR1
 *
 *   row group:  head | a column chunk per column | tail
 *
 * All elements of a kind have one length in a file, so the element at any position is found by
 * division. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "workloads/formats/parquet.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/thrift.h"

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

enum {
	FOOTER_LIST_LONG = 0xf0, /* its size follows */
	I32_BYTES = 5,
	I64_BYTES = 10,
	NAME_BYTES = 6, /* "c00042" */
	ELEMENT_MAX = 160,
	DATA_PAGE = 0,
	FOOTER_PLAIN = 0,
	RLE = 3,
	REQUIRED = 0,
	UNCOMPRESSED = 0
};

static uint8_t *footer_put_varint(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i + 1 < bytes; i++, value >>= 7)
		*at++ = (uint8_t)(value & 0x7f) | 0x80;
	*at++ = (uint8_t)(value & 0x7f);
	return at;
}

static uint8_t *footer_put_field(uint8_t *at, unsigned step, unsigned type)
{
	*at++ = (uint8_t)(step << 4 | type);
	return at;
}

static uint8_t *footer_put_i32(uint8_t *at, unsigned step, uint64_t value)
{
	return footer_put_varint(footer_put_field(at, step, THRIFT_TYPE_I32), value << 1,
				 I32_BYTES);
}

static uint8_t *footer_put_i64(uint8_t *at, unsigned step, uint64_t value)
{
	return footer_put_varint(footer_put_field(at, step, THRIFT_TYPE_I64), value << 1,
				 I64_BYTES);
}

static uint8_t *footer_put_list(uint8_t *at, unsigned step, unsigned type, uint64_t size)
{
	at = footer_put_field(at, step, THRIFT_TYPE_LIST);
	*at++ = (uint8_t)(FOOTER_LIST_LONG | type);
	return footer_put_varint(at, size, I32_BYTES);
}

static uint8_t *footer_put_text(uint8_t *at, const char *text, size_t length)
{
	at = footer_put_varint(at, length, 1);
	memcpy(at, text, length);
	return at + length;
}

static uint8_t *footer_put_name(uint8_t *at, uint64_t column)
{
	char name[24];

	snprintf(name, sizeof(name), "c%05" PRIu64, column);
	return footer_put_text(at, name, NAME_BYTES);
}

/* PageHeader { type, sizes, DataPageHeader { values, encoding, of levels } } */
void parquet_page_header(uint8_t out[PARQUET_PAGE_HEADER_BYTES], uint64_t rows, uint64_t bytes)
{
	uint8_t *at = out;

	at = footer_put_varint(footer_put_field(at, 1, THRIFT_TYPE_I32), DATA_PAGE << 1, 1);
	at = footer_put_i32(at, 1, bytes);
	at = footer_put_i32(at, 1, bytes);
	at = footer_put_field(at, 2, THRIFT_TYPE_STRUCT);
	at = footer_put_i32(at, 1, rows);
	at = footer_put_varint(footer_put_field(at, 1, THRIFT_TYPE_I32), FOOTER_PLAIN << 1, 1);
	at = footer_put_varint(footer_put_field(at, 1, THRIFT_TYPE_I32), RLE << 1, 1);
	at = footer_put_varint(footer_put_field(at, 1, THRIFT_TYPE_I32), RLE << 1, 1);
	put_little(at, 0, 2); /* both structs end */
}

static uint64_t footer_columns_of(const struct layout *l)
{
	const struct parquet_layout *p = LAYOUT_STATE(const struct parquet_layout, l);
	uint64_t columns = 0;

	for (uint32_t i = 0; i < p->run_count; i++)
		columns += p->runs[i].columns;
	return columns;
}

static uint64_t footer_groups_of(const struct layout *l)
{
	const struct parquet_options *o = l->options;

	return (l->samples + o->row_group - 1) / o->row_group;
}

/* The run of a column, and the column's number in it. */
static const struct parquet_run *footer_run_of(const struct layout *l, uint64_t column,
					       uint64_t *in_run)
{
	const struct parquet_run *run = LAYOUT_STATE(const struct parquet_layout, l)->runs;

	while (column >= run->columns) {
		column -= run->columns;
		run++;
	}
	*in_run = column;
	return run;
}

/* FileMetaData { version, schema [ root, … */
static uint32_t footer_make_head(const struct layout *l, uint8_t *out)
{
	uint8_t *at = footer_put_i32(out, 1, 2);

	at = footer_put_list(at, 1, THRIFT_TYPE_STRUCT, footer_columns_of(l) + 1);
	at = footer_put_text(footer_put_field(at, 4, THRIFT_TYPE_BINARY), "schema", 6);
	at = footer_put_i32(at, 1, footer_columns_of(l));
	*at++ = 0;
	return (uint32_t)(at - out);
}

/* … SchemaElement { type, type_length, repetition, name } … */
static uint32_t footer_make_schema(const struct layout *l, uint64_t column, uint8_t *out)
{
	uint64_t in_run;
	const struct parquet_run *run = footer_run_of(l, column, &in_run);
	uint8_t *at = footer_put_varint(footer_put_field(out, 1, THRIFT_TYPE_I32),
					(uint64_t)run->type << 1, 1);

	at = footer_put_i32(at, 1, run->bytes);
	at = footer_put_varint(footer_put_field(at, 1, THRIFT_TYPE_I32), REQUIRED << 1, 1);
	at = footer_put_name(footer_put_field(at, 1, THRIFT_TYPE_BINARY), column);
	*at++ = 0;
	return (uint32_t)(at - out);
}

/* … ], num_rows, row_groups [ … */
static uint32_t footer_make_middle(const struct layout *l, uint8_t *out)
{
	uint8_t *at = footer_put_i64(out, 1, l->samples);

	return (uint32_t)(footer_put_list(at, 1, THRIFT_TYPE_STRUCT, footer_groups_of(l)) - out);
}

/* … RowGroup { columns [ … */
static uint32_t footer_make_group_head(const struct layout *l, uint8_t *out)
{
	return (uint32_t)(footer_put_list(out, 1, THRIFT_TYPE_STRUCT, footer_columns_of(l)) - out);
}

/* … ColumnChunk { file_offset, ColumnMetaData { type, encodings, path, codec, num_values, sizes,
 * data_page_offset } } … */
static uint32_t footer_make_chunk(const struct layout *l, uint64_t group, uint64_t column,
				  uint8_t *out)
{
	const struct parquet_run *runs = LAYOUT_STATE(const struct parquet_layout, l)->runs;
	uint64_t rows = parquet_group_rows(l, group), offset = parquet_group_at(l, group), in_run;
	const struct parquet_run *run = footer_run_of(l, column, &in_run);
	uint64_t bytes = parquet_chunk_bytes(run, rows);
	uint8_t *at = out;

	for (const struct parquet_run *r = runs; r < run; r++)
		offset += r->columns * parquet_chunk_bytes(r, rows);
	offset += in_run * bytes;
	at = footer_put_i64(at, 2, offset);
	at = footer_put_field(at, 1, THRIFT_TYPE_STRUCT);
	at = footer_put_varint(footer_put_field(at, 1, THRIFT_TYPE_I32), (uint64_t)run->type << 1,
			       1);
	at = footer_put_field(at, 1, THRIFT_TYPE_LIST);
	*at++ = 1 << 4 | THRIFT_TYPE_I32;
	*at++ = FOOTER_PLAIN << 1;
	at = footer_put_field(at, 1, THRIFT_TYPE_LIST);
	*at++ = 1 << 4 | THRIFT_TYPE_BINARY;
	at = footer_put_name(at, column);
	at = footer_put_varint(footer_put_field(at, 1, THRIFT_TYPE_I32), UNCOMPRESSED << 1, 1);
	at = footer_put_i64(at, 1, rows);
	at = footer_put_i64(at, 1, bytes);
	at = footer_put_i64(at, 1, bytes);
	at = footer_put_i64(at, 2, offset);
	at = put_little(at, 0, 2); /* both structs end */
	return (uint32_t)(at - out);
}

/* … ], total_byte_size, num_rows } … */
static uint32_t footer_make_group_tail(const struct layout *l, uint64_t group, uint8_t *out)
{
	uint8_t *at = footer_put_i64(out, 1, parquet_group_bytes(l, group));

	at = footer_put_i64(at, 1, parquet_group_rows(l, group));
	*at++ = 0;
	return (uint32_t)(at - out);
}

/* … ], created_by }, and behind the footer its length and the mark. */
static uint32_t footer_make_end(const struct layout *l, uint8_t *out)
{
	uint8_t *at = footer_put_text(footer_put_field(out, 2, THRIFT_TYPE_BINARY), "haul", 4);

	*at++ = 0;
	at = put_little(at, parquet_footer_bytes(l), 4);
	memcpy(at, "PAR1", PARQUET_MARK_BYTES);
	return (uint32_t)(at + PARQUET_MARK_BYTES - out);
}

/* Lengths of the elements. */
struct footer_lengths {
	uint64_t head, schema, middle, group_head, chunk, group_tail, end;
	uint64_t schemas, group, groups; /* all columns', one row group, all row groups */
};

static void footer_lengths_of(const struct layout *l, struct footer_lengths *n)
{
	uint8_t element[ELEMENT_MAX];

	n->head = footer_make_head(l, element);
	n->schema = footer_make_schema(l, 0, element);
	n->middle = footer_make_middle(l, element);
	n->group_head = footer_make_group_head(l, element);
	n->chunk = footer_make_chunk(l, 0, 0, element);
	n->group_tail = footer_make_group_tail(l, 0, element);
	n->end = 1 + 1 + 4 + 1;
	n->schemas = footer_columns_of(l) * n->schema;
	n->group = n->group_head + footer_columns_of(l) * n->chunk + n->group_tail;
	n->groups = footer_groups_of(l) * n->group;
}

uint64_t parquet_footer_bytes(const struct layout *l)
{
	struct footer_lengths n;

	footer_lengths_of(l, &n);
	return n.head + n.schemas + n.middle + n.groups + n.end;
}

/* The element of the row groups at position *at, which becomes the position in it. */
static uint32_t footer_make_in_groups(const struct layout *l, const struct footer_lengths *n,
				      uint64_t *at, uint8_t *out)
{
	uint64_t group = *at / n->group;
	uint64_t column;

	*at %= n->group;
	if (*at < n->group_head)
		return footer_make_group_head(l, out);
	*at -= n->group_head;
	column = *at / n->chunk;
	if (column < footer_columns_of(l)) {
		*at %= n->chunk;
		return footer_make_chunk(l, group, column, out);
	}
	*at -= footer_columns_of(l) * n->chunk;
	return footer_make_group_tail(l, group, out);
}

static uint32_t footer_make_element(const struct layout *l, uint64_t *at, uint8_t *out)
{
	struct footer_lengths n;

	footer_lengths_of(l, &n);
	if (*at < n.head)
		return footer_make_head(l, out);
	*at -= n.head;
	if (*at < n.schemas) {
		uint64_t column = *at / n.schema;

		*at %= n.schema;
		return footer_make_schema(l, column, out);
	}
	*at -= n.schemas;
	if (*at < n.middle)
		return footer_make_middle(l, out);
	*at -= n.middle;
	if (*at < n.groups)
		return footer_make_in_groups(l, &n, at, out);
	*at -= n.groups;
	return footer_make_end(l, out);
}

uint64_t parquet_footer(const struct layout *l, uint64_t at, uint8_t *out, uint64_t length)
{
	uint8_t element[ELEMENT_MAX];
	uint64_t n = footer_make_element(l, &at, element) - at;

	n = n < length ? n : length;
	memcpy(out, element + at, n);
	return n;
}
