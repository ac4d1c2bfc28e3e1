/* SPDX-License-Identifier: Apache-2.0 */
/* csv: one row per sample, without a line of names: the sample's id, then numbers from 100 to 355.
 *
 *   id in 20 digits , ddd , ddd , … , ddd newline
 *   0              20 21
 *
 * The id is the first column, in decimal, with leading zeros; each other number is one random byte
 * plus 100, so all have three digits and any range can be made on its own. Where a row's size
 * requires it, the last number has up to three zeros more behind its digits.
 *
 * Text cannot be cut into rows without reading it, so a reader takes the whole file for a
 * sample. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/payload.h"
#include "workloads/formats/walk.h"

struct csv_walk {
	uint64_t rows;
	uint8_t byte; /* the last one that came */
};

static const char *csv_walk_take(struct walk *w, struct walk_piece *p)
{
	struct csv_walk *s = WALK_STATE(struct csv_walk, w);
	const uint8_t *end = p->at + p->left, *found;

	if (p->left)
		s->byte = end[-1];
	while ((found = memchr(p->at, '\n', (size_t)(end - p->at)))) {
		s->rows++;
		p->at = found + 1;
	}
	p->at = end;
	p->left = 0;
	return NULL;
}

static const char *csv_walk_end(const struct walk *w, uint64_t samples)
{
	const struct csv_walk *s = WALK_STATE(const struct csv_walk, w);

	if (s->byte != '\n')
		return "ends inside a row";
	return s->rows == samples ? NULL : "has another number of rows than samples";
}

static const struct walk_ops csv_walk = {csv_walk_take, csv_walk_end, true};

enum {
	NUMBERS_AT = ID_DIGITS + 1,
	CELL = 4, /* three digits and a comma */
	ROW_MIN = NUMBERS_AT + CELL,
	CELLS = 1024, /* made at once */
	BYTES = 256,
	NUMBER_LEAST = 100
};

static int csv_check(const void *options, uint64_t samples, uint64_t smallest, uint64_t largest,
		     struct err *err);
static void csv_layout(struct layout *l);
static void csv_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length);

const struct format_ops format_csv = {
	.check = csv_check,
	.layout = csv_layout,
	.extents = payload_whole_file,
	.payload = csv_payload,
	.walk = &csv_walk,
	.count = csv_count,
};

static int csv_check(const void *options, uint64_t samples, uint64_t smallest, uint64_t largest,
		     struct err *err)
{
	(void)options;
	(void)samples;
	(void)largest;
	if (smallest >= ROW_MIN)
		return 0;
	return err_set(err, -EINVAL,
		       "a csv row has at least %d bytes, the smallest sample would have %" PRIu64,
		       ROW_MIN, smallest);
}

static void csv_layout(struct layout *l)
{
	payload_contiguous(l);
	l->id_bytes = ID_DIGITS;
}

/* Bytes of a row that follow its id. */
static uint64_t csv_numbers_bytes(const struct layout *l)
{
	return l->sample_bytes - NUMBERS_AT;
}

static void csv_put_id(uint8_t out[NUMBERS_AT], uint64_t id)
{
	for (unsigned i = ID_DIGITS; i--; id /= 10)
		out[i] = (uint8_t)('0' + id % 10);
	out[ID_DIGITS] = ',';
}

/* The text that each random byte becomes. */
static void csv_make_cells(uint32_t cells[BYTES])
{
	for (unsigned byte = 0; byte < BYTES; byte++) {
		unsigned n = byte + NUMBER_LEAST;
		uint8_t text[CELL] = {(uint8_t)('0' + n / 100), (uint8_t)('0' + n / 10 % 10),
				      (uint8_t)('0' + n % 10), ','};

		memcpy(&cells[byte], text, CELL);
	}
}

/* count numbers as text, beginning with the given one of all rows together. noinline: the random
 * bytes are on the stack only here. */
static __attribute__((noinline)) void csv_make_numbers(const struct layout *l, uint64_t number,
						       uint8_t *out, uint64_t count,
						       const uint32_t cells[BYTES])
{
	uint8_t random[CELLS];

	while (count) {
		uint64_t n = count < CELLS ? count : CELLS;

		fill(l->key, number, random, n);
		for (uint64_t i = 0; i < n; i++)
			memcpy(out + i * CELL, &cells[random[i]], CELL);
		out += n * CELL;
		number += n;
		count -= n;
	}
}

/* Bytes [at, at + length) of a row's numbers. The row's last CELL bytes and what is left of a cell
 * end in zeros and the newline. */
static void csv_make_row(const struct layout *l, uint64_t row, uint64_t at, uint8_t *out,
			 uint64_t length, const uint32_t cells[BYTES])
{
	uint64_t numbers = csv_numbers_bytes(l) / CELL, end = at + length;
	uint64_t first = row * numbers + at / CELL, zeros = numbers * CELL - 1;
	uint64_t into = at % CELL, n;
	uint8_t part[CELL], *to = out;

	if (into && at < numbers * CELL) {
		n = CELL - into < length ? CELL - into : length;
		csv_make_numbers(l, first++, part, 1, cells);
		memcpy(to, part + into, n);
		to += n;
		at += n;
	}
	if (at < end && at < numbers * CELL) {
		n = (end < numbers * CELL ? end : numbers * CELL) - at;
		csv_make_numbers(l, first, to, n / CELL, cells);
		if (n % CELL) {
			csv_make_numbers(l, first + n / CELL, part, 1, cells);
			memcpy(to + n / CELL * CELL, part, n % CELL);
		}
	}
	at = end - length;
	for (uint64_t i = zeros > at ? zeros : at; i < end; i++)
		out[i - at] = i + 1 == csv_numbers_bytes(l) ? '\n' : '0';
}

static void csv_payload(const struct layout *l, uint64_t offset, void *data, uint64_t length)
{
	uint32_t cells[BYTES];
	uint8_t id[NUMBERS_AT];
	uint8_t *out = data;

	csv_make_cells(cells);
	while (length) {
		uint64_t row = offset / l->sample_bytes, at = offset % l->sample_bytes, n;

		if (at < NUMBERS_AT) {
			n = NUMBERS_AT - at < length ? NUMBERS_AT - at : length;
			csv_put_id(id, l->first_id + row);
			memcpy(out, id + at, n);
		} else {
			n = l->sample_bytes - at < length ? l->sample_bytes - at : length;
			csv_make_row(l, row, at - NUMBERS_AT, out, n, cells);
		}
		out += n;
		offset += n;
		length -= n;
	}
}
