#include "noise.h"

// SplitMix64, by Steele, Lea and Flood: word i of a seed.
static inline uint64_t word(uint64_t seed, uint64_t i) {
	uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

enum { together = 1024 }; // values whose levels are looked up before any is added: vectors are not read where single numbers were just stored

// The compiler makes vectors of this.
static inline __attribute__((always_inline)) void add(uint8_t *restrict p, const int16_t *restrict levels, int n) {
	for (int i = 0; i < n; i++) {
		int16_t sum = (int16_t)(p[i] + levels[i]); // levels are within some thousand
		sum = sum < 0 ? 0 : sum;
		p[i] = (uint8_t)(sum > 255 ? 255 : sum);
	}
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void wide_add(uint8_t *p, const int16_t *levels, int n) { add(p, levels, n); }
static int wide(const hr_kernels *set) { return set == &hr_avx2 || set == &hr_avx512; }
#else
#define wide_add add
#define wide(set) ((void)(set), 0)
#endif

// Draws in their order.
typedef struct {
	uint64_t seed, at, rest; // the draws so far, and those that the last word has left
} draws;

static inline int next(draws *d) {
	if (d->at % 4 == 0)
		d->rest = word(d->seed, d->at / 4);
	int draw = d->rest & 4095;
	d->rest >>= 16;
	d->at++;
	return draw;
}

static void look_up(draws *d, const int16_t levels[4096], int16_t *to, int n) {
	int i = 0;
	while (i < n && d->at % 4 > 0)
		to[i++] = levels[next(d)];
	for (; i + 4 <= n; i += 4, d->at += 4) {
		uint64_t w = word(d->seed, d->at / 4);
		to[i] = levels[w & 4095];
		to[i + 1] = levels[w >> 16 & 4095];
		to[i + 2] = levels[w >> 32 & 4095];
		to[i + 3] = levels[w >> 48 & 4095];
	}
	while (i < n)
		to[i++] = levels[next(d)];
}

void hr_noise_picture(const hr_kernels *set, const int16_t levels[4096], uint64_t seed, uint8_t *pixels, int channels, int width, int height,
                      ptrdiff_t stride) {
	draws d = {seed, 0, 0};
	int16_t some[together];
	uint8_t colours[together];
	for (int y = 0; y < height; y++) {
		uint8_t *row = pixels + y * stride;
		int values = channels == 4 ? 3 * width : channels * width;
		for (int at = 0, n; at < values; at += n) {
			n = values - at < together - together % 3 ? values - at : together - together % 3; // whole pixels
			look_up(&d, levels, some, n);
			uint8_t *p = channels == 4 ? colours : row + at;
			for (int i = 0; channels == 4 && i < n; i++)
				p[i] = row[(at + i) / 3 * 4 + i % 3];
			if (wide(set))
				wide_add(p, some, n);
			else
				add(p, some, n);
			for (int i = 0; channels == 4 && i < n; i++)
				row[(at + i) / 3 * 4 + i % 3] = p[i];
		}
	}
}
