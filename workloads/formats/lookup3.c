/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/formats/lookup3.h"

#include <endian.h>
#include <string.h>

static uint32_t lookup3_turn(uint32_t x, unsigned by)
{
	return x << by | x >> (32 - by);
}

static void lookup3_step(uint32_t *a, uint32_t *b, uint32_t *c, unsigned turn)
{
	*a -= *c;
	*a ^= lookup3_turn(*c, turn);
	*c += *b;
}

static void lookup3_mix(uint32_t v[3])
{
	lookup3_step(&v[0], &v[1], &v[2], 4);
	lookup3_step(&v[1], &v[2], &v[0], 6);
	lookup3_step(&v[2], &v[0], &v[1], 8);
	lookup3_step(&v[0], &v[1], &v[2], 16);
	lookup3_step(&v[1], &v[2], &v[0], 19);
	lookup3_step(&v[2], &v[0], &v[1], 4);
}

static void lookup3_finish(uint32_t v[3])
{
	static const uint8_t turns[] = {14, 11, 25, 16, 4, 14, 24};

	for (unsigned i = 0; i < sizeof(turns); i++) {
		uint32_t *to = &v[(i + 2) % 3], *from = &v[(i + 1) % 3];

		*to ^= *from;
		*to -= lookup3_turn(*from, turns[i]);
	}
}

static void lookup3_add_block(uint32_t v[3], const uint8_t *block)
{
	uint32_t words[3];

	memcpy(words, block, LOOKUP3_BLOCK);
	for (unsigned i = 0; i < 3; i++)
		v[i] += le32toh(words[i]);
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

/* Keeps a full block until more bytes come, because the last block is not mixed. */
void lookup3_add(struct lookup3 *s, const uint8_t *data, uint64_t length)
{
	while (length) {
		uint64_t n;

		if (s->have == LOOKUP3_BLOCK) {
			lookup3_add_block(s->v, s->block);
			lookup3_mix(s->v);
			s->have = 0;
		}
		for (; !s->have && length > LOOKUP3_BLOCK; length -= LOOKUP3_BLOCK) {
			lookup3_add_block(s->v, data);
			lookup3_mix(s->v);
			data += LOOKUP3_BLOCK;
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
	memset(s->block + s->have, 0, LOOKUP3_BLOCK - s->have);
	lookup3_add_block(s->v, s->block);
	lookup3_finish(s->v);
	return s->v[2];
}
