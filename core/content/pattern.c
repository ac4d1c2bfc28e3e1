/* SPDX-License-Identifier: Apache-2.0 */
/* Pattern with a compression and a deduplication ratio: see pattern.h. */
#include "core/content/pattern.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/content/fill.h"

void pattern_init(struct pattern *p, uint64_t key, uint64_t object_bytes, double compress,
		  double dedup, uint64_t distance)
{
	uint64_t unique = (distance + PATTERN_BLOCK - 1) / PATTERN_BLOCK;
	uint64_t words = (uint64_t)llround(PATTERN_BLOCK / 8.0 / (compress > 1 ? compress : 1));

	p->key = key;
	p->object_blocks = (object_bytes + PATTERN_BLOCK - 1) / PATTERN_BLOCK;
	p->random_bytes = (words ? words : 1) * 8;
	p->unique = unique ? unique : 1;
	p->cycle = dedup > 1 ? (uint64_t)llround((double)p->unique * dedup) : p->unique;
}

/* Whether all blocks are unique and random. Then the whole set is one stream. */
static bool pattern_plain(const struct pattern *p)
{
	return p->random_bytes == PATTERN_BLOCK && p->cycle == p->unique;
}

/* The position in the stream from which a block takes its bytes. */
static uint64_t pattern_source(const struct pattern *p, uint64_t block)
{
	if (p->cycle == p->unique)
		return block * PATTERN_BLOCK;
	return (block / p->cycle * p->unique + block % p->cycle % p->unique) * PATTERN_BLOCK;
}

/* A piece within one block: random bytes, followed by zeros. */
struct pattern_part {
	uint64_t stream; /* position of its first byte */
	size_t length, random;
};

static struct pattern_part piece_at(const struct pattern *p, uint64_t object, uint64_t offset,
				    size_t left)
{
	uint64_t in = offset % PATTERN_BLOCK;
	uint64_t block = object * p->object_blocks + offset / PATTERN_BLOCK;
	struct pattern_part s = {.stream = pattern_source(p, block) + in,
				 .length = PATTERN_BLOCK - in};

	if (s.length > left)
		s.length = left;
	s.random = in < p->random_bytes ? p->random_bytes - in : 0;
	if (s.random > s.length)
		s.random = s.length;
	return s;
}

void pattern_fill(const struct pattern *p, uint64_t object, uint64_t offset, void *data,
		  size_t length)
{
	uint8_t *at = data;

	if (pattern_plain(p)) {
		fill(p->key, object * p->object_blocks * PATTERN_BLOCK + offset, data, length);
		return;
	}
	while (length) {
		struct pattern_part s = piece_at(p, object, offset, length);

		fill(p->key, s.stream, at, s.random);
		memset(at + s.random, 0, s.length - s.random);
		at += s.length;
		offset += s.length;
		length -= s.length;
	}
}

static size_t pattern_zeros(const uint8_t *data, size_t length)
{
	size_t i = 0;

	if (length && data[0] == 0 && memcmp(data, data + 1, length - 1) == 0)
		return length;
	while (i < length && data[i] == 0)
		i++;
	return i;
}

size_t pattern_verify(const struct pattern *p, uint64_t object, uint64_t offset, const void *data,
		      size_t length)
{
	const uint8_t *bytes = data;
	size_t done = 0, good;

	if (pattern_plain(p))
		return fill_verify(p->key, object * p->object_blocks * PATTERN_BLOCK + offset, data,
				   length);
	while (done < length) {
		struct pattern_part s = piece_at(p, object, offset + done, length - done);

		good = fill_verify(p->key, s.stream, bytes + done, s.random);
		if (good == s.random)
			good += pattern_zeros(bytes + done + s.random, s.length - s.random);
		done += good;
		if (good < s.length)
			break;
	}
	return done;
}
