/* SPDX-License-Identifier: Apache-2.0 */
/* Code paths behind fill.h: each makes whole words. Included by fill*.c only. */
#ifndef HAUL_CORE_CONTENT_FILL_PATHS_H
#define HAUL_CORE_CONTENT_FILL_PATHS_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t fill_golden = 0x9e3779b97f4a7c15u;
static const uint64_t fill_mix_1 = 0xbf58476d1ce4e5b9u, fill_mix_2 = 0x94d049bb133111ebu;

#if defined(__x86_64__)
/* Make words words at data (any alignment): mix64(counter), mix64(counter + golden), … The first
 * makes only whole pairs of vectors, and returns the number of words that it made. */
size_t fill_words_avx2(uint64_t counter, uint8_t *data, size_t words);
void fill_words_avx512(uint64_t counter, uint8_t *data, size_t words);
#endif

#endif
