/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/codes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"

/* Where the places of the tables are: in older files the third one is not that of the chunks. */
enum { PLACES = 4, PLACES_OLDER = 5, PLACE_PIVOTS = 0, PLACE_CHUNKS = 2, PLACE_CHUNKS_OLDER = 3 };
/* Above that, squares of floats have no meaning here. */
static const float value_most = 1e15F;
/* All distances together stay below 2^31. */
static const double distance_most = 2147483648.0;

/* A table of a file: rows and columns, then values of that many bytes. */
struct table {
	uint64_t rows, columns;
	const char *values;
};

static int table_at(const void *data, size_t bytes, uint64_t at, uint64_t value_bytes,
		    struct table *t, struct err *err)
{
	int32_t head[2];

	if (at > bytes || bytes - at < sizeof(head))
		return err_set(err, -EINVAL, "has a table at byte %" PRIu64 ", after its end", at);
	memcpy(head, (const char *)data + at, sizeof(head));
	if (head[0] < 1 || head[1] < 1 ||
	    (uint64_t)head[0] * (uint64_t)head[1] > (bytes - at - sizeof(head)) / value_bytes)
		return err_set(err, -EINVAL,
			       "has a table of %d x %d values at byte %" PRIu64
			       ", for which it is too short",
			       head[0], head[1], at);
	*t = (struct table){(uint64_t)head[0], (uint64_t)head[1],
			    (const char *)data + at + sizeof(head)};
	return 0;
}

static uint64_t place_of(const struct table *places, uint64_t i)
{
	uint64_t at;

	memcpy(&at, places->values + 8 * i, sizeof(at));
	return at;
}

/* Distances within a chunk are at most that of the corners of the box around its pivots. */
static int codes_scale(struct codes *c, struct err *err)
{
	double most = 0;

	for (uint64_t d = 0; d < c->dimension; d++) {
		float low = c->pivots[d], high = low;

		for (uint64_t k = 0; k < CODES_PIVOTS; k++) {
			float value = c->pivots[k * c->dimension + d];

			if (!(fabsf(value) < value_most))
				return err_set(err, -EINVAL, "has a pivot that is no number");
			low = value < low ? value : low;
			high = value > high ? value : high;
		}
		most += ((double)high - (double)low) * ((double)high - (double)low);
	}
	c->scale = most > 0 ? distance_most / most : 0;
	return 0;
}

static int codes_begins(struct codes *c, const struct table *chunks, struct err *err)
{
	uint32_t last = 0;

	c->chunks = (uint32_t)(chunks->rows - 1);
	c->begins = malloc((c->chunks + 1) * sizeof(*c->begins));
	if (!c->begins)
		return err_set(err, -ENOMEM, "no memory for %u chunks", c->chunks);
	memcpy(c->begins, chunks->values, (c->chunks + 1) * sizeof(*c->begins));
	for (uint32_t i = 0; i <= c->chunks; i++) {
		if (c->begins[i] < last || c->begins[i] > c->dimension)
			return err_set(err, -EINVAL,
				       "has a chunk that begins at dimension %u of %u",
				       c->begins[i], c->dimension);
		last = c->begins[i];
	}
	return 0;
}

int codes_pivots(struct codes *c, const void *data, size_t bytes, struct err *err)
{
	struct table places, pivots, chunks;
	uint64_t which;
	int rc = table_at(data, bytes, 0, 8, &places, err);

	if (rc == 0 &&
	    ((places.rows != PLACES && places.rows != PLACES_OLDER) || places.columns != 1))
		rc = err_set(err, -EINVAL,
			     "is no file of pivots: it begins with %" PRIu64 " places",
			     places.rows);
	if (rc < 0)
		return rc;
	which = places.rows == PLACES ? PLACE_CHUNKS : PLACE_CHUNKS_OLDER;
	rc = table_at(data, bytes, place_of(&places, PLACE_PIVOTS), 4, &pivots, err);
	if (rc == 0)
		rc = table_at(data, bytes, place_of(&places, which), 4, &chunks, err);
	if (rc < 0)
		return rc;
	if (pivots.rows != CODES_PIVOTS || pivots.columns > CODES_DIMENSION_MAX)
		return err_set(err, -EINVAL,
			       "has %" PRIu64 " pivots of %" PRIu64
			       " dimensions, not %d of up to %d",
			       pivots.rows, pivots.columns, CODES_PIVOTS, CODES_DIMENSION_MAX);
	if (chunks.columns != 1 || chunks.rows < 2 || chunks.rows > CODES_CHUNKS_MAX + 1)
		return err_set(err, -EINVAL, "has %" PRIu64 " chunks, not 1 to %d", chunks.rows - 1,
			       CODES_CHUNKS_MAX);
	c->dimension = (uint32_t)pivots.columns;
	c->pivots = malloc(CODES_PIVOTS * pivots.columns * sizeof(*c->pivots));
	if (!c->pivots)
		return err_set(err, -ENOMEM, "no memory for pivots");
	memcpy(c->pivots, pivots.values, CODES_PIVOTS * pivots.columns * sizeof(*c->pivots));
	rc = codes_scale(c, err);
	return rc < 0 ? rc : codes_begins(c, &chunks, err);
}

int codes_open(struct codes *c, const void *head, uint64_t file_bytes, uint64_t vectors,
	       struct err *err)
{
	int32_t words[2];

	memcpy(words, head, sizeof(words));
	if (words[0] < 0 || (uint64_t)(uint32_t)words[0] != vectors || words[1] < 0 ||
	    (uint32_t)words[1] != c->chunks)
		return err_set(err, -EINVAL,
			       "has codes of %d vectors in %d chunks, and the index has %" PRIu64
			       " in %u",
			       words[0], words[1], vectors, c->chunks);
	if (file_bytes < CODES_HEAD || file_bytes - CODES_HEAD != vectors * c->chunks)
		return err_set(err, -EINVAL, "has %" PRIu64 " bytes, not %" PRIu64, file_bytes,
			       CODES_HEAD + vectors * c->chunks);
	c->vectors = vectors;
	c->codes = malloc(vectors * c->chunks);
	return c->codes ? 0
			: err_set(err, -ENOMEM, "no memory for the codes of %" PRIu64 " vectors",
				  vectors);
}

void codes_close(struct codes *c)
{
	free(c->pivots);
	free(c->begins);
	free(c->codes);
	*c = (struct codes){0};
}

void codes_table(const struct codes *c, uint64_t id, uint32_t *table)
{
	const uint8_t *code = c->codes + id * c->chunks;

	for (uint32_t i = 0; i < c->chunks; i++) {
		const float *mine = &c->pivots[(uint64_t)code[i] * c->dimension];

		for (uint32_t k = 0; k < CODES_PIVOTS; k++) {
			const float *other = &c->pivots[(uint64_t)k * c->dimension];
			double sum = 0;

			for (uint32_t d = c->begins[i]; d < c->begins[i + 1]; d++) {
				double way = (double)mine[d] - (double)other[d];

				sum += way * way;
			}
			table[(uint64_t)i * CODES_PIVOTS + k] = (uint32_t)(sum * c->scale);
		}
	}
}
