#include "adjust.h"

static inline uint8_t clip(float x) { return x < 255 ? x > 0 ? (uint8_t)x : 0 : 255; }

static inline uint8_t luma(const uint8_t *p) { return (p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + (1u << 15)) >> 16; }

// The product is rounded before the sum is: volatile keeps compilers from fusing the two.
static inline float times(float factor, int difference) {
	volatile float product = factor * (float)difference;
	return product;
}

static void look_up(const uint8_t *table, uint8_t *row, int bytes) {
	for (int i = 0; i < bytes; i++)
		row[i] = table[row[i]];
}

void hr_look_up3(const uint8_t tables[3][256], uint8_t *row, int channels, int pixels) {
	for (uint8_t *end = row + channels * pixels; row < end; row += channels) {
		row[0] = tables[0][row[0]];
		row[1] = tables[1][row[1]];
		row[2] = tables[2][row[2]];
	}
}

static void blend(const hr_blend *b, uint8_t *row, int bytes) { look_up(b->table, row, bytes); }

void hr_blend_set(hr_blend *b, uint8_t from, float factor) {
	b->from = from;
	b->factor = factor;
	for (int v = 0; v < 256; v++)
		b->table[v] = clip((float)from + times(factor, v - from));
}

static void saturate(float factor, uint8_t *rgb, int pixels) {
	for (; pixels > 0; pixels--, rgb += 3) {
		int l = luma(rgb);
		for (int c = 0; c < 3; c++)
			rgb[c] = clip((float)l + times(factor, rgb[c] - l));
	}
}

// Sixths of the circle of hues. Each sum is rounded once: where hues fall on a whole
// number, rounding decides.
static inline float sixths(const uint8_t *p, int most, float missing) {
	int r = p[0], g = p[1], b = p[2];
	if (r == most)
		return b <= g ? 1 - missing : missing - 1;
	if (g == most)
		return b <= r ? 1 + missing : 3 - missing;
	return r <= g ? 3 + missing : 5 - missing;
}

static void turn(uint8_t by, uint8_t *rgb, int pixels) {
	// Which of value, middle and least a channel gets in each sixth; the seventh is the
	// first again.
	static const uint8_t order[7][3] = {{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {0, 1, 2}};
	for (; pixels > 0; pixels--, rgb += 3) {
		int r = rgb[0], g = rgb[1], b = rgb[2];
		int most = r > g ? r : g, least = r < g ? r : g;
		most = most > b ? most : b;
		least = least < b ? least : b;
		if (least == most)
			continue;
		int span = most - least, middle = r + g + b - most - least;
		float circle = sixths(rgb, most, (float)(most - middle) / (float)span) / 6;
		if (circle < 0)
			circle += 1;
		float hue = circle * 255;
		int h = ((int)hue + by) & 255, s = 255 * span / most;
		int sixth = 6 * h / 255, rest = 6 * h % 255;
		if (sixth % 2 == 0)
			rest = 255 - rest;
		uint8_t values[3] = {(uint8_t)most, (uint8_t)((most * (65025 - s * rest) + 32512) / 65025),
		                     (uint8_t)((most * (255 - s) + 127) / 255)};
		for (int c = 0; c < 3; c++)
			rgb[c] = values[order[sixth][c]];
	}
}

static void grayscale(uint8_t *rgb, int pixels) {
	for (; pixels > 0; pixels--, rgb += 3)
		rgb[0] = rgb[1] = rgb[2] = luma(rgb);
}

static void to_gray(const uint8_t *rgb, uint8_t *gray, int pixels) {
	for (; pixels > 0; pixels--, rgb += 3)
		*gray++ = luma(rgb);
}

static uint64_t lightness(const uint8_t *rgb, int pixels) {
	uint64_t sum = 0;
	for (; pixels > 0; pixels--, rgb += 3)
		sum += luma(rgb);
	return sum;
}

const hr_adjust_kernels hr_adjust_plain = {blend, saturate, turn, grayscale, to_gray, lightness, look_up, hr_look_up3};
