/* SPDX-License-Identifier: Apache-2.0 */
/* Payload: see fill.h. Each code path makes whole words; this file makes the partial first and last
 * word. */
#include "core/content/fill.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/content/fill_paths.h"
#include "core/content/random.h"
#include "core/numbers.h"

/* Below this, setting up vectors costs more than they save. */
enum { VECTOR_BYTES_MIN = 128, VERIFY_PIECE_BYTES = 4096 };

uint64_t fill_key(uint64_t seed, uint64_t object)
{
	return mix64(mix64(seed + fill_golden) + (object + 1) * fill_golden);
}

/* Four words at a time, because they do not wait for each other. */
static void fill_words_portable(uint64_t counter, uint8_t *data, size_t words)
{
	size_t i = 0;

	for (; i + 4 <= words; i += 4) {
		uint64_t w0 = htole64(mix64(counter));
		uint64_t w1 = htole64(mix64(counter + fill_golden));
		uint64_t w2 = htole64(mix64(counter + 2 * fill_golden));
		uint64_t w3 = htole64(mix64(counter + 3 * fill_golden));

		memcpy(data + i * 8, &w0, 8);
		memcpy(data + i * 8 + 8, &w1, 8);
		memcpy(data + i * 8 + 16, &w2, 8);
		memcpy(data + i * 8 + 24, &w3, 8);
		counter += 4 * fill_golden;
	}
	for (; i < words; i++) {
		uint64_t word = htole64(mix64(counter));

		memcpy(data + i * 8, &word, 8);
		counter += fill_golden;
	}
}

static void fill_words(enum fill_path path, uint64_t counter, uint8_t *data, size_t words)
{
	size_t made = 0;

#if defined(__x86_64__)
	if (path == FILL_AVX512) {
		fill_words_avx512(counter, data, words);
		return;
	}
	if (path == FILL_AVX2)
		made = fill_words_avx2(counter, data, words);
#else
	(void)path;
#endif
	fill_words_portable(counter + made * fill_golden, data + made * 8, words - made);
}

/*
 *	offset          a word's start              a word's start    offset + length
 *	  |----------------|------- whole words -------|------------------|
 *	  end of a word                                  start of a word
 */
static void fill_path(enum fill_path path, uint64_t key, uint64_t offset, uint8_t *data,
		      size_t length)
{
	uint64_t counter = key + (offset / 8 + 1) * fill_golden, word;
	size_t skip = offset & 7, words;

	if (skip && length) {
		size_t n = min_u64(length, 8 - skip);

		word = htole64(mix64(counter));
		memcpy(data, (const uint8_t *)&word + skip, n);
		data += n;
		length -= n;
		counter += fill_golden;
	}
	words = length / 8;
	fill_words(length < VECTOR_BYTES_MIN ? FILL_PORTABLE : path, counter, data, words);
	if (length & 7) {
		word = htole64(mix64(counter + words * fill_golden));
		memcpy(data + words * 8, &word, length & 7);
	}
}

/* The compiler's run-time library asks the processor, and whether the system saves its registers,
 * once at program start. So this only reads a word. */
static bool path_runs(enum fill_path path)
{
#if defined(__x86_64__)
	if (path == FILL_AVX512)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
	if (path == FILL_AVX2)
		return __builtin_cpu_supports("avx2");
#endif
	return path == FILL_PORTABLE;
}

enum fill_path fill_best(void)
{
	if (path_runs(FILL_AVX512))
		return FILL_AVX512;
	return path_runs(FILL_AVX2) ? FILL_AVX2 : FILL_PORTABLE;
}

void fill(uint64_t key, uint64_t offset, void *data, size_t length)
{
	fill_path(fill_best(), key, offset, data, length);
}

int fill_by(enum fill_path path, uint64_t key, uint64_t offset, void *data, size_t length)
{
	if (!path_runs(path))
		return -ENOTSUP;
	fill_path(path, key, offset, data, length);
	return 0;
}

static size_t first_difference(const uint8_t *a, const uint8_t *b, size_t length)
{
	size_t i = 0;

	/* The analyzer does not see that fill_path has written the whole piece, in words and
	 * ends. */
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	while (i < length && a[i] == b[i])
		i++;
	return i;
}

size_t fill_verify(uint64_t key, uint64_t offset, const void *data, size_t length)
{
	/* Small enough to stay in the first-level cache, beside the data that is compared. */
	uint8_t piece[VERIFY_PIECE_BYTES] __attribute__((aligned(64)));
	enum fill_path path = fill_best();
	const uint8_t *at = data;
	size_t done = 0;

	while (done < length) {
		size_t n = length - done;

		/* The first piece ends where a word does, so the others are whole words. */
		if (n > sizeof(piece) - (offset & 7))
			n = sizeof(piece) - (offset & 7);
		fill_path(path, key, offset, piece, n);
		if (memcmp(piece, at + done, n) != 0)
			return done + first_difference(piece, at + done, n);
		done += n;
		offset += n;
	}
	return length;
}

const char *fill_path_name(enum fill_path path)
{
	static const char *const names[FILL_PATHS] = {"portable", "avx2", "avx512"};

	return path < FILL_PATHS ? names[path] : "unknown";
}
