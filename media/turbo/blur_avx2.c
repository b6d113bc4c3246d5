#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include "blur.h"

#define TARGET __attribute__((target("avx2")))
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))

// Adds two values of each of 16 numbers, times their weights, to two sums of 8: which of
// the numbers are in which, _mm256_packs_epi32 knows.
#define MIX(low, high, a, b, w)                                                                                            \
	do {                                                                                                               \
		low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w));                            \
		high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w));                          \
	} while (0)

// 32 numbers from at on. Two values at the same distance fit 16 bits together.
TARGET static inline __attribute__((always_inline)) void
sum(const hr_blur_weights *w, const hr_blur_rows *rows, int at, int shift, __m256i to[2]) {
	__m256i low0 = _mm256_set1_epi32(1 << (shift - 1)), high0 = low0, low1 = low0, high1 = low0;
	const __m256i zero = _mm256_setzero_si256(), middle = _mm256_set1_epi32(w->at[0]);
	MIX(low0, high0, LOAD(rows->lo[0] + at), zero, middle);
	MIX(low1, high1, LOAD(rows->lo[0] + at + 16), zero, middle);
	for (int k = 1; k <= w->reach; k += 2) {
		int16_t second = k < w->reach ? w->at[k + 1] : 0;
		__m256i both = _mm256_set1_epi32((int32_t)((uint32_t)second << 16 | (uint16_t)w->at[k]));
		const int16_t *lo = rows->lo[k] + at, *hi = rows->hi[k] + at;
		const int16_t *lo2 = rows->lo[k + 1] + at, *hi2 = rows->hi[k + 1] + at;
		__m256i a = _mm256_add_epi16(LOAD(lo), LOAD(hi)), b = _mm256_add_epi16(LOAD(lo2), LOAD(hi2));
		MIX(low0, high0, a, b, both);
		a = _mm256_add_epi16(LOAD(lo + 16), LOAD(hi + 16)), b = _mm256_add_epi16(LOAD(lo2 + 16), LOAD(hi2 + 16));
		MIX(low1, high1, a, b, both);
	}
	to[0] = _mm256_packs_epi32(_mm256_srai_epi32(low0, shift), _mm256_srai_epi32(high0, shift));
	to[1] = _mm256_packs_epi32(_mm256_srai_epi32(low1, shift), _mm256_srai_epi32(high1, shift));
}

TARGET static void across(const hr_blur_weights *w, const hr_blur_rows *rows, int16_t *to, int n) {
	for (int at = 0; at < n; at += HR_BLUR_STEP) {
		__m256i sums[2];
		sum(w, rows, at, HR_BLUR_BITS - HR_BLUR_BETWEEN, sums);
		_mm256_storeu_si256((__m256i *)(to + at), sums[0]);
		_mm256_storeu_si256((__m256i *)(to + at + 16), sums[1]);
	}
}

TARGET static void down(const hr_blur_weights *w, const hr_blur_rows *rows, uint8_t *to, int n) {
	for (int at = 0; at < n; at += HR_BLUR_STEP) {
		__m256i sums[2];
		sum(w, rows, at, HR_BLUR_BITS + HR_BLUR_BETWEEN, sums);
		__m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(sums[0], sums[1]), 0xD8);
		if (n - at >= HR_BLUR_STEP) {
			_mm256_storeu_si256((__m256i *)(to + at), bytes);
			continue;
		}
		uint8_t tail[HR_BLUR_STEP];
		_mm256_storeu_si256((__m256i *)tail, bytes);
		memcpy(to + at, tail, n - at);
	}
}

const hr_blur_kernels hr_blur_avx2 = {across, down};
#endif
