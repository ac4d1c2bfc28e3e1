/* SPDX-License-Identifier: Apache-2.0 */
/* Cache of the details of phases of a file that is read: see phase_cache.h. */
#include "results-schema/phase_cache.h"

#include <stdlib.h>
#include <string.h>

#include "results-schema/read_phase.h"
#include "results-schema/side_phase.h"

struct phase_cache {
	char *path;
	struct results_file head; /* only what reading details asks for */
	uint64_t room;
	const struct results_phase_read *of; /* whose details these are; NULL: nobody's */
	struct results_phase_read whole;     /* a copy of its record, and the details */
};

struct phase_cache *phase_cache_new(const struct results_file *f, uint64_t room)
{
	struct phase_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->room = room;
	c->head.ranks = f->ranks;
	c->head.nodes = f->nodes;
	c->path = strdup(f->path);
	if (c->path)
		return c;
	free(c);
	return NULL;
}

void phase_cache_free(struct phase_cache *c)
{
	if (!c)
		return;
	read_details_free(&c->whole);
	free(c->path);
	free(c);
}

void phase_cache_take(struct phase_cache *c, struct results_phase_read *p)
{
	uint64_t bytes = read_details_bytes(p);

	if (bytes <= c->room) {
		c->room -= bytes;
		return;
	}
	read_details_free(p);
	p->cache = c;
}

static int phase_cache_read(struct phase_cache *c, const char *member, struct err *err)
{
	struct h5_reader r;

	h5r_begin(&r, h5r_file(c->path), err);
	h5r_enter(&r, "phases");
	side_phase_enter(&r, member, c->path);
	read_details(&r, &c->head, &c->whole);
	return h5r_finish(&r);
}

const struct results_phase_read *results_whole(const struct results_phase_read *p)
{
	struct phase_cache *c = p->cache;
	struct err err = {0};

	if (!c)
		return p;
	if (c->of == p)
		return &c->whole;
	read_details_free(&c->whole);
	c->whole.record = p->record;
	/* Borrowed: details are read by it. */
	c->whole.merged = p->merged;
	if (phase_cache_read(c, p->member, &err) < 0)
		read_details_free(&c->whole);
	c->of = p;
	return &c->whole;
}

const struct results_table *results_ranks(const struct results_phase_read *p)
{
	return &results_whole(p)->ranks;
}

const struct hist *results_find_hist(const struct results_phase_read *phase, const char *name)
{
	const struct results_hist *found = read_hist_named(results_whole(phase), name);

	return found ? &found->hist : NULL;
}

const struct results_hist *results_role_hist(const struct results_phase_read *phase, enum role role)
{
	return read_hist_of_role(results_whole(phase), role);
}

const struct results_rows *results_find_table(const struct results_phase_read *phase,
					      const char *name)
{
	phase = results_whole(phase);
	for (uint32_t i = 0; i < phase->table_count; i++)
		if (strcmp(phase->tables[i].name, name) == 0)
			return &phase->tables[i];
	return NULL;
}
