#include "blur.h"
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Rows at the same distance from the one in the middle, lo[0]; one more of each than the
// reach may be read.
typedef struct {
	const int16_t *lo[HR_BLUR_MOST / 2 + 2], *hi[HR_BLUR_MOST / 2 + 2];
} row_pairs;

// The kernels read and write in steps of HR_BLUR_STEP: rows have room for that, pixels have
// not.
typedef struct {
	void (*across)(const hr_blur_weights *w, const row_pairs *rows, int16_t *to, int n);
	void (*down)(const hr_blur_weights *w, const row_pairs *rows, uint8_t *to, int n);
} kernels;

// Enough sums for a row's part to stay in the nearest cache.
enum { part = 256 };

static void sum(int32_t *sums, const hr_blur_weights *w, const row_pairs *rows, int at, int n, int shift) {
	for (int i = 0; i < n; i++)
		sums[i] = (1 << (shift - 1)) + w->at[0] * rows->lo[0][at + i];
	for (int k = 1; k <= w->reach; k++) {
		const int16_t *lo = rows->lo[k] + at, *hi = rows->hi[k] + at;
		int16_t weight = w->at[k];
		for (int i = 0; i < n; i++)
			sums[i] += weight * (int16_t)(lo[i] + hi[i]);
	}
	for (int i = 0; i < n; i++)
		sums[i] >>= shift;
}

static void across(const hr_blur_weights *w, const row_pairs *rows, int16_t *to, int n) {
	int32_t sums[part];
	for (int at = 0; at < n; at += part) {
		int now = n - at < part ? n - at : part;
		sum(sums, w, rows, at, now, HR_BLUR_BITS - HR_BLUR_BETWEEN);
		for (int i = 0; i < now; i++)
			to[at + i] = (int16_t)sums[i];
	}
}

static void down(const hr_blur_weights *w, const row_pairs *rows, uint8_t *to, int n) {
	int32_t sums[part];
	for (int at = 0; at < n; at += part) {
		int now = n - at < part ? n - at : part;
		sum(sums, w, rows, at, now, HR_BLUR_BITS + HR_BLUR_BETWEEN);
		for (int i = 0; i < now; i++)
			to[at + i] = (uint8_t)sums[i];
	}
}

static const kernels plain = {across, down};

#if defined(__x86_64__)
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
sum32(const hr_blur_weights *w, const row_pairs *rows, int at, int shift, __m256i to[2]) {
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

TARGET static void across32(const hr_blur_weights *w, const row_pairs *rows, int16_t *to, int n) {
	for (int at = 0; at < n; at += HR_BLUR_STEP) {
		__m256i sums[2];
		sum32(w, rows, at, HR_BLUR_BITS - HR_BLUR_BETWEEN, sums);
		_mm256_storeu_si256((__m256i *)(to + at), sums[0]);
		_mm256_storeu_si256((__m256i *)(to + at + 16), sums[1]);
	}
}

TARGET static void down32(const hr_blur_weights *w, const row_pairs *rows, uint8_t *to, int n) {
	for (int at = 0; at < n; at += HR_BLUR_STEP) {
		__m256i sums[2];
		sum32(w, rows, at, HR_BLUR_BITS + HR_BLUR_BETWEEN, sums);
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

static const kernels avx2 = {across32, down32};
#endif

static const kernels *kernels_for(const hr_kernels *k) {
#if defined(__x86_64__)
	if (k == &hr_avx512 || k == &hr_avx2)
		return &avx2;
#endif
	(void)k;
	return &plain;
}

static int mirrored(int i, int n) {
	if (n == 1)
		return 0;
	int period = 2 * (n - 1);
	i %= period;
	if (i < 0)
		i += period;
	return i < period - i ? i : period - i;
}

static int held(int height, int reach) { return height < 2 * reach + 1 ? height : 2 * reach + 1; }

static size_t padded(int n) { return ((size_t)n + HR_BLUR_STEP - 1) / HR_BLUR_STEP * HR_BLUR_STEP; }

size_t hr_blur_scratch(int channels, int width, int height, int reach) {
	size_t n = padded(width * channels);
	return n * held(height, reach) + n + 2 * (size_t)reach * channels;
}

// Gives a row the pixels beyond both edges.
static void widen(int16_t *to, const uint8_t *row, int width, int channels, int reach) {
	int16_t *in = to + reach * channels;
	for (int i = 0; i < width * channels; i++)
		in[i] = row[i];
	for (int k = 1; k <= reach; k++) {
		const uint8_t *left = row + mirrored(-k, width) * channels, *right = row + mirrored(width - 1 + k, width) * channels;
		for (int c = 0; c < channels; c++) {
			in[c - k * channels] = left[c];
			in[c + (width - 1 + k) * channels] = right[c];
		}
	}
}

void hr_blur_picture(const hr_kernels *set, const hr_blur_weights *w, uint8_t *pixels, int channels, int width, int height,
                     ptrdiff_t stride, int16_t *scratch) {
	const kernels *k = kernels_for(set);
	int n = width * channels, reach = w->reach, rows = held(height, reach), next = 0;
	size_t row = padded(n);
	int16_t *ring = scratch, *wide = scratch + rows * row;
	row_pairs in;
	for (int y = 0; y < height; y++) {
		for (; next < height && next <= y + reach; next++) {
			widen(wide, pixels + next * stride, width, channels, reach);
			for (int i = 0; i <= reach; i++) {
				in.lo[i] = wide + (reach - i) * channels;
				in.hi[i] = wide + (reach + i) * channels;
			}
			in.lo[reach + 1] = in.hi[reach + 1] = in.lo[0];
			k->across(w, &in, ring + next % rows * row, n);
		}
		for (int i = 0; i <= reach; i++) {
			in.lo[i] = ring + mirrored(y - i, height) % rows * row;
			in.hi[i] = ring + mirrored(y + i, height) % rows * row;
		}
		in.lo[reach + 1] = in.hi[reach + 1] = in.lo[0];
		k->down(w, &in, pixels + y * stride, n);
	}
}
