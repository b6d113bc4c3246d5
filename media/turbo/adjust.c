#include "adjust.h"

#include <string.h>

#include "cpu.h"

static const hr_adjust_kernels *kernels_for(const hr_kernels *k) {
#if defined(__x86_64__)
	if (k == &hr_avx512)
		return &hr_adjust_avx512;
	if (k == &hr_avx2 && hr_cpu_has(HR_CPU_FMA))
		return &hr_adjust_avx2;
#endif
	(void)k;
	return &hr_adjust_plain;
}

// Changes that are made row by row, one after the other, and what was worked out for
// them.
enum { most_steps = 8 };

typedef struct {
	const hr_adjust_kernels *k;
	int n;
	struct {
		hr_adjust a;
		hr_blend blend;
	} step[most_steps];
} steps;

static void apply(const steps *s, int i, uint8_t *rgb, int pixels) {
	const hr_adjust_kernels *k = s->k;
	float factor = s->step[i].a.factor;
	switch (s->step[i].a.kind) {
	case HR_BRIGHTNESS:
	case HR_CONTRAST:
		k->blend(&s->step[i].blend, rgb, 3 * pixels);
		break;
	case HR_SATURATION:
		k->saturate(factor, rgb, pixels);
		break;
	case HR_HUE:
		k->turn((uint8_t)(int)((double)factor * 255), rgb, pixels);
		break;
	case HR_GRAYSCALE:
		k->grayscale(rgb, pixels);
		break;
	case HR_TO_GRAY:
		k->to_gray(rgb, rgb, pixels);
		break;
	}
}

static void apply_gray(const steps *s, int i, uint8_t *gray, int pixels) {
	if (s->step[i].a.kind <= HR_CONTRAST)
		s->k->blend(&s->step[i].blend, gray, pixels);
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

static void apply_alpha(const steps *s, int i, uint8_t *rgba, int pixels) {
	uint8_t rgb[3 * block], *gray = rgba;
	for (; pixels > 0; pixels -= block, rgba += 4 * block, gray += block) {
		int n = pixels < block ? pixels : block;
		without_alpha(rgb, rgba, n);
		apply(s, i, rgb, n);
		if (s->step[i].a.kind == HR_TO_GRAY)
			memcpy(gray, rgb, n);
		else
			with_alpha(rgba, rgb, n);
	}
}

// Applies all steps to a row and returns how many channels it has afterwards.
static int apply_all(const steps *s, uint8_t *row, int channels, int width) {
	for (int i = 0; i < s->n; i++) {
		(channels == 3 ? apply : channels == 4 ? apply_alpha : apply_gray)(s, i, row, width);
		if (s->step[i].a.kind == HR_TO_GRAY)
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

// Takes as many changes as can be made row by row: up to the next contrast, whose mean
// is not known yet. Returns how many.
static int begin(steps *s, const hr_adjust *list, int n, int mean_is_known, uint8_t mean) {
	for (s->n = 0; s->n < n && s->n < most_steps; s->n++) {
		int contrast = list[s->n].kind == HR_CONTRAST;
		if (contrast && !(mean_is_known && s->n == 0))
			break;
		s->step[s->n].a = list[s->n];
		if (list[s->n].kind <= HR_CONTRAST)
			hr_blend_set(&s->step[s->n].blend, contrast ? mean : 0, list[s->n].factor);
	}
	return s->n;
}

// All steps are made while a row is in the first-level cache, and then what the mean is
// made from is summed up.
void hr_adjust_picture(const hr_kernels *kernels, const hr_adjust *list, int n, uint8_t *pixels, int channels, int width, int height,
                       ptrdiff_t stride) {
	steps s = {.k = kernels_for(kernels)};
	uint64_t count = (uint64_t)width * height;
	uint8_t mean = 0;
	for (int mean_is_known = 0; n > 0;) {
		int done = begin(&s, list, n, mean_is_known, mean), after = channels;
		list += done;
		n -= done;
		mean_is_known = n > 0 && list->kind == HR_CONTRAST;
		uint64_t sum = 0;
		for (int y = 0; y < height; y++) {
			uint8_t *row = pixels + y * stride;
			after = apply_all(&s, row, channels, width);
			if (mean_is_known)
				sum += lightness(s.k, row, after, width);
		}
		channels = after;
		if (mean_is_known)
			mean = (uint8_t)((2 * sum + count) / (2 * count));
	}
}

static void look_up_alpha(const hr_adjust_kernels *k, const uint8_t *table, uint8_t *rgba, int pixels) {
	uint8_t rgb[3 * block];
	for (; pixels > 0; pixels -= block, rgba += 4 * block) {
		int n = pixels < block ? pixels : block;
		without_alpha(rgb, rgba, n);
		k->look_up(table, rgb, 3 * n);
		with_alpha(rgba, rgb, n);
	}
}

void hr_table_picture(const hr_kernels *kernels, const uint8_t *table, uint8_t *pixels, int channels, int width, int height,
                      ptrdiff_t stride) {
	const hr_adjust_kernels *k = kernels_for(kernels);
	for (int y = 0; y < height; y++) {
		uint8_t *row = pixels + y * stride;
		if (channels == 4)
			look_up_alpha(k, table, row, width);
		else
			k->look_up(table, row, channels * width);
	}
}

void hr_tables_picture(const hr_kernels *kernels, const uint8_t tables[3][256], uint8_t *pixels, int channels, int width, int height,
                       ptrdiff_t stride) {
	const hr_adjust_kernels *k = kernels_for(kernels);
	for (int y = 0; y < height; y++) {
		if (channels < 3)
			k->look_up(tables[0], pixels + y * stride, width);
		else
			k->look_up3(tables, pixels + y * stride, channels, width);
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
