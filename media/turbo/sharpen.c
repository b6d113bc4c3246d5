#include "sharpen.h"
#include <string.h>

// Products are rounded before they are added, also where the processor could do both at once: Go does so.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

// The compiler makes vectors of this. A pixel counts five times and its neighbours once: their sum fits 16 bits, and
// so does the number by which it is divided by 13, exactly for all sums.
static inline __attribute__((always_inline)) void
sharpen(uint8_t *restrict to, const uint8_t *above, const uint8_t *at, const uint8_t *below, int n, int across, float factor) {
	for (int i = 0; i < n; i++) {
		uint16_t sum = 6 + above[i - across] + above[i] + above[i + across] + at[i - across] + 5 * at[i] + at[i + across] +
			       below[i - across] + below[i] + below[i + across];
		int32_t smooth = (uint16_t)(sum * 5042u >> 16);
		float x = (float)smooth + factor * (float)(at[i] - smooth);
		x = x > 0 ? x : 0;
		x = x < 255 ? x : 255;
		to[i] = (uint8_t)(int32_t)x;
	}
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
wide_sharpen(uint8_t *to, const uint8_t *above, const uint8_t *at, const uint8_t *below, int n, int across, float factor) {
	sharpen(to, above, at, below, n, across, factor);
}
__attribute__((target("avx512f,avx512bw,avx512vl,prefer-vector-width=512"))) static void
widest_sharpen(uint8_t *to, const uint8_t *above, const uint8_t *at, const uint8_t *below, int n, int across, float factor) {
	sharpen(to, above, at, below, n, across, factor);
}
#endif

typedef void (*row_sharpener)(uint8_t *to, const uint8_t *above, const uint8_t *at, const uint8_t *below, int n, int across, float factor);

static void plain_sharpen(uint8_t *to, const uint8_t *above, const uint8_t *at, const uint8_t *below, int n, int across, float factor) {
	sharpen(to, above, at, below, n, across, factor);
}

static row_sharpener sharpener(const hr_kernels *set) {
#if defined(__x86_64__)
	if (set == &hr_avx512)
		return widest_sharpen;
	if (set == &hr_avx2)
		return wide_sharpen;
#endif
	(void)set;
	return plain_sharpen;
}

void hr_sharpen_picture(const hr_kernels *set, float factor, uint8_t *pixels, int channels, int width, int height, ptrdiff_t stride,
                        uint8_t *rows) {
	if (width < 3 || height < 3)
		return;
	int bytes = channels * width, inner = bytes - 2 * channels;
	uint8_t *above = rows, *at = rows + bytes, *made = rows + 2 * bytes;
	row_sharpener sharpen_row = sharpener(set);
	memcpy(at, pixels, bytes);
	for (int y = 1; y < height - 1; y++) {
		uint8_t *row = pixels + y * stride, *swap = above;
		above = at;
		at = swap;
		memcpy(at, row, bytes);
		uint8_t *to = channels == 4 ? made : row + channels;
		sharpen_row(to, above + channels, at + channels, row + stride + channels, inner, channels, factor);
		for (int x = 0; channels == 4 && x < inner; x += 4)
			memcpy(row + channels + x, made + x, 3); // alpha stays
	}
}
