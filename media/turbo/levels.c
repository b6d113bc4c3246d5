#include "levels.h"
#include <string.h>

void hr_count_levels(uint32_t counts[3][256], const uint8_t *pixels, int channels, int width, int height, ptrdiff_t stride) {
	// Neighbours often have one value: with two tables none waits for the sum of the other.
	uint32_t more[3][256] = {{0}};
	memset(counts, 0, sizeof more);
	int colours = channels < 3 ? 1 : 3;
	for (int y = 0; y < height; y++) {
		const uint8_t *row = pixels + y * stride;
		int x = 0;
		if (colours == 1) {
			for (; x + 1 < width; x += 2) {
				counts[0][row[x]]++;
				more[0][row[x + 1]]++;
			}
		} else {
			for (; x + 1 < width; x += 2) {
				const uint8_t *p = row + x * channels, *q = p + channels;
				counts[0][p[0]]++;
				counts[1][p[1]]++;
				counts[2][p[2]]++;
				more[0][q[0]]++;
				more[1][q[1]]++;
				more[2][q[2]]++;
			}
		}
		for (; x < width; x++)
			for (int c = 0; c < colours; c++)
				counts[c][row[x * channels + c]]++;
	}
	for (int c = 0; c < colours; c++)
		for (int v = 0; v < 256; v++)
			counts[c][v] += more[c][v];
}

// Values that a multiple of all numbers of channels are apart are of one channel.
enum { lanes = 96 };

static inline __attribute__((always_inline)) void ends(uint8_t *restrict low, uint8_t *restrict high, const uint8_t *row, int n) {
	int at = 0;
	for (; at + lanes <= n; at += lanes)
		for (int i = 0; i < lanes; i++) {
			uint8_t v = row[at + i];
			low[i] = v < low[i] ? v : low[i];
			high[i] = v > high[i] ? v : high[i];
		}
	for (int i = 0; at + i < n; i++) {
		uint8_t v = row[at + i];
		low[i] = v < low[i] ? v : low[i];
		high[i] = v > high[i] ? v : high[i];
	}
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void wide_ends(uint8_t *low, uint8_t *high, const uint8_t *row, int n) { ends(low, high, row, n); }
static int wide(const hr_kernels *set) { return set == &hr_avx2 || set == &hr_avx512; }
#else
#define wide_ends ends
#define wide(set) ((void)(set), 0)
#endif

void hr_ends_of_levels(const hr_kernels *set, uint8_t least[3], uint8_t greatest[3], const uint8_t *pixels, int channels, int width,
                       int height, ptrdiff_t stride) {
	uint8_t low[lanes], high[lanes];
	memset(low, 255, sizeof low);
	memset(high, 0, sizeof high);
	for (int y = 0; y < height; y++) {
		if (wide(set))
			wide_ends(low, high, pixels + y * stride, channels * width);
		else
			ends(low, high, pixels + y * stride, channels * width);
	}
	int colours = channels < 3 ? 1 : 3;
	for (int c = 0; c < colours; c++) {
		least[c] = 255;
		greatest[c] = 0;
		for (int i = c; i < lanes; i += channels) {
			least[c] = low[i] < least[c] ? low[i] : least[c];
			greatest[c] = high[i] > greatest[c] ? high[i] : greatest[c];
		}
	}
}
