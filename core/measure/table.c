/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a phase: see table.h. */
#include "core/measure/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "core/utf8.h"

enum { HIST_WORDS = HIST_SUM_WORDS + HIST_MAX_WORDS, TABLE_FIRST_ROWS = 8 };

uint32_t table_key_words(const struct table_kind *kind)
{
	return kind->key == TABLE_TEXT ? TABLE_TEXT_WORDS : 1;
}

uint32_t table_codes_at(const struct table_kind *kind)
{
	return kind->columns.measure_count;
}

uint32_t table_hist_at(const struct table_kind *kind, uint32_t hist)
{
	uint32_t at = table_codes_at(kind) + (kind->codes ? kind->codes->codes : 0);

	for (uint32_t i = 0; i < hist; i++)
		at += kind->hists[i].coarse ? COARSE_BUCKETS : HIST_WORDS;
	return at;
}

uint32_t table_row_words(const struct table_kind *kind)
{
	return table_key_words(kind) + table_hist_at(kind, kind->hist_count);
}

uint64_t *table_row(const struct table *t, uint32_t i)
{
	return t->words + (size_t)i * table_row_words(t->kind) + table_key_words(t->kind);
}

uint64_t *table_codes(const struct table_kind *kind, uint64_t *row)
{
	return row + table_codes_at(kind);
}

struct hist *table_hist(const struct table_kind *kind, uint64_t *row, uint32_t hist)
{
	return (struct hist *)(void *)(row + table_hist_at(kind, hist));
}

struct coarse_hist *table_coarse_hist(const struct table_kind *kind, uint64_t *row, uint32_t hist)
{
	return (struct coarse_hist *)(void *)(row + table_hist_at(kind, hist));
}

const uint64_t *table_key(const struct table_kind *kind, const uint64_t *row)
{
	return row - table_key_words(kind);
}

int table_init(struct table *t, const struct table_kind *kind, uint32_t rows_max, struct err *err)
{
	*t = (struct table){.kind = kind, .rows_max = rows_max ? rows_max : kind->rows_max};
	if (kind->key == TABLE_TEXT)
		return 0;
	/* One word more than needed, so that NULL always means that there is no memory. */
	t->words = calloc((size_t)t->rows_max * table_row_words(kind) + 1, sizeof(*t->words));
	if (!t->words)
		return err_set(err, -ENOMEM, "no memory for %u rows of %s", t->rows_max,
			       kind->name);
	t->capacity = t->rows_max;
	return 0;
}

void table_free(struct table *t)
{
	free(t->words);
	memset(t, 0, sizeof(*t));
}

void table_clear(struct table *t)
{
	/* A row that comes into use is all zeros. */
	if (t->rows)
		memset(t->words, 0, (size_t)t->rows * table_row_words(t->kind) * sizeof(*t->words));
	t->rows = 0;
	t->left_out = 0;
}

uint64_t *table_numbered(struct table *t, uint64_t number)
{
	if (number == 0 || number > t->capacity || !t->words) {
		t->left_out++;
		return NULL;
	}
	/* A row gets its key when it comes into use, so that unused rows take no memory. */
	for (; t->rows < number; t->rows++)
		t->words[(size_t)t->rows * table_row_words(t->kind)] = t->rows + 1;
	return table_row(t, (uint32_t)number - 1);
}

static bool table_grow(struct table *t)
{
	size_t row_bytes = table_row_words(t->kind) * sizeof(*t->words);
	uint32_t capacity = t->capacity ? 2 * t->capacity : TABLE_FIRST_ROWS;
	uint64_t *words;

	if (capacity > t->rows_max)
		capacity = t->rows_max;
	/* One byte more than needed, so that NULL always means that there is no memory. */
	words = realloc(t->words, capacity * row_bytes + 1);
	if (!words)
		return false;
	t->words = words;
	t->capacity = capacity;
	return true;
}

uint64_t *table_named(struct table *t, const char *name)
{
	uint32_t words = table_row_words(t->kind);
	char key[TABLE_TEXT_BYTES] = "";
	uint64_t *row;

	utf8_copy(key, sizeof(key), name);
	for (uint32_t i = 0; i < t->rows; i++)
		if (strcmp((const char *)(t->words + (size_t)i * words), key) == 0)
			return table_row(t, i);
	if (t->rows == t->rows_max || (t->rows == t->capacity && !table_grow(t))) {
		t->left_out++;
		return NULL;
	}
	row = t->words + (size_t)t->rows * words;
	memset(row, 0, words * sizeof(*row));
	memcpy(row, key, sizeof(key));
	return table_row(t, t->rows++);
}

/* Adds one row, except its key, to another. */
static void table_merge_row(const struct table_kind *kind, uint64_t *into, const uint64_t *from)
{
	uint32_t end = table_hist_at(kind, 0);

	columns_merge(&kind->columns, into, from);
	for (uint32_t i = table_codes_at(kind); i < end; i++)
		into[i] += from[i];
	for (uint32_t h = 0; h < kind->hist_count; h++) {
		uint32_t at = table_hist_at(kind, h);

		if (kind->hists[h].coarse) {
			for (uint32_t i = 0; i < COARSE_BUCKETS; i++)
				into[at + i] += from[at + i];
		} else {
			hist_merge((struct hist *)(void *)(into + at),
				   (const struct hist *)(const void *)(from + at));
		}
	}
}

void table_add(struct table *into, const struct table *from)
{
	const struct table_kind *kind = from->kind;
	size_t bytes;

	INVARIANT(into->kind == kind, "words are added by their places in a row of the kind");
	bytes = table_hist_at(kind, kind->hist_count) * sizeof(*from->words);

	for (uint32_t i = 0; i < from->rows; i++) {
		const uint64_t *row = table_row(from, i), *key = table_key(kind, row);
		uint32_t before = into->rows;
		uint64_t *to = kind->key == TABLE_TEXT ? table_named(into, (const char *)key)
						       : table_numbered(into, *key);

		/* A new row has no minimum yet. */
		if (to && into->rows > before)
			memcpy(to, row, bytes);
		else if (to)
			table_merge_row(kind, to, row);
	}
	into->left_out += from->left_out;
}
