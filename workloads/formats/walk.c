#include "workloads/formats/walk.h"

#include <string.h>

bool walk_jumps(struct walk *w, const struct walk_piece *p)
{
	bool jumps = p->offset != w->next || p->object != w->object;

	w->next = p->offset + p->left;
	w->object = p->object;
	return jumps;
}

bool walk_gather(struct walk *w, struct walk_piece *p, uint32_t n)
{
	uint64_t some = n - w->have < p->left ? n - w->have : p->left;

	memcpy(w->bytes + w->have, p->at, some);
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

void walk_part(struct walk *w, uint32_t part, uint64_t n)
{
	w->part = part;
	w->left = n;
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
