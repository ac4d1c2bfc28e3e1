/* SPDX-License-Identifier: Apache-2.0 */
/* Payload with AVX2: four words per vector. Called only where the processor has it (fill.c
 * asks). */
#include "core/content/fill_paths.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

/* z * m modulo 2^64 for each word. AVX2 multiplies only 32-bit factors, so it is (a 2^32 + b)(c
 * 2^32 + d) = (a d + b c) 2^32 + b d. m_high holds m >> 32. */
AVX2 static inline __m256i multiply(__m256i z, __m256i m, __m256i m_high)
{
	__m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(z, 32), m),
					 _mm256_mul_epu32(z, m_high));

	return _mm256_add_epi64(_mm256_mul_epu32(z, m), _mm256_slli_epi64(cross, 32));
}

AVX2 static inline __m256i mix_256(__m256i z)
{
	const __m256i m1 = _mm256_set1_epi64x((long long)fill_mix_1);
	const __m256i m1_high = _mm256_set1_epi64x((long long)(fill_mix_1 >> 32));
	const __m256i m2 = _mm256_set1_epi64x((long long)fill_mix_2);
	const __m256i m2_high = _mm256_set1_epi64x((long long)(fill_mix_2 >> 32));

	z = multiply(_mm256_xor_si256(z, _mm256_srli_epi64(z, 30)), m1, m1_high);
	z = multiply(_mm256_xor_si256(z, _mm256_srli_epi64(z, 27)), m2, m2_high);
	return _mm256_xor_si256(z, _mm256_srli_epi64(z, 31));
}

AVX2 size_t fill_words_avx2(uint64_t counter, uint8_t *data, size_t words)
{
	const __m256i step = _mm256_set1_epi64x((long long)(4 * fill_golden));
	__m256i z = _mm256_set_epi64x((long long)(counter + 3 * fill_golden),
				      (long long)(counter + 2 * fill_golden),
				      (long long)(counter + fill_golden), (long long)counter);
	size_t i = 0;

	for (; i + 8 <= words; i += 8) {
		__m256i next = _mm256_add_epi64(z, step);

		_mm256_storeu_si256((__m256i *)(data + i * 8), mix_256(z));
		_mm256_storeu_si256((__m256i *)(data + i * 8 + 32), mix_256(next));
		z = _mm256_add_epi64(next, step);
	}
	return i;
}

#endif
