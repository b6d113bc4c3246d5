#include <string.h>
#include "kernels.h"

#define TARGET
#define NAME(x) hj_##x##_plain
#include "entropy.h"

static uint64_t nth(uint64_t bits, uint32_t n) {
	while (--n)
		bits &= bits - 1;
	return bits & -bits;
}
#define NTH nth
#include "progressive.h"

static uint8_t clamp(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }

// One half of the transform: eight numbers, stride apart, to as many, stride apart.
static void half(const int32_t *in, int32_t *out, int stride, int shift) {
	const int32_t in1 = in[stride], in3 = in[3 * stride], in5 = in[5 * stride], in7 = in[7 * stride];
	const int32_t half = 1 << (shift - 1);
	const int32_t sum = in[0] * 8192 + in[4 * stride] * 8192 + half, difference = in[0] * 8192 - in[4 * stride] * 8192 + half;
	const int32_t outer = in[2 * stride] * HJ_E2 + in[6 * stride] * HJ_E6, inner = in[2 * stride] * HJ_E6 + in[6 * stride] * HJ_E62;
	const int32_t even[4] = {sum + outer, difference + inner, difference - inner, sum - outer};
	const int32_t odd[4] = {
		in1 * HJ_31 + in3 * HJ_33 + in5 * HJ_35 + in7 * HJ_37,
		in1 * HJ_21 + in3 * HJ_23 + in5 * HJ_25 + in7 * HJ_27,
		in1 * HJ_11 + in3 * HJ_13 + in5 * HJ_15 + in7 * HJ_17,
		in1 * HJ_01 + in3 * HJ_03 + in5 * HJ_05 + in7 * HJ_07,
	};
	for (int i = 0; i < 4; i++) {
		out[i * stride] = (even[i] + odd[i]) >> shift;
		out[(7 - i) * stride] = (even[i] - odd[i]) >> shift;
	}
}

// Multiplies a block, and makes it zero.
static int multiply(int16_t *coefficients, const hj_quant *q, int32_t *in) {
	int32_t norm = 0, beyond = 0;
	for (int i = 0; i < 64; i++) {
		beyond |= coefficients[i] > q->limit[i] || coefficients[i] < -q->limit[i];
		in[i] = coefficients[i] * q->step[i];
		norm += beyond ? 0 : in[i] * in[i];
	}
	memset(coefficients, 0, 64 * sizeof(*coefficients));
	return !beyond && norm <= HJ_NORM * HJ_NORM;
}

static int block(int16_t *coefficients, const hj_quant *q, uint8_t *to, ptrdiff_t stride) {
	int32_t in[64], between[64], out[64];
	if (!multiply(coefficients, q, in))
		return 0;
	for (int i = 0; i < 8; i++)
		half(in + i, between + i, 8, 11);
	for (int i = 0; i < 8; i++)
		half(between + 8 * i, out + 8 * i, 1, 18);
	for (int i = 0; i < 64; i++)
		to[i / 8 * stride + i % 8] = clamp(out[i] + 128);
	return 1;
}

static int transform(int16_t *blocks, const hj_quant *q, int last, uint8_t *to, ptrdiff_t stride) {
	(void)last;
	const int a = block(blocks, q, to, stride), b = block(blocks + HJ_BLOCK, q, to + 8, stride);
	return a && b;
}

// Half of the transform to 4 numbers, which passes over the fifth.
static void half4(const int32_t *in, int32_t *out, int stride, int shift) {
	const int32_t *const i = in;
	const int32_t first = i[0] * 16384 + (1 << (shift - 1)), even = i[2 * stride] * HJ_4E2 + i[6 * stride] * HJ_4E6;
	const int32_t odd0 = i[stride] * HJ_401 + i[3 * stride] * HJ_403 + i[5 * stride] * HJ_405 + i[7 * stride] * HJ_407;
	const int32_t odd1 = i[stride] * HJ_411 + i[3 * stride] * HJ_413 + i[5 * stride] * HJ_415 + i[7 * stride] * HJ_417;
	out[0] = (first + even + odd0) >> shift;
	out[3 * stride] = (first + even - odd0) >> shift;
	out[stride] = (first - even + odd1) >> shift;
	out[2 * stride] = (first - even - odd1) >> shift;
}

// And to 2, which looks at the first and the odd ones.
static void half2(const int32_t *in, int32_t *out, int stride, int shift) {
	const int32_t first = in[0] * 32768 + (1 << (shift - 1));
	const int32_t odd = in[stride] * HJ_21_1 + in[3 * stride] * HJ_21_3 + in[5 * stride] * HJ_21_5 + in[7 * stride] * HJ_21_7;
	out[0] = (first + odd) >> shift;
	out[stride] = (first - odd) >> shift;
}

static int block_reduced(int16_t *coefficients, const hj_quant *q, uint8_t *to, ptrdiff_t stride, int size) {
	int32_t in[64], between[64], out[64];
	const int is_sound = multiply(coefficients, q, in);
	for (int i = 0; i < 8 && is_sound; i++)
		size == 4 ? half4(in + i, between + i, 8, 12) : half2(in + i, between + i, 8, 13);
	for (int i = 0; i < size && is_sound; i++) {
		size == 4 ? half4(between + 8 * i, out + 8 * i, 1, 19) : half2(between + 8 * i, out + 8 * i, 1, 20);
		for (int x = 0; x < size; x++)
			to[i * stride + x] = clamp(out[8 * i + x] + 128);
	}
	return is_sound;
}

static int transform4(int16_t *blocks, const hj_quant *q, int last, uint8_t *to, ptrdiff_t stride) {
	(void)last;
	const int a = block_reduced(blocks, q, to, stride, 4), b = block_reduced(blocks + HJ_BLOCK, q, to + 4, stride, 4);
	return a && b;
}

static int transform2(int16_t *blocks, const hj_quant *q, int last, uint8_t *to, ptrdiff_t stride) {
	(void)last;
	const int a = block_reduced(blocks, q, to, stride, 2), b = block_reduced(blocks + HJ_BLOCK, q, to + 2, stride, 2);
	return a && b;
}

int hj_transform1(int16_t *blocks, const hj_quant *q, int last, uint8_t *to, ptrdiff_t stride) {
	(void)last, (void)stride;
	int is_sound = 1;
	for (int i = 0; i < 2; i++) {
		const int dc = blocks[i * HJ_BLOCK] * q->step[0];
		is_sound &= dc >= -HJ_NORM && dc <= HJ_NORM;
		to[i] = clamp(((dc + 4) >> 3) + 128);
		blocks[i * HJ_BLOCK] = 0;
	}
	return is_sound;
}

static void across(const uint8_t *in, uint8_t *out, int n) {
	for (int i = 0; i < n; i++) {
		out[2 * i] = (3 * in[i] + in[i - 1] + 1) >> 2;
		out[2 * i + 1] = (3 * in[i] + in[i + 1] + 2) >> 2;
	}
}

static void both(const uint8_t *nearer, const uint8_t *farther, uint8_t *out, int n) {
	for (int i = 0; i < n; i++) {
		const int before = 3 * nearer[i - 1] + farther[i - 1], here = 3 * nearer[i] + farther[i], after = 3 * nearer[i + 1] + farther[i + 1];
		out[2 * i] = (3 * here + before + 8) >> 4;
		out[2 * i + 1] = (3 * here + after + 7) >> 4;
	}
}

static void down(const uint8_t *nearer, const uint8_t *farther, uint8_t *out, int n, int is_lower) {
	for (int i = 0; i < n; i++)
		out[i] = (3 * nearer[i] + farther[i] + 1 + is_lower) >> 2;
}

static void ycc(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *rgb, int n) {
	for (int i = 0; i < n; i++, rgb += 3) {
		const int blue = cb[i] - 128, red = cr[i] - 128;
		rgb[0] = clamp(y[i] + red + ((HJ_CR_R * red + 32768) >> 16));
		rgb[1] = clamp(y[i] - red + ((HJ_CB_G * blue + HJ_CR_G * red + 32768) >> 16));
		rgb[2] = clamp(y[i] + 2 * blue + ((HJ_CB_B * blue + 32768) >> 16));
	}
}

const hj_kernels hj_plain = {"plain", hj_keep_plain, hj_skip_plain, hj_dc_plain, hj_dc_bit_plain, hj_ac_plain, hj_ac_bit_plain, transform, {transform4, transform2, hj_transform1}, across, both, down, ycc};
