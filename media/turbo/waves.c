#include "waves.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

static int mirrored(int i, int n) {
	if (n == 1)
		return 0;
	const int period = 2 * (n - 1);
	i %= period;
	if (i < 0)
		i += period;
	return i < period - i ? i : period - i;
}

enum { beyond = HR_WAVE_BEYOND };

// Noise of n pixels from the first on.
AVX2 static void noise_row(uint64_t seed, uint32_t first, int n, int16_t *to) {
	const __m256i low = _mm256_set1_epi32((int32_t)seed), high = _mm256_set1_epi32((int32_t)(seed >> 32));
	const __m256i one = _mm256_set1_epi32(0x7feb352d), two = _mm256_set1_epi32((int32_t)0x846ca68b), next = _mm256_set1_epi32(8);
	__m256i i = _mm256_add_epi32(_mm256_set1_epi32((int32_t)first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
	for (int x = 0; x < n; x += 8, i = _mm256_add_epi32(i, next)) {
		__m256i v = _mm256_xor_si256(i, low);
		v = _mm256_mullo_epi32(_mm256_xor_si256(v, _mm256_srli_epi32(v, 16)), one);
		v = _mm256_add_epi32(v, high);
		v = _mm256_mullo_epi32(_mm256_xor_si256(v, _mm256_srli_epi32(v, 15)), two);
		v = _mm256_xor_si256(v, _mm256_srli_epi32(v, 16));
		_mm256_storeu_si256((__m256i *)(to + 2 * x), v);
	}
}

// Pairs of numbers: those at distances in memory of k steps from the middle, whose rows are
// lo[k] and hi[k].
AVX2 static void mix(const int16_t *weights, int n, const int16_t *const *lo, const int16_t *const *hi, int16_t *to, int count) {
	const __m256i half = _mm256_set1_epi32(1 << 14), zero = _mm256_setzero_si256(), middle = _mm256_set1_epi32(weights[0]);
	for (int i = 0; i < count; i += 16) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(lo[0] + i));
		__m256i low = _mm256_add_epi32(half, _mm256_madd_epi16(_mm256_unpacklo_epi16(v, zero), middle));
		__m256i high = _mm256_add_epi32(half, _mm256_madd_epi16(_mm256_unpackhi_epi16(v, zero), middle));
		for (int k = 1; k < n; k++) {
			const __m256i a = _mm256_loadu_si256((const __m256i *)(lo[k] + i)), b = _mm256_loadu_si256((const __m256i *)(hi[k] + i));
			const __m256i w = _mm256_set1_epi16(weights[k]);
			low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w));
			high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w));
		}
		_mm256_storeu_si256((__m256i *)(to + i), _mm256_packs_epi32(_mm256_srai_epi32(low, 15), _mm256_srai_epi32(high, 15)));
	}
}

size_t hr_wave_scratch(int width, int height, int across) { // rows between the passes, and one with what is beyond its edges
	return (size_t)2 * width * height + beyond + 2 * (size_t)(width + 2 * across + 8) + beyond;
}

enum { most_taps = 512 };

AVX2 void hr_wave_field(uint64_t seed, const int16_t *across, int across_n, const int16_t *down, int down_n, int width, int height,
                        int16_t *field, int16_t *scratch) {
	const int reach = across_n > 0 ? across_n - 1 : 0;
	int16_t *between = scratch, *row = scratch + (size_t)2 * width * height + beyond, *own = row + 2 * reach;
	const int16_t *lo[most_taps], *hi[most_taps];
	for (int y = 0; y < height; y++) {
		int16_t *to = between + (size_t)2 * y * width;
		noise_row(seed, (uint32_t)y * (uint32_t)width, width, own);
		if (across_n == 0) {
			memcpy(to, own, sizeof *own * 2 * width);
			continue;
		}
		for (int k = 1; k <= reach; k++) {
			memcpy(own - 2 * k, own + 2 * mirrored(-k, width), 2 * sizeof *own);
			memcpy(own + 2 * (width - 1 + k), own + 2 * mirrored(width - 1 + k, width), 2 * sizeof *own);
		}
		for (int k = 0; k < across_n; k++)
			lo[k] = own - 2 * k, hi[k] = own + 2 * k;
		mix(across, across_n, lo, hi, to, 2 * width); // what is too much, the next row overwrites
	}
	for (int y = 0; y < height; y++) {
		int16_t *to = field + (size_t)2 * y * width;
		if (down_n == 0) {
			memcpy(to, between + (size_t)2 * y * width, sizeof *to * 2 * width);
			continue;
		}
		for (int k = 0; k < down_n; k++) {
			lo[k] = between + (size_t)2 * mirrored(y - k, height) * width;
			hi[k] = between + (size_t)2 * mirrored(y + k, height) * width;
		}
		mix(down, down_n, lo, hi, to, 2 * width);
	}
}
#else
size_t hr_wave_scratch(int width, int height, int across) { return (void)width, (void)height, (void)across, 0; }

void hr_wave_field(uint64_t seed, const int16_t *across, int across_n, const int16_t *down, int down_n, int width, int height, int16_t *field,
                   int16_t *scratch) {
	(void)seed, (void)across, (void)across_n, (void)down, (void)down_n, (void)width, (void)height, (void)field, (void)scratch;
}
#endif
