/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/io/mix.h"

#include <errno.h>
#include <stdlib.h>

#include "core/content/random.h"

enum { MIX_KIND, MIX_OBJECT, MIX_CHANGE }; /* what is drawn for an operation */

void io_mix_shares(const struct io_options *o, double shares[IO_KINDS])
{
	const struct io_mix_options *m = &o->mix;
	double total = m->get + m->put + m->stat + m->remove + m->list;

	if (!io_mix_given(o)) {
		shares[IO_GET] = o->read_share;
		shares[IO_PUT] = 1 - o->read_share;
		shares[IO_STAT] = shares[IO_DELETE] = shares[IO_LIST] = 0;
		return;
	}
	shares[IO_GET] = m->get / total;
	shares[IO_PUT] = m->put / total;
	shares[IO_STAT] = m->stat / total;
	shares[IO_DELETE] = m->remove / total;
	shares[IO_LIST] = m->list / total;
}

int io_mix_open(struct io_mix *m, const struct io_options *o, uint64_t names, uint64_t key)
{
	double shares[IO_KINDS], sum = 0;
	uint64_t entries = 8;

	io_mix_shares(o, shares);
	shares[IO_PUT] -= shares[IO_DELETE];
	shares[IO_DELETE] *= 2;
	*m = (struct io_mix){.key = key,
			     .draws = o->order == IO_REPLACEMENT,
			     .names = names,
			     .head = names,
			     .spared = shares[IO_DELETE] > 0 ? 2 * o->depth : 0};
	for (unsigned k = 0; k < IO_KINDS; k++) {
		sum += shares[k];
		m->below[k] = sum < 1 ? (uint64_t)(sum * 0x1p64) : UINT64_MAX;
	}
	/* They are so much more than operations that names with one counter are rare. */
	while (entries < 32 * o->depth)
		entries *= 2;
	m->mask = entries - 1;
	m->users = calloc(entries, sizeof(*m->users));
	m->changing = calloc(entries, sizeof(*m->changing));
	return m->users && m->changing ? 0 : -ENOMEM;
}

void io_mix_close(struct io_mix *m)
{
	free(m->users);
	free(m->changing);
	m->users = NULL;
	m->changing = NULL;
}

static bool io_mix_used(const struct io_mix *m, uint64_t number)
{
	return m->users[number % m->names & m->mask];
}

static enum io_kind io_mix_kind(const struct io_mix *m, uint64_t bits)
{
	unsigned kind = 0;

	while (kind + 1 < IO_KINDS && bits >= m->below[kind])
		kind++;
	return (enum io_kind)kind;
}

/* An object that exists, that nobody makes or deletes, and that will not be deleted soon. */
static uint64_t io_mix_object(struct io_mix *m, uint64_t n)
{
	uint64_t first = m->tail + m->spared, live = m->head - first, from = m->turn++ % live;
	uint64_t name = 0;

	if (m->draws)
		from = (uint64_t)((unsigned __int128)random_at(m->key, n, MIX_OBJECT) * live >> 64);
	for (uint64_t i = 0; i < live; i++) {
		name = (first + (from + i) % live) % m->names;
		if (!m->changing[name & m->mask])
			break;
	}
	return name;
}

/* Makes an object again or deletes one: as drawn, unless all objects exist, or too few, or the name
 * is in use. */
static bool io_mix_change(struct io_mix *m, uint64_t n, struct io_mix_turn *t)
{
	uint64_t live = m->head - m->tail;
	bool makes = live < m->names - m->spared && !io_mix_used(m, m->head);
	bool deletes = live > 2 * m->spared && !io_mix_used(m, m->tail);

	if (!makes && !deletes)
		return false;
	if (makes && deletes)
		makes = random_at(m->key, n, MIX_CHANGE) & 1;
	t->changes = true;
	t->kind = makes ? IO_PUT : IO_DELETE;
	t->name = (makes ? m->head++ : m->tail++) % m->names;
	return true;
}

struct io_mix_turn io_mix_next(struct io_mix *m, uint64_t n)
{
	struct io_mix_turn t = {.kind = io_mix_kind(m, random_at(m->key, n, MIX_KIND))};

	if (t.kind == IO_LIST)
		return t;
	if (t.kind != IO_DELETE || !io_mix_change(m, n, &t)) {
		t.kind = t.kind == IO_DELETE ? IO_PUT : t.kind;
		t.name = io_mix_object(m, n);
	}
	m->users[t.name & m->mask]++;
	m->changing[t.name & m->mask] += t.changes;
	return t;
}

void io_mix_end(struct io_mix *m, const struct io_mix_turn *t, bool failed)
{
	if (t->kind == IO_LIST)
		return;
	m->users[t->name & m->mask]--;
	m->changing[t->name & m->mask] -= t->changes;
	m->lost = m->lost || (failed && t->changes);
}

bool io_mix_stands(const struct io_mix *m)
{
	return !m->lost && m->head - m->tail == m->names;
}
