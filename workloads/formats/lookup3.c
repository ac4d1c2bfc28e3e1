#include "workloads/formats/lookup3.h"

#include <string.h>

static uint32_t turn(uint32_t x, unsigned by)
{
	return x << by | x >> (32 - by);
}

static void mix(uint32_t v[3])
{
	static const uint8_t turns[] = {4, 6, 8, 16, 19, 4};

	for (unsigned i = 0; i < sizeof(turns); i++) {
		uint32_t *a = &v[i % 3], *b = &v[(i + 1) % 3], *c = &v[(i + 2) % 3];

		*a -= *c;
		*a ^= turn(*c, turns[i]);
		*c += *b;
	}
}

static void finish(uint32_t v[3])
{
	static const uint8_t turns[] = {14, 11, 25, 16, 4, 14, 24};

	for (unsigned i = 0; i < sizeof(turns); i++) {
		uint32_t *to = &v[(i + 2) % 3], *from = &v[(i + 1) % 3];

		*to ^= *from;
		*to -= turn(*from, turns[i]);
	}
}

static void add_bytes(uint32_t v[3], const uint8_t *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		v[i / 4] += (uint32_t)data[i] << 8 * (i % 4);
}

uint32_t lookup3(const uint8_t *data, size_t length)
{
	struct lookup3 s;

	lookup3_begin(&s, length);
	lookup3_add(&s, data, length);
	return lookup3_end(&s);
}

void lookup3_begin(struct lookup3 *s, uint64_t length)
{
	uint32_t start = 0xdeadbeefu + (uint32_t)length;

	*s = (struct lookup3){.v = {start, start, start}};
}

/* A full block waits: the last one is not mixed. */
void lookup3_add(struct lookup3 *s, const uint8_t *data, uint64_t length)
{
	while (length) {
		uint64_t n;

		if (s->have == LOOKUP3_BLOCK) {
			add_bytes(s->v, s->block, LOOKUP3_BLOCK);
			mix(s->v);
			s->have = 0;
		}
		n = LOOKUP3_BLOCK - s->have < length ? LOOKUP3_BLOCK - s->have : length;
		memcpy(s->block + s->have, data, n);
		s->have += (uint32_t)n;
		data += n;
		length -= n;
	}
}

uint32_t lookup3_end(struct lookup3 *s)
{
	if (!s->have)
		return s->v[2];
	add_bytes(s->v, s->block, s->have);
	finish(s->v);
	return s->v[2];
}
