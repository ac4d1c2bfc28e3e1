/* SPDX-License-Identifier: Apache-2.0 */
/* parquet: rows of columns in row groups, plain encoding, not compressed, nothing nullable.
 *
 *   PAR1 | row group 0: column chunk 0 | column chunk 1 | … | row group 1 | … | footer | n | PAR1
 *
 *   column chunk:  page header | values | page header | values …     pages of at most PAGE_BYTES
 *   footer:        FileMetaData in Thrift's compact protocol: schema, then one row group after another
 *
 * Thrift's numbers are written in as many bytes as the largest takes (a varint may end in zeros),
 * so all elements of a kind have one length, and any byte of the file, the footer's too, is made in
 * constant time and memory: of 4.7 million rows in 200 columns the footer alone has 13 MB.
 *
 * Columns come in runs of one type, e.g. "50 float16", "40 float32 read". Types that Parquet would
 * store in more bytes than they have (int8, int16), float16 and bytes are fixed-length byte arrays,
 * so a row has as many bytes as its types say. A sample's id is in the first column that is read
 * and has eight bytes or more.
 *
 * A reader takes the last 8 bytes, the footer, and the column chunks that it needs of the sample's
 * row group, those of a run in one range because they are side by side. It keeps the footer while
 * the file is open, and the last few row groups. Source: parquet-format 2.10, parquet.thrift;
 * Thrift's compact protocol specification. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/parquet.h"
#include "workloads/formats/payload.h"

static int parquet_check(const void *options, uint64_t samples, uint64_t smallest, uint64_t largest,
			 struct err *err);
static void parquet_layout(struct layout *l);
static uint32_t parquet_extents(const struct layout *l, uint64_t sample,
				struct extent out[FORMAT_EXTENTS_MAX]);
static void parquet_header(const struct layout *l, uint8_t *out);
static void parquet_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);
static uint64_t parquet_id_place(const struct layout *l, uint64_t sample);

extern const struct walk_ops parquet_walk;

const struct format_ops format_parquet = {
	.magic = {.bytes = "PAR1", .count = PARQUET_MARK_BYTES},
	.stays_open = true,
	.check = parquet_check,
	.layout = parquet_layout,
	.extents = parquet_extents,
	.header = parquet_header,
	.payload = parquet_payload,
	.walk = &parquet_walk,
	.id_place = parquet_id_place,
	.count = parquet_count,
};

const struct option parquet_options[] = {
	OPT_TEXTS("columns", struct parquet_options, columns,
		  .help = "runs of columns as \"[NUMBER] TYPE [read]\"; TYPE: int8, int16, int32, "
			  "int64, float16, float32, float64 or bytes:N; only those marked read are "
			  "read (none marked: all). Left out: one column of sample_bytes"),
	OPT_U64("row_group", struct parquet_options, row_group, .def = 1024, .min = 1,
		.max = 1 << 30, .help = "rows per row group"),
	OPT_END};

static const struct {
	const char *name;
	uint8_t type;
	uint32_t bytes; /* 0: given */
} parquet_types[] = {
	{"int8", PARQUET_FIXED, 1},     {"int16", PARQUET_FIXED, 2},
	{"int32", PARQUET_INT32, 4},    {"int64", PARQUET_INT64, 8},
	{"float16", PARQUET_FIXED, 2},  {"float32", PARQUET_FLOAT, 4},
	{"float64", PARQUET_DOUBLE, 8}, {"bytes", PARQUET_FIXED, 0},
};

static bool parquet_run_type(const char *word, size_t length, struct parquet_run *run)
{
	for (size_t i = 0; i < sizeof(parquet_types) / sizeof(parquet_types[0]); i++) {
		size_t n = strlen(parquet_types[i].name);
		uint64_t bytes;
		char *end;

		if (length < n || strncmp(word, parquet_types[i].name, n) != 0)
			continue;
		run->type = parquet_types[i].type;
		run->bytes = parquet_types[i].bytes;
		if (run->bytes)
			return length == n;
		if (length < n + 2 || word[n] != ':' || word[n + 1] < '0' || word[n + 1] > '9')
			return false;
		bytes = strtoull(word + n + 1, &end, 10);
		run->bytes = (uint32_t)bytes;
		return end == word + length && bytes && bytes <= PARQUET_VALUE_MAX;
	}
	return false;
}

/* "50 float16 read" */
static bool parquet_run_parse(const char *text, struct parquet_run *run)
{
	const char *at = text + strspn(text, " ");
	char *end;

	memset(run, 0, sizeof(*run));
	run->columns = 1;
	if (*at >= '0' && *at <= '9') {
		uint64_t columns = strtoull(at, &end, 10);

		if (!columns || columns > PARQUET_COLUMNS_MAX || *end != ' ')
			return false;
		run->columns = (uint16_t)columns;
		at = end + strspn(end, " ");
	}
	if (!parquet_run_type(at, strcspn(at, " "), run))
		return false;
	at += strcspn(at, " ");
	at += strspn(at, " ");
	run->read = strcmp(at, "read") == 0;
	return run->read || !*at;
}

/* The runs that the options name, or one column of sample_bytes; NULL, or the text that is not a
 * run. */
static const char *parquet_runs_parse(const struct parquet_options *o, uint64_t sample_bytes,
				      struct parquet_run runs[PARQUET_RUNS_MAX], uint32_t *count)
{
	bool any = false;

	*count = o->columns.count;
	if (!o->columns.count) {
		runs[0] = (struct parquet_run){(uint32_t)sample_bytes, 1, PARQUET_FIXED, true};
		*count = 1;
		return NULL;
	}
	for (uint32_t i = 0; i < *count; i++) {
		if (!parquet_run_parse(o->columns.items[i], &runs[i]))
			return o->columns.items[i];
		any |= runs[i].read;
	}
	for (uint32_t i = 0; i < *count && !any; i++)
		runs[i].read = true;
	return NULL;
}

static int parquet_check(const void *options, uint64_t samples, uint64_t smallest, uint64_t largest,
			 struct err *err)
{
	const struct parquet_options *o = options;
	struct parquet_run runs[PARQUET_RUNS_MAX];
	uint64_t row = 0, columns = 0;
	uint32_t count;
	const char *wrong;

	(void)samples;
	if (o->columns.count > PARQUET_RUNS_MAX)
		return err_set(err, -EINVAL, "at most %d runs of columns, not %u", PARQUET_RUNS_MAX,
			       o->columns.count);
	wrong = parquet_runs_parse(o, largest, runs, &count);
	if (wrong)
		return err_set(err, -EINVAL,
			       "\"%s\" is not a run of columns; write it as \"50 float32 read\"",
			       wrong);
	for (uint32_t i = 0; i < count; i++) {
		row += (uint64_t)runs[i].columns * runs[i].bytes;
		columns += runs[i].columns;
	}
	if (columns > PARQUET_COLUMNS_MAX)
		return err_set(err, -EINVAL, "at most %d columns, not %" PRIu64,
			       PARQUET_COLUMNS_MAX, columns);
	if (o->columns.count && (smallest != row || largest != row))
		return err_set(err, -EINVAL,
			       "a row of these columns has %" PRIu64
			       " bytes, so must every sample (sample_bytes, without a deviation)",
			       row);
	if (largest > PARQUET_VALUE_MAX)
		return err_set(err, -EINVAL, "a row has at most %d bytes", PARQUET_VALUE_MAX);
	return 0;
}

static void parquet_layout(struct layout *l)
{
	struct parquet_layout *p = LAYOUT_STATE(struct parquet_layout, l);
	uint64_t last = (l->samples - 1) / parquet_row_group(l);
	uint32_t count;

	parquet_runs_parse(l->options, l->sample_bytes, p->runs, &count);
	p->run_count = (uint8_t)count;
	p->id_run = 0;
	l->data_offset = PARQUET_MARK_BYTES;
	l->logical_bytes = 0;
	l->group_samples = parquet_row_group(l);
	for (uint32_t i = count; i--;) {
		if (!p->runs[i].read)
			continue;
		l->logical_bytes += (uint64_t)p->runs[i].columns * p->runs[i].bytes;
		if (p->runs[i].bytes >= ID_BYTES) {
			l->id_bytes = ID_BYTES;
			p->id_run = (uint8_t)i;
		}
	}
	p->group_bytes = parquet_group_bytes(l, 0);
	p->footer_at = parquet_group_at(l, last) + parquet_group_bytes(l, last);
	l->size = p->footer_at + parquet_footer_bytes(l) + PARQUET_TAIL_BYTES;
	l->data_bytes = l->size - l->data_offset;
	l->id_at = l->id_bytes ? parquet_id_place(l, 0) : 0;
}

static void parquet_header(const struct layout *l, uint8_t *out)
{
	(void)l;
	memcpy(out, "PAR1", PARQUET_MARK_BYTES);
}

static uint64_t parquet_id_place(const struct layout *l, uint64_t sample)
{
	const struct parquet_layout *p = LAYOUT_STATE(const struct parquet_layout, l);
	uint64_t group = sample / parquet_row_group(l);
	uint64_t row = sample % parquet_row_group(l);
	uint64_t rows = parquet_group_rows(l, group), at = parquet_group_at(l, group);
	const struct parquet_run *run = &p->runs[p->id_run];

	for (uint32_t i = 0; i < p->id_run; i++)
		at += p->runs[i].columns * parquet_chunk_bytes(&p->runs[i], rows);
	return at + (row / parquet_page_rows(run) + 1) * PARQUET_PAGE_HEADER_BYTES +
	       row * run->bytes;
}

static uint32_t parquet_extents(const struct layout *l, uint64_t sample,
				struct extent out[FORMAT_EXTENTS_MAX])
{
	const struct parquet_layout *p = LAYOUT_STATE(const struct parquet_layout, l);
	uint64_t group = sample / parquet_row_group(l);
	uint64_t rows = parquet_group_rows(l, group), at = parquet_group_at(l, group);
	uint32_t n = 2;

	out[0] = (struct extent){.offset = l->size - PARQUET_TAIL_BYTES,
				 .length = PARQUET_TAIL_BYTES,
				 .cache = CACHE_FOR_FILE};
	out[1] = (struct extent){.offset = p->footer_at,
				 .length = l->size - PARQUET_TAIL_BYTES - p->footer_at,
				 .cache = CACHE_FOR_FILE};
	for (uint32_t i = 0; i < p->run_count; i++) {
		uint64_t bytes = p->runs[i].columns * parquet_chunk_bytes(&p->runs[i], rows);

		if (p->runs[i].read)
			out[n++] = (struct extent){
				.offset = at, .length = bytes, .cache = CACHE_FOR_GROUP};
		at += bytes;
	}
	return n;
}

/* Writes ids into the bytes [at, at + length) of a page's values, which are at out. The page begins
 * with row first of the file. */
static void parquet_stamp_rows(const struct layout *l, uint64_t first, uint64_t at, uint8_t *out,
			       uint64_t length)
{
	const struct parquet_layout *p = LAYOUT_STATE(const struct parquet_layout, l);
	uint64_t width = p->runs[p->id_run].bytes;

	for (uint64_t row = at / width; row * width < at + length; row++) {
		uint64_t begin = row * width;
		uint8_t id[ID_BYTES];

		put_little(id, l->first_id + first + row, ID_BYTES);
		for (uint64_t i = 0; i < ID_BYTES; i++)
			if (begin + i >= at && begin + i < at + length)
				out[begin + i - at] = id[i];
	}
}

/* Bytes of one page from position at in it; returns how many were made. */
static uint64_t parquet_make_page(const struct layout *l, const struct parquet_run *run, bool ids,
				  uint64_t first, uint64_t rows, uint64_t at, uint64_t offset,
				  uint8_t *out, uint64_t length)
{
	uint8_t header[PARQUET_PAGE_HEADER_BYTES];
	uint64_t n;

	if (at < PARQUET_PAGE_HEADER_BYTES) {
		n = PARQUET_PAGE_HEADER_BYTES - at < length ? PARQUET_PAGE_HEADER_BYTES - at
							    : length;
		parquet_page_header(header, rows, rows * run->bytes);
		memcpy(out, header + at, n);
		return n;
	}
	at -= PARQUET_PAGE_HEADER_BYTES;
	n = rows * run->bytes - at < length ? rows * run->bytes - at : length;
	fill(l->key, offset, out, n);
	if (ids)
		parquet_stamp_rows(l, first, at, out, n);
	return n;
}

/* Bytes of the row groups from file position offset to the end of the page; returns how many. */
static uint64_t parquet_make_group(const struct layout *l, uint64_t offset, uint8_t *out,
				   uint64_t length)
{
	const struct parquet_layout *p = LAYOUT_STATE(const struct parquet_layout, l);
	uint64_t group = (offset - PARQUET_MARK_BYTES) / p->group_bytes;
	uint64_t rows = parquet_group_rows(l, group);
	uint64_t at = offset - parquet_group_at(l, group), chunk, column, page, first;
	const struct parquet_run *run = p->runs;

	for (;; run++) {
		chunk = parquet_chunk_bytes(run, rows);
		if (at < run->columns * chunk)
			break;
		at -= run->columns * chunk;
	}
	column = at / chunk;
	at %= chunk;
	page = at / (PARQUET_PAGE_HEADER_BYTES + parquet_page_rows(run) * run->bytes);
	at %= PARQUET_PAGE_HEADER_BYTES + parquet_page_rows(run) * run->bytes;
	first = page * parquet_page_rows(run);
	rows = rows - first < parquet_page_rows(run) ? rows - first : parquet_page_rows(run);
	return parquet_make_page(l, run, l->id_bytes && run == &p->runs[p->id_run] && column == 0,
				 group * parquet_row_group(l) + first, rows, at, offset, out,
				 length);
}

static void parquet_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	const struct parquet_layout *p = LAYOUT_STATE(const struct parquet_layout, l);
	uint8_t *out = data;

	while (length) {
		uint64_t n = p->footer_at - offset;

		if (offset < p->footer_at)
			n = parquet_make_group(l, offset, out, n < length ? n : length);
		else
			n = parquet_footer(l, offset - p->footer_at, out, length);
		out += n;
		offset += n;
		length -= n;
	}
}
