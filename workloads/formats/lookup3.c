#include "workloads/formats/lookup3.h"

enum { BLOCK = 12 };

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
	uint32_t start = 0xdeadbeefu + (uint32_t)length;
	uint32_t v[3] = {start, start, start};

	for (; length > BLOCK; data += BLOCK, length -= BLOCK) {
		add_bytes(v, data, BLOCK);
		mix(v);
	}
	if (!length)
		return v[2];
	add_bytes(v, data, length);
	finish(v);
	return v[2];
}
