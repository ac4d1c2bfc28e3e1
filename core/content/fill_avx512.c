/* SPDX-License-Identifier: Apache-2.0 */
/* Payload with AVX-512 (F and DQ): eight words per vector. Called only where the processor has it
 * (fill.c asks). */
#include "core/content/fill_paths.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512dq")))

AVX512 static inline __m512i mix_512(__m512i z)
{
	const __m512i m1 = _mm512_set1_epi64((long long)fill_mix_1);
	const __m512i m2 = _mm512_set1_epi64((long long)fill_mix_2);

	z = _mm512_mullo_epi64(_mm512_xor_si512(z, _mm512_srli_epi64(z, 30)), m1);
	z = _mm512_mullo_epi64(_mm512_xor_si512(z, _mm512_srli_epi64(z, 27)), m2);
	return _mm512_xor_si512(z, _mm512_srli_epi64(z, 31));
}

/* Four vectors at a time hide the latency of the multiplications. A masked store writes the end. */
AVX512 void fill_words_avx512(uint64_t counter, uint8_t *data, size_t words)
{
	const __m512i step = _mm512_set1_epi64((long long)(8 * fill_golden));
	const __m512i lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
	__m512i z = _mm512_add_epi64(
		_mm512_set1_epi64((long long)counter),
		_mm512_mullo_epi64(lane, _mm512_set1_epi64((long long)fill_golden)));
	size_t i = 0;

	for (; i + 32 <= words; i += 32) {
		__m512i z1 = _mm512_add_epi64(z, step), z2 = _mm512_add_epi64(z1, step);
		__m512i z3 = _mm512_add_epi64(z2, step);

		_mm512_storeu_si512(data + i * 8, mix_512(z));
		_mm512_storeu_si512(data + i * 8 + 64, mix_512(z1));
		_mm512_storeu_si512(data + i * 8 + 128, mix_512(z2));
		_mm512_storeu_si512(data + i * 8 + 192, mix_512(z3));
		z = _mm512_add_epi64(z3, step);
	}
	for (; i + 8 <= words; i += 8) {
		_mm512_storeu_si512(data + i * 8, mix_512(z));
		z = _mm512_add_epi64(z, step);
	}
	if (i < words)
		_mm512_mask_storeu_epi64(data + i * 8, (__mmask8)((1u << (words - i)) - 1),
					 mix_512(z));
}

#endif
