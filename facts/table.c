/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the columns of a table: see table.h. */
#include "facts/table.h"

#include <math.h>

#include "core/stats.h"

const void *table_row_at(const struct report_table *t, size_t i)
{
	return (const char *)t->rows + i * t->stride;
}

static const void *column_at(const struct column *c, const void *row)
{
	const char *from = c->behind ? *(const char *const *)row : row;

	return from + c->offset;
}

const char *column_json(const struct column *c)
{
	const char *path = c->json ? c->json : c->key;

	return path && *path ? path : NULL;
}

const char *column_page(const struct column *c)
{
	const char *heading = c->page ? c->page : c->heading;

	return column_json(c) && heading && *heading ? heading : NULL;
}

const struct stats *column_stats(const struct column *c, const void *row)
{
	return column_at(c, row);
}

double column_number(const struct column *c, const void *row)
{
	const void *at = column_at(c, row);

	switch (c->type) {
	case COLUMN_REAL:
		return *(const double *)at;
	case COLUMN_U64:
	case COLUMN_YES:
		return (double)*(const uint64_t *)at;
	case COLUMN_U32:
		return *(const uint32_t *)at;
	case COLUMN_FLAG:
		return *(const bool *)at;
	case COLUMN_STATS:
		return column_stats(c, row)->mean;
	case COLUMN_VALUE:
		return c->number(row, c->which);
	default:
		return NAN;
	}
}

const char *column_text(const struct column *c, const void *row)
{
	const void *at = column_at(c, row);

	switch (c->type) {
	case COLUMN_TEXT:
		return *(const char *const *)at;
	case COLUMN_NAME:
	case COLUMN_PARTS:
		return at;
	case COLUMN_WORD:
		return c->word(row);
	default:
		return NULL;
	}
}

unsigned column_count(const struct column *c, const void *row)
{
	const void *at = column_at(c, row);

	return c->type == COLUMN_TEXTS ? c->count : *(const uint32_t *)at;
}

const char *column_text_at(const struct column *c, const void *row, unsigned i)
{
	const void *at = column_at(c, row);

	return (*(char *const *const *)at)[i];
}
