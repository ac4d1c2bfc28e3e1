/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/walk.h"

#include <string.h>

const char *walk_take(const struct walk_ops *ops, struct walk *w, struct walk_piece *p)
{
	const char *wrong;

	p->jumps = p->offset != w->next || p->object != w->object;
	w->whole = p->jumps ? false : w->whole || p->offset == 0;
	w->next = p->offset + p->left;
	w->object = p->object;
	w->last = p->object == 0 && w->next == w->size;
	wrong = ops->take(w, p);
	if (!wrong && w->overlong)
		wrong = "has a part that is longer than haul looks at";
	return wrong;
}

const char *walk_end(const struct walk_ops *ops, const struct walk *w, uint64_t samples)
{
	return ops->end(w, samples);
}

bool walk_gather(struct walk *w, struct walk_piece *p, uint8_t *bytes, uint32_t room, uint64_t n)
{
	uint64_t some;

	if (n > room || n < w->have) {
		w->overlong = true;
		p->left = 0;
		return false;
	}
	some = n - w->have < p->left ? n - w->have : p->left;
	memcpy(bytes + w->have, p->at, some);
	w->have += (uint32_t)some;
	p->at += some;
	p->offset += some;
	p->left -= some;
	return w->have == n;
}

uint64_t walk_span(struct walk *w, struct walk_piece *p, const uint8_t **span)
{
	uint64_t n = w->left < p->left ? w->left : p->left;

	*span = p->at;
	p->at += n;
	p->offset += n;
	p->left -= n;
	w->left -= n;
	return n;
}

void walk_part(struct walk *w, uint32_t part, uint64_t bytes)
{
	w->part = part;
	w->left = bytes;
	w->have = 0;
}

uint64_t walk_little(const uint8_t *bytes, unsigned n)
{
	uint64_t value = 0;

	while (n--)
		value = value << 8 | bytes[n];
	return value;
}

uint64_t walk_big(const uint8_t *bytes, unsigned n)
{
	uint64_t value = 0;

	while (n--)
		value = value << 8 | *bytes++;
	return value;
}
