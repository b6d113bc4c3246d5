#include "noise.h"

// SplitMix64, by Steele, Lea and Flood: word i of a seed.
static inline uint64_t word(uint64_t seed, uint64_t i) {
	uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static inline uint8_t added(uint8_t v, int level) {
	int sum = v + level;
	return sum < 0 ? 0 : sum > 255 ? 255 : sum;
}

void hr_noise_picture(const int16_t levels[4096], uint64_t seed, uint8_t *pixels, int channels, int width, int height, ptrdiff_t stride) {
	uint64_t at = 0, rest = 0; // the draws so far, and those that the last word has left
	int colours = channels == 4 ? 3 : channels;
	for (int y = 0; y < height; y++) {
		uint8_t *p = pixels + y * stride, *end = p + channels * width;
		int colour = 0;
		while (p < end) {
			if (at % 4 == 0 && channels != 4 && end - p >= 4) { // a whole word at once
				uint64_t w = word(seed, at / 4);
				p[0] = added(p[0], levels[w & 4095]);
				p[1] = added(p[1], levels[w >> 16 & 4095]);
				p[2] = added(p[2], levels[w >> 32 & 4095]);
				p[3] = added(p[3], levels[w >> 48 & 4095]);
				p += 4;
				at += 4;
				continue;
			}
			if (at % 4 == 0)
				rest = word(seed, at / 4);
			*p = added(*p, levels[rest & 4095]);
			rest >>= 16;
			at++;
			p++;
			if (++colour == colours) {
				colour = 0;
				p += channels - colours;
			}
		}
	}
}
