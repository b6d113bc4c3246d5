#include "adjust.h"

#include <string.h>

static const hr_adjust_kernels *kernels_for(const hr_kernels *k) {
	(void)k;
	return &hr_adjust_plain;
}

static void apply(const hr_adjust_kernels *k, const hr_adjust *a, uint8_t mean, uint8_t *rgb, int pixels) {
	switch (a->kind) {
	case HR_BRIGHTNESS:
		k->blend(0, a->factor, rgb, 3 * pixels);
		break;
	case HR_CONTRAST:
		k->blend(mean, a->factor, rgb, 3 * pixels);
		break;
	case HR_SATURATION:
		k->saturate(a->factor, rgb, pixels);
		break;
	case HR_HUE:
		k->turn((uint8_t)(int)((double)a->factor * 255), rgb, pixels);
		break;
	case HR_GRAYSCALE:
		k->grayscale(rgb, pixels);
		break;
	case HR_TO_GRAY:
		k->to_gray(rgb, rgb, pixels);
		break;
	}
}

static void apply_gray(const hr_adjust_kernels *k, const hr_adjust *a, uint8_t mean, uint8_t *gray, int pixels) {
	if (a->kind == HR_BRIGHTNESS || a->kind == HR_CONTRAST)
		k->blend(a->kind == HR_CONTRAST ? mean : 0, a->factor, gray, pixels);
}

// Pixels with alpha are handled in blocks, as pixels without.
enum { block = 128 };

static void without_alpha(uint8_t *rgb, const uint8_t *rgba, int pixels) {
	for (; pixels > 0; pixels--, rgb += 3, rgba += 4) {
		rgb[0] = rgba[0];
		rgb[1] = rgba[1];
		rgb[2] = rgba[2];
	}
}

static void with_alpha(uint8_t *rgba, const uint8_t *rgb, int pixels) {
	for (; pixels > 0; pixels--, rgb += 3, rgba += 4) {
		rgba[0] = rgb[0];
		rgba[1] = rgb[1];
		rgba[2] = rgb[2];
	}
}

static void apply_alpha(const hr_adjust_kernels *k, const hr_adjust *a, uint8_t mean, uint8_t *rgba, int pixels) {
	uint8_t rgb[3 * block], *gray = rgba;
	for (; pixels > 0; pixels -= block, rgba += 4 * block, gray += block) {
		int n = pixels < block ? pixels : block;
		without_alpha(rgb, rgba, n);
		apply(k, a, mean, rgb, n);
		if (a->kind == HR_TO_GRAY)
			memcpy(gray, rgb, n);
		else
			with_alpha(rgba, rgb, n);
	}
}

// Applies changes to a row and returns how many channels it has afterwards.
static int apply_all(const hr_adjust_kernels *k, const hr_adjust *list, int n, uint8_t mean, uint8_t *row, int channels, int width) {
	for (int i = 0; i < n; i++) {
		(channels == 3 ? apply : channels == 4 ? apply_alpha : apply_gray)(k, list + i, mean, row, width);
		if (list[i].kind == HR_TO_GRAY)
			channels = 1;
	}
	return channels;
}

// The sum of the lightness of all pixels of a row.
static uint64_t lightness(const hr_adjust_kernels *k, const uint8_t *row, int channels, int width) {
	uint64_t sum = 0;
	uint8_t rgb[3 * block];
	switch (channels) {
	case 3:
		return k->lightness(row, width);
	case 4:
		for (; width > 0; width -= block, row += 4 * block) {
			int n = width < block ? width : block;
			without_alpha(rgb, row, n);
			sum += k->lightness(rgb, n);
		}
		return sum;
	}
	for (int x = 0; x < width; x++)
		sum += row[x];
	return sum;
}

// What lies between two contrasts is done row by row, while the row is in the first-level cache; then the mean for the second is known.
void hr_adjust_picture(const hr_kernels *kernels, const hr_adjust *list, int n, uint8_t *pixels, int channels, int width, int height,
                       ptrdiff_t stride) {
	const hr_adjust_kernels *k = kernels_for(kernels);
	uint8_t mean = 0;
	for (int first = 1;; first = 0) {
		int done = !first;
		while (done < n && list[done].kind != HR_CONTRAST)
			done++;
		uint64_t sum = 0, count = (uint64_t)width * height;
		int after = channels;
		for (int y = 0; y < height; y++) {
			after = apply_all(k, list, done < n ? done : n, mean, pixels + y * stride, channels, width);
			if (done < n)
				sum += lightness(k, pixels + y * stride, after, width);
		}
		if (done >= n)
			return;
		mean = (uint8_t)((2 * sum + count) / (2 * count));
		channels = after;
		list += done;
		n -= done;
	}
}

static uint16_t lightness16(const uint16_t *p) { return (p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + (1u << 15)) >> 16; }

void hr_adjust_picture16(const hr_adjust *list, int n, uint8_t *pixels, int channels, int width, int height, ptrdiff_t stride) {
	for (int i = 0; i < n && channels > 1; i++) {
		if (list[i].kind < HR_GRAYSCALE)
			continue;
		int to = list[i].kind == HR_TO_GRAY ? 1 : channels;
		for (int y = 0; y < height; y++)
			for (int x = 0; x < width; x++) {
				uint16_t l[3];
				memcpy(l, pixels + y * stride + (ptrdiff_t)x * channels * 2, 6);
				l[0] = l[1] = l[2] = lightness16(l);
				memcpy(pixels + y * stride + (ptrdiff_t)x * to * 2, l, to == 1 ? 2 : 6);
			}
		channels = to;
	}
}
