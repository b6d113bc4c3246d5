#include "output.h"

#include <string.h>

#include "cpu.h"

static uint32_t bits(float x) {
	uint32_t b;
	memcpy(&b, &x, 4);
	return b;
}

static float number(uint32_t b) {
	float x;
	memcpy(&x, &b, 4);
	return x;
}

// Drops the last n bits and rounds to the nearest, halves to even.
static uint32_t halves_to_even(uint32_t b, int n) { return (b + (1u << (n - 1)) - 1 + ((b >> n) & 1)) >> n; }

static uint16_t to_float16(float x) {
	const uint32_t half = 126u << 23, b = bits(x) & 0x7fffffff;
	uint16_t sign = (bits(x) >> 16) & 0x8000;
	if (b >= (127u + 16) << 23)
		return sign | 0x7c00;
	if (b < (127u - 14) << 23) // subnormal: the last bit of a sum with 1/2 is worth as much as its last bit
		return sign | (uint16_t)(bits(number(b) + 0.5f) - half);
	return sign | (uint16_t)halves_to_even(b - ((127u - 15) << 23), 13);
}

static uint32_t convert(float x, int to) {
	switch (to) {
	case HR_FLOAT32:
		return bits(x);
	case HR_FLOAT16:
		return to_float16(x);
	}
	return halves_to_even(bits(x), 16);
}

static inline uint32_t value(const hr_output_form *f, int c, int v, float most) {
	return convert(((float)v / most - f->mean[c]) / f->std[c], f->to);
}

static void tables(hr_output *o) {
	for (int c = 0; c < 3; c++) {
		for (int v = 0; v < 256; v++) {
			uint32_t x = o->number[c][v] = value(&o->form, c, v, 255);
			for (int b = 0; b < 4; b++)
				o->bytes[c][b][v] = x >> (8 * b);
		}
		o->inverse[c] = 1 / o->form.std[c];
		o->rest[c] = (float)(1 / (double)o->form.std[c] - o->inverse[c]);
	}
}

void hr_output_set(hr_output *o, const hr_kernels *k, const hr_output_form *form) {
	if (o->row && o->kernels == k && memcmp(&o->form, form, sizeof *form) == 0)
		return;
	o->form = *form;
	o->kernels = k;
	if (form->to >= HR_FLOAT32 && form->from == HR_UINT8)
		tables(o);
	o->row = NULL;
#if defined(__x86_64__)
	if (k == &hr_avx512)
		o->row = hr_output_avx512(o);
	if (!o->row && (k == &hr_avx512 || k == &hr_avx2) && hr_cpu_has(HR_CPU_FMA | HR_CPU_F16C))
		o->row = hr_output_avx2(o);
#endif
	if (!o->row)
		o->row = hr_output_plain(o);
}

void hr_output_picture(const hr_output *o, const uint8_t *src, ptrdiff_t src_stride, int width, int height, uint8_t *dst,
                       ptrdiff_t dst_stride) {
	for (int y = 0; y < height; y++)
		hr_output_row(o, src + y * src_stride, width, dst + y * dst_stride, dst_stride * height);
}

// Bytes from channel to channel of the result, and from pixel to pixel.
typedef struct {
	ptrdiff_t channel, pixel;
} steps;

static inline __attribute__((always_inline)) steps steps_of(const hr_output *o, int size, ptrdiff_t plane) {
	return o->form.planar ? (steps){plane, size} : (steps){size, (ptrdiff_t)size * o->form.channels};
}

static void copy(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane) {
	(void)plane;
	memcpy(dst, src, (size_t)pixels * o->form.channels * (o->form.from == HR_UINT16 ? 2 : 1));
}

static inline __attribute__((always_inline)) void split(const hr_output *o, int size, const uint8_t *src, int pixels, uint8_t *dst,
                                                        ptrdiff_t plane) {
	int channels = o->form.channels;
	for (int c = 0; c < channels; c++)
		for (int x = 0; x < pixels; x++)
			memcpy(dst + c * plane + (ptrdiff_t)x * size, src + ((ptrdiff_t)x * channels + c) * size, size);
}

static void split8(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane) {
	split(o, 1, src, pixels, dst, plane);
}

static void split16(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane) {
	split(o, 2, src, pixels, dst, plane);
}

static inline __attribute__((always_inline)) void look_up(const hr_output *o, int size, const uint8_t *src, int pixels, uint8_t *dst,
                                                          ptrdiff_t plane) {
	int channels = o->form.channels;
	steps to = steps_of(o, size, plane);
	for (int c = 0; c < channels; c++)
		for (int x = 0; x < pixels; x++) // the lower bytes of a number come first in memory
			memcpy(dst + c * to.channel + x * to.pixel, &o->number[c][src[(ptrdiff_t)x * channels + c]], size);
}

static void look_up16(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane) {
	look_up(o, 2, src, pixels, dst, plane);
}

static void look_up32(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane) {
	look_up(o, 4, src, pixels, dst, plane);
}

static void compute(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane) {
	int channels = o->form.channels, size = o->form.to == HR_FLOAT32 ? 4 : 2;
	steps to = steps_of(o, size, plane);
	for (int c = 0; c < channels; c++)
		for (int x = 0; x < pixels; x++) {
			uint16_t v;
			memcpy(&v, src + ((ptrdiff_t)x * channels + c) * 2, 2);
			uint32_t n = value(&o->form, c, v, 65535);
			memcpy(dst + c * to.channel + x * to.pixel, &n, size);
		}
}

hr_output_row_kernel hr_output_plain(const hr_output *o) {
	const hr_output_form *f = &o->form;
	if (f->to < HR_FLOAT32 && (!f->planar || f->channels == 1))
		return copy;
	if (f->to < HR_FLOAT32)
		return f->to == HR_UINT16 ? split16 : split8;
	if (f->from == HR_UINT16)
		return compute;
	return f->to == HR_FLOAT32 ? look_up32 : look_up16;
}
