#include "warp.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define INLINE AVX2 static inline __attribute__((always_inline))

// Points of so many pixels are worked out at once, in steps of 8. They have 16 bits of
// fractions; the x of one outside of the image is below 0.
enum { part = 256, step = 8 };

typedef struct {
	int32_t x[part], y[part];
} points;

// ── Points

AVX2 static void fixed_points(const hr_warp *w, int row, int from, int n, points *p) {
	const int64_t px = w->x + (int64_t)row * w->down_x + (int64_t)from * w->right_x;
	const int64_t py = w->y + (int64_t)row * w->down_y + (int64_t)from * w->right_y;
	const int32_t by_x = w->right_x * w->x_by_x + w->right_y * w->x_by_y, by_y = w->right_x * w->y_by_x + w->right_y * w->y_by_y;
	const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), none = _mm256_set1_epi32(-1);
	const __m256i width = _mm256_set1_epi32(w->width << 16), height = _mm256_set1_epi32(w->height << 16);
	__m256i x = _mm256_add_epi32(_mm256_set1_epi32((int32_t)(w->fixed_x + px * w->x_by_x + py * w->x_by_y)),
	                             _mm256_mullo_epi32(lane, _mm256_set1_epi32(by_x)));
	__m256i y = _mm256_add_epi32(_mm256_set1_epi32((int32_t)(w->fixed_y + px * w->y_by_x + py * w->y_by_y)),
	                             _mm256_mullo_epi32(lane, _mm256_set1_epi32(by_y)));
	// Beyond the last pixel numbers may overflow: unsigned ones may.
	const __m256i next_x = _mm256_set1_epi32((int32_t)((uint32_t)by_x * step)), next_y = _mm256_set1_epi32((int32_t)((uint32_t)by_y * step));
	for (int i = 0; i < n; i += step) {
		__m256i in = _mm256_and_si256(_mm256_and_si256(_mm256_cmpgt_epi32(x, none), _mm256_cmpgt_epi32(width, x)),
		                              _mm256_and_si256(_mm256_cmpgt_epi32(y, none), _mm256_cmpgt_epi32(height, y)));
		_mm256_storeu_si256((__m256i *)(p->x + i), _mm256_blendv_epi8(none, x, in));
		_mm256_storeu_si256((__m256i *)(p->y + i), y);
		x = _mm256_add_epi32(x, next_x);
		y = _mm256_add_epi32(y, next_y);
	}
}

// Four points. The order of sums is that of Map.At.
INLINE void store_points(const hr_warp *w, __m256d x, __m256d y, points *p, int i) {
	const __m256d zero = _mm256_setzero_pd(), one = _mm256_set1_pd(1 << 16);
	__m256d in = _mm256_and_pd(_mm256_cmp_pd(x, zero, _CMP_GE_OQ), _mm256_cmp_pd(x, _mm256_set1_pd(w->width), _CMP_LT_OQ));
	in = _mm256_and_pd(in, _mm256_cmp_pd(y, zero, _CMP_GE_OQ));
	in = _mm256_and_pd(in, _mm256_cmp_pd(y, _mm256_set1_pd(w->height), _CMP_LT_OQ));
	x = _mm256_blendv_pd(_mm256_set1_pd(-1), _mm256_mul_pd(x, one), in);
	y = _mm256_and_pd(_mm256_mul_pd(y, one), in);
	_mm_storeu_si128((__m128i *)(p->x + i), _mm256_cvttpd_epi32(x));
	_mm_storeu_si128((__m128i *)(p->y + i), _mm256_cvttpd_epi32(y));
}

INLINE __m256d sum(double a, __m256d x, double b, __m256d y, double c) {
	return _mm256_add_pd(_mm256_add_pd(_mm256_mul_pd(_mm256_set1_pd(a), x), _mm256_mul_pd(_mm256_set1_pd(b), y)), _mm256_set1_pd(c));
}

AVX2 static void real_points(const hr_warp *w, const int16_t *waves, int row, int from, int n, points *p) {
	const double *m = w->map;
	const int px = w->x + row * w->down_x + from * w->right_x, py = w->y + row * w->down_y + from * w->right_y;
	const __m256d lane = _mm256_setr_pd(0, 1, 2, 3);
	// Whole numbers and halves: every order of sums gives the same.
	__m256d x = _mm256_add_pd(_mm256_set1_pd(px + .5), _mm256_mul_pd(lane, _mm256_set1_pd(w->right_x)));
	__m256d y = _mm256_add_pd(_mm256_set1_pd(py + .5), _mm256_mul_pd(lane, _mm256_set1_pd(w->right_y)));
	const __m256d next_x = _mm256_set1_pd(4.0 * w->right_x), next_y = _mm256_set1_pd(4.0 * w->right_y);
	for (int i = 0; i < n; i += 4, x = _mm256_add_pd(x, next_x), y = _mm256_add_pd(y, next_y)) {
		__m256d to_x = sum(m[0], x, m[1], y, m[2]), to_y = sum(m[3], x, m[4], y, m[5]);
		if (!w->affine) {
			__m256d by = sum(m[6], x, m[7], y, m[8]);
			to_x = _mm256_div_pd(to_x, by);
			to_y = _mm256_div_pd(to_y, by);
		}
		if (w->wave_width > 0) {
			int32_t at[8] = {0};
			for (int k = 0; k < 4 && i + k < n; k++) {
				const int16_t *wave = waves + 2 * ((ptrdiff_t)(py + (i + k) * w->right_y) * w->wave_width + px + (i + k) * w->right_x);
				at[k] = wave[0];
				at[4 + k] = wave[1];
			}
			__m256d dx = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)at)), dy = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)(at + 4)));
			to_x = _mm256_add_pd(to_x, _mm256_mul_pd(dx, _mm256_set1_pd(w->wave_x)));
			to_y = _mm256_add_pd(to_y, _mm256_mul_pd(dy, _mm256_set1_pd(w->wave_y)));
		}
		store_points(w, to_x, to_y, p, i);
	}
}

// ── Pixels

typedef struct {
	const hr_warp *w;
	const uint8_t *in;
	ptrdiff_t stride;
	int32_t last; // the last byte from which 16 can be read in a row and in the next ones
	const int16_t (*weights)[4];
} source;

static inline void put_fill(const source *s, uint8_t *to) { memcpy(to, s->w->fill, 3); }

static void nearest_row(const source *s, const points *p, int n, uint8_t *to) {
	const hr_warp *w = s->w;
	const uint8_t *in = s->in - (ptrdiff_t)w->top * s->stride - (ptrdiff_t)w->left * 3;
	const ptrdiff_t whole = s->in - in + (ptrdiff_t)(w->in_height - 1) * s->stride + 3 * (ptrdiff_t)w->in_width - 4;
	int i = 0;
	uint32_t fill;
	memcpy(&fill, w->fill, 4);
	for (; i < n - 1; i++, to += 3) { // 4 bytes at once
		uint32_t v = fill;
		if (p->x[i] >= 0) {
			ptrdiff_t at = (ptrdiff_t)(p->y[i] >> 16) * s->stride + (ptrdiff_t)(p->x[i] >> 16) * 3;
			if (at <= whole) {
				memcpy(&v, in + at, 4);
			} else {
				memcpy(&v, in + at, 3);
			}
		}
		memcpy(to, &v, 4);
	}
	if (p->x[i] >= 0)
		memcpy(to, in + (ptrdiff_t)(p->y[i] >> 16) * s->stride + (ptrdiff_t)(p->x[i] >> 16) * 3, 3);
	else
		put_fill(s, to);
}

static inline int within(int v, int n) { return v < 0 ? 0 : v < n ? v : n - 1; }

// A pixel at an edge of the image or of what of it is there.
static void bilinear_pixel(const source *s, int32_t x, int32_t y, uint8_t *to) {
	const hr_warp *w = s->w;
	const int u = (x - (1 << 15) + 16) >> 5, v = (y - (1 << 15) + 16) >> 5;
	const int fx = u & 2047, fy = v & 2047, both = fx * fy >> 8, right = (fx << 3) - both, below = (fy << 3) - both;
	const int own = (1 << 14) - right - below - both;
	const int x0 = within(u >> 11, w->width) - w->left, x1 = within((u >> 11) + 1, w->width) - w->left;
	const uint8_t *row0 = s->in + (within(v >> 11, w->height) - w->top) * s->stride;
	const uint8_t *row1 = s->in + (within((v >> 11) + 1, w->height) - w->top) * s->stride;
	for (int c = 0; c < 3; c++)
		to[c] = (uint8_t)((own * row0[3 * x0 + c] + right * row0[3 * x1 + c] + below * row1[3 * x0 + c] + both * row1[3 * x1 + c]) >> 14);
}

// Pixels i and i + 4 of eight: sums of 14 bits more than levels.
INLINE __m256i pair(const source *s, const int32_t *at, int i, __m256i top, __m256i bottom) {
	const __m256i spread = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, //
	                                        0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
	const __m256i of = _mm256_setr_epi32(i, i, i, i, i + 4, i + 4, i + 4, i + 4);
	const uint8_t *a = s->in + at[i], *b = s->in + at[i + 4];
	__m256i row0 = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)a)), _mm_loadu_si128((const __m128i *)b), 1);
	a += s->stride, b += s->stride;
	__m256i row1 = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)a)), _mm_loadu_si128((const __m128i *)b), 1);
	row0 = _mm256_madd_epi16(_mm256_shuffle_epi8(row0, spread), _mm256_permutevar8x32_epi32(top, of));
	row1 = _mm256_madd_epi16(_mm256_shuffle_epi8(row1, spread), _mm256_permutevar8x32_epi32(bottom, of));
	return _mm256_srai_epi32(_mm256_add_epi32(row0, row1), 14);
}

AVX2 static void bilinear_row(const source *s, const points *p, int n, uint8_t *to) {
	const hr_warp *w = s->w;
	const __m256i half = _mm256_set1_epi32((1 << 15) - 16), fraction = _mm256_set1_epi32(2047), one = _mm256_set1_epi32(1 << 14);
	const __m256i none = _mm256_set1_epi32(-1), left = _mm256_set1_epi32(w->left), top = _mm256_set1_epi32(w->top);
	const __m256i right_edge = _mm256_set1_epi32(w->in_width - 1), low_edge = _mm256_set1_epi32(w->in_height - 1);
	const __m256i stride = _mm256_set1_epi32((int32_t)s->stride), last = _mm256_set1_epi32(s->last);
	const __m256i tight = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, //
	                                       0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
	for (int i = 0; i < n; i += step, to += 3 * step) {
		const int count = n - i < step ? n - i : step;
		const __m256i x = _mm256_loadu_si256((const __m256i *)(p->x + i)), y = _mm256_loadu_si256((const __m256i *)(p->y + i));
		const __m256i there = _mm256_cmpgt_epi32(x, none);
		if (_mm256_testz_si256(there, there)) {
			for (int k = 0; k < count; k++)
				put_fill(s, to + 3 * k);
			continue;
		}
		const __m256i u = _mm256_srai_epi32(_mm256_sub_epi32(x, half), 5), v = _mm256_srai_epi32(_mm256_sub_epi32(y, half), 5);
		const __m256i x0 = _mm256_sub_epi32(_mm256_srai_epi32(u, 11), left), y0 = _mm256_sub_epi32(_mm256_srai_epi32(v, 11), top);
		__m256i at = _mm256_add_epi32(_mm256_mullo_epi32(y0, stride), _mm256_add_epi32(x0, _mm256_slli_epi32(x0, 1)));
		__m256i inner = _mm256_and_si256(there, _mm256_and_si256(_mm256_cmpgt_epi32(x0, none), _mm256_cmpgt_epi32(right_edge, x0)));
		inner = _mm256_and_si256(inner, _mm256_and_si256(_mm256_cmpgt_epi32(y0, none), _mm256_cmpgt_epi32(low_edge, y0)));
		inner = _mm256_andnot_si256(_mm256_cmpgt_epi32(at, last), inner);
		at = _mm256_and_si256(at, inner);
		int32_t from[step];
		_mm256_storeu_si256((__m256i *)from, at);

		const __m256i fx = _mm256_and_si256(u, fraction), fy = _mm256_and_si256(v, fraction);
		const __m256i both = _mm256_srli_epi32(_mm256_mullo_epi32(fx, fy), 8);
		const __m256i right = _mm256_sub_epi32(_mm256_slli_epi32(fx, 3), both), below = _mm256_sub_epi32(_mm256_slli_epi32(fy, 3), both);
		const __m256i own = _mm256_sub_epi32(_mm256_sub_epi32(one, right), _mm256_slli_epi32(fy, 3));
		const __m256i upper = _mm256_or_si256(own, _mm256_slli_epi32(right, 16)), lower = _mm256_or_si256(below, _mm256_slli_epi32(both, 16));

		const int inside = _mm256_movemask_ps(_mm256_castsi256_ps(inner));
		__m256i bytes = _mm256_setzero_si256();
		if (inside != 0 && s->last >= 0) {
			const __m256i first = _mm256_packs_epi32(pair(s, from, 0, upper, lower), pair(s, from, 1, upper, lower));
			const __m256i second = _mm256_packs_epi32(pair(s, from, 2, upper, lower), pair(s, from, 3, upper, lower));
			bytes = _mm256_shuffle_epi8(_mm256_packus_epi16(first, second), tight);
		}
		if (inside == 255 && n - i >= step + 2) { // the next ones overwrite what is too much
			_mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(bytes));
			_mm_storeu_si128((__m128i *)(to + 12), _mm256_extracti128_si256(bytes, 1));
			continue;
		}
		uint8_t own_bytes[28];
		_mm_storeu_si128((__m128i *)own_bytes, _mm256_castsi256_si128(bytes));
		_mm_storeu_si128((__m128i *)(own_bytes + 12), _mm256_extracti128_si256(bytes, 1));
		for (int k = 0; k < count; k++) {
			if (inside >> k & 1)
				memcpy(to + 3 * k, own_bytes + 3 * k, 3);
			else if (p->x[i + k] >= 0)
				bilinear_pixel(s, p->x[i + k], p->y[i + k], to + 3 * k);
			else
				put_fill(s, to + 3 * k);
		}
	}
}

// Numbers of 6 bits more than levels, of rows.
INLINE __m128i bicubic_across(const uint8_t *row, __m128i outer, __m128i inner) {
	const __m128i first = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
	const __m128i second = _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
	const __m128i v = _mm_loadu_si128((const __m128i *)row);
	__m128i sum = _mm_add_epi32(_mm_madd_epi16(_mm_shuffle_epi8(v, first), outer), _mm_madd_epi16(_mm_shuffle_epi8(v, second), inner));
	sum = _mm_srai_epi32(_mm_add_epi32(sum, _mm_set1_epi32(128)), 8);
	return _mm_packs_epi32(sum, sum);
}

static void bicubic_pixel(const source *s, int u, int v, uint8_t *to) {
	const hr_warp *w = s->w;
	const int16_t *across = s->weights[u & 2047], *down = s->weights[v & 2047];
	for (int c = 0; c < 3; c++) {
		int sum = 0;
		for (int k = 0; k < 4; k++) {
			const uint8_t *row = s->in + (within((v >> 11) - 1 + k, w->height) - w->top) * s->stride;
			int of_row = 0;
			for (int i = 0; i < 4; i++)
				of_row += across[i] * row[3 * (within((u >> 11) - 1 + i, w->width) - w->left) + c];
			sum += down[k] * ((of_row + 128) >> 8);
		}
		sum >>= 20;
		to[c] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
	}
}

AVX2 static void bicubic_row(const source *s, const points *p, int n, uint8_t *to) {
	const hr_warp *w = s->w;
	for (int i = 0; i < n; i++, to += 3) {
		if (p->x[i] < 0) {
			put_fill(s, to);
			continue;
		}
		const int u = (p->x[i] - (1 << 15) + 16) >> 5, v = (p->y[i] - (1 << 15) + 16) >> 5;
		const int x = (u >> 11) - 1 - w->left, y = (v >> 11) - 1 - w->top;
		const ptrdiff_t at = y * s->stride + 3 * x;
		if (x < 0 || y < 0 || x > w->in_width - 4 || y > w->in_height - 4 || at > s->last) {
			bicubic_pixel(s, u, v, to);
			continue;
		}
		int64_t weights;
		memcpy(&weights, s->weights[u & 2047], sizeof weights);
		const __m128i outer = _mm_set1_epi32((int32_t)weights), inner = _mm_set1_epi32((int32_t)(weights >> 32));
		const uint8_t *row = s->in + at;
		const __m128i a = _mm_unpacklo_epi16(bicubic_across(row, outer, inner), bicubic_across(row + s->stride, outer, inner));
		const __m128i b = _mm_unpacklo_epi16(bicubic_across(row + 2 * s->stride, outer, inner), bicubic_across(row + 3 * s->stride, outer, inner));
		memcpy(&weights, s->weights[v & 2047], sizeof weights);
		__m128i sum = _mm_add_epi32(_mm_madd_epi16(a, _mm_set1_epi32((int32_t)weights)), _mm_madd_epi16(b, _mm_set1_epi32((int32_t)(weights >> 32))));
		sum = _mm_srai_epi32(sum, 20);
		sum = _mm_packus_epi16(_mm_packs_epi32(sum, sum), sum);
		const int32_t pixel = _mm_cvtsi128_si32(sum);
		memcpy(to, &pixel, 3);
	}
}

int hr_warp_can(const hr_kernels *k) { return k == &hr_avx2 || k == &hr_avx512; }

void hr_warp_picture(const hr_warp *w, const int16_t *waves, const int16_t *weights, const uint8_t *in, ptrdiff_t in_stride, uint8_t *to, ptrdiff_t stride, int width,
                     int height) {
	points p;
	const int more = w->filter == HR_WARP_BICUBIC ? 3 : 1;
	const source s = {w, in, in_stride, (int32_t)((w->in_height - 1 - more) * in_stride + 3 * w->in_width - 16), (const int16_t(*)[4])weights};
	void (*const row_of[])(const source *, const points *, int, uint8_t *) = {bilinear_row, nearest_row, bicubic_row};
	for (int row = 0; row < height; row++)
		for (int from = 0; from < width; from += part) {
			const int n = width - from < part ? width - from : part;
			if (w->fixed)
				fixed_points(w, row, from, n, &p);
			else
				real_points(w, waves, row, from, n, &p);
			row_of[w->filter](&s, &p, n, to + row * stride + 3 * (ptrdiff_t)from);
		}
}
#else
int hr_warp_can(const hr_kernels *k) { return (void)k, 0; }

void hr_warp_picture(const hr_warp *w, const int16_t *waves, const int16_t *weights, const uint8_t *in, ptrdiff_t in_stride, uint8_t *to, ptrdiff_t stride, int width,
                     int height) {
	(void)w, (void)waves, (void)weights, (void)in, (void)in_stride, (void)to, (void)stride, (void)width, (void)height;
}
#endif
