#include "kernels.h"

static inline uint8_t clip(int32_t sum) {
	sum >>= HR_BITS;
	return sum < 0 ? 0 : sum > 255 ? 255 : sum;
}

static size_t packed(const hr_axis *x) {
	(void)x;
	return 0;
}

static void pack(const hr_axis *x, void *p) {
	(void)x;
	(void)p;
}

static void rows(const hr_axis *x, const void *p, const uint8_t *const *src, uint8_t *const *dst, int n) {
	(void)p;
	for (int row = 0; row < n; row++) {
		uint8_t *out = dst[row];
		for (int i = 0; i < x->n; i++, out += 3) {
			const hr_span s = x->spans[i];
			const int32_t *w = x->weights + s.at;
			const uint8_t *in = src[row] + (ptrdiff_t)(s.start - x->lo) * 3;
			int32_t r = HR_HALF, g = HR_HALF, b = HR_HALF;
			for (int k = 0; k < s.len; k++, in += 3) {
				r += w[k] * in[0];
				g += w[k] * in[1];
				b += w[k] * in[2];
			}
			out[0] = clip(r);
			out[1] = clip(g);
			out[2] = clip(b);
		}
	}
}

// In blocks, so that the sums stay in the first-level cache and the loops over them can
// be vectorised.
static void column(uint8_t *dst, int bytes, const uint8_t *const *rows, const int32_t *weights, int taps) {
	enum { block = 256 };
	int32_t sum[block];
	for (int at = 0; at < bytes; at += block) {
		int n = bytes - at < block ? bytes - at : block;
		for (int i = 0; i < n; i++)
			sum[i] = HR_HALF;
		for (int k = 0; k < taps; k++) {
			const uint8_t *in = rows[k] + at;
			int32_t w = weights[k];
			for (int i = 0; i < n; i++)
				sum[i] += w * in[i];
		}
		for (int i = 0; i < n; i++)
			dst[at + i] = clip(sum[i]);
	}
}

static void rows1(const hr_axis *x, const void *p, const uint8_t *const *src, uint8_t *const *dst, int n) {
	(void)p;
	for (int row = 0; row < n; row++)
		for (int i = 0; i < x->n; i++) {
			const hr_span s = x->spans[i];
			const int32_t *w = x->weights + s.at;
			const uint8_t *in = src[row] + (s.start - x->lo);
			int32_t sum = HR_HALF;
			for (int k = 0; k < s.len; k++)
				sum += w[k] * in[k];
			dst[row][i] = clip(sum);
		}
}

static inline int times(int a, int factor) { return (a * factor + (1 << 14)) >> 15; }

static inline uint8_t level(int x) {
	x >>= HR_YCC_BITS;
	return x < 0 ? 0 : x > 255 ? 255 : x;
}

static void ycc(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *rgb, int pixels) {
	for (int i = 0; i < pixels; i++, rgb += 3) {
		int l = (y[i] << HR_YCC_BITS) + (1 << (HR_YCC_BITS - 1));
		int b = (cb[i] - 128) * (1 << HR_YCC_BITS), r = (cr[i] - 128) * (1 << HR_YCC_BITS);
		rgb[0] = level(l + r + times(r, HR_CR_R));
		rgb[1] = level(l - times(b, HR_CB_G) - times(r, HR_CR_G));
		rgb[2] = level(l + b + times(b, HR_CB_B));
	}
}

const hr_kernels hr_plain = {"plain", packed, pack, rows, column, packed, pack, rows1, ycc};
#if defined(__aarch64__)
const hr_kernels hr_neon = {"neon", packed, pack, rows, column, packed, pack, rows1, ycc};
#endif
