/* SPDX-License-Identifier: Apache-2.0 */
/* csv: counts rows; the last row ends as the others do. */
#include <string.h>

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

const struct walk_ops csv_walk = {csv_walk_take, csv_walk_end, true};
