#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include "output.h"

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define INLINE TARGET static inline __attribute__((always_inline))
#define V __m256i
#define F __m256

// What turns values of one channel into numbers.
typedef struct {
	F mean, inverse, rest; // exactly
	F scale, offset;       // in one step, which is near enough for most numbers of 16 bits
} channel;

INLINE channel channel_of(const hr_output *o, int c) {
	float scale = o->inverse[c] / 255;
	return (channel){_mm256_set1_ps(o->form.mean[c]), _mm256_set1_ps(o->inverse[c]), _mm256_set1_ps(o->rest[c]),
	                 _mm256_set1_ps(scale), _mm256_set1_ps(-o->form.mean[c] * o->inverse[c])};
}

// A quotient is the sum of the products with the inverse and with what the inverse lacks.
INLINE F number(V value, const channel *c, const int exact) {
	F v = _mm256_cvtepi32_ps(value);
	if (!exact)
		return _mm256_fmadd_ps(v, c->scale, c->offset);
	const float part = 1.0f / 255, lacks = (float)(1.0 / 255 - (double)part);
	F x = _mm256_fmadd_ps(v, _mm256_set1_ps(part), _mm256_mul_ps(v, _mm256_set1_ps(lacks)));
	x = _mm256_sub_ps(x, c->mean);
	return _mm256_fmadd_ps(x, c->inverse, _mm256_mul_ps(x, c->rest));
}

// The upper halves, rounded to the nearest, halves to even; in one step, upwards:
// hardly a number is in the middle.
INLINE V rounded(F x, const int exact) {
	V b = _mm256_castps_si256(x), half = _mm256_set1_epi32(0x8000);
	if (exact)
		half = _mm256_add_epi32(_mm256_and_si256(_mm256_srli_epi32(b, 16), _mm256_set1_epi32(1)), _mm256_set1_epi32(0x7fff));
	return _mm256_srli_epi32(_mm256_add_epi32(b, half), 16);
}

// Writes the numbers of two times eight values.
INLINE void store(uint8_t *dst, V v0, const channel *c0, V v1, const channel *c1, const int to, const int exact) {
	F x0 = number(v0, c0, exact), x1 = number(v1, c1, exact);
	switch (to) {
	case HR_FLOAT32:
		_mm256_storeu_ps((float *)dst, x0);
		_mm256_storeu_ps((float *)dst + 8, x1);
		return;
	case HR_FLOAT16:
		_mm_storeu_si128((__m128i *)dst, _mm256_cvtps_ph(x0, _MM_FROUND_TO_NEAREST_INT));
		_mm_storeu_si128((__m128i *)dst + 1, _mm256_cvtps_ph(x1, _MM_FROUND_TO_NEAREST_INT));
		return;
	}
	V both = _mm256_packus_epi32(rounded(x0, exact), rounded(x1, exact));
	_mm256_storeu_si256((V *)dst, _mm256_permute4x64_epi64(both, _MM_SHUFFLE(3, 1, 2, 0)));
}

// The last group of a row overlaps the one before. What is shorter than a group is
// written from and to memory that is long enough.

// Values in the order of memory: of three channels in turn, or of one.
enum { in_turn = 48 };

INLINE V values(const uint8_t *at) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)at)); }

INLINE void turns(const hr_output *o, const uint8_t *src, int n, uint8_t *dst, const int to, const int exact) {
	const int size = to == HR_FLOAT32 ? 4 : 2, three = o->form.channels == 3;
	channel c[3] = {channel_of(o, 0), channel_of(o, three), channel_of(o, 2 * three)};
	// Value i of 24 is of channel i % 3: three vectors of eight, after which it begins
	// anew.
	channel mixed[3];
	const V is1[3] = {_mm256_setr_epi32(0, -1, 0, 0, -1, 0, 0, -1), _mm256_setr_epi32(0, 0, -1, 0, 0, -1, 0, 0),
	                  _mm256_setr_epi32(-1, 0, 0, -1, 0, 0, -1, 0)};
	const V is2[3] = {_mm256_setr_epi32(0, 0, -1, 0, 0, -1, 0, 0), _mm256_setr_epi32(-1, 0, 0, -1, 0, 0, -1, 0),
	                  _mm256_setr_epi32(0, -1, 0, 0, -1, 0, 0, -1)};
#define MIX(part)                                                                                                          \
	mixed[k].part = _mm256_blendv_ps(_mm256_blendv_ps(c[0].part, c[1].part, _mm256_castsi256_ps(is1[k])), c[2].part,   \
	                                 _mm256_castsi256_ps(is2[k]))
	for (int k = 0; k < 3; k++) {
		MIX(mean);
		MIX(inverse);
		MIX(rest);
		MIX(scale);
		MIX(offset);
	}
	for (int i = 0; i < n; i += in_turn) {
		i = i < n - in_turn ? i : n - in_turn;
		for (int k = 0; k < 3; k++)
			store(dst + (i + 16 * k) * size, values(src + i + 16 * k), &mixed[2 * k % 3], values(src + i + 16 * k + 8),
			      &mixed[(2 * k + 1) % 3], to, exact);
	}
}

INLINE void turns_or_less(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, const int to, const int exact) {
	int n = pixels * o->form.channels, size = to == HR_FLOAT32 ? 4 : 2;
	if (n >= in_turn) {
		turns(o, src, n, dst, to, exact);
		return;
	}
	uint8_t in[in_turn] = {0}, out[in_turn * 4];
	memcpy(in, src, n);
	turns(o, in, in_turn, out, to, exact);
	memcpy(dst, out, n * size);
}

enum { in_planes = 16 };

INLINE V halves(const uint8_t *low, const uint8_t *high) {
	return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
	                               _mm_loadu_si128((const __m128i *)high), 1);
}

INLINE void planes(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane, const int to, const int exact) {
	const int size = to == HR_FLOAT32 ? 4 : 2;
	const channel c[3] = {channel_of(o, 0), channel_of(o, 1), channel_of(o, 2)};
	// Of eight pixels, four lie at the beginning of one half and four at the end of the
	// other.
	const V first = _mm256_setr_epi32(0, 3, 6, 9, 4, 7, 10, 13), one = _mm256_set1_epi32(1), none = _mm256_set1_epi32(0x80808000);
	const V r = _mm256_or_si256(first, none), g = _mm256_add_epi32(r, one), b = _mm256_add_epi32(g, one);
	for (int x = 0; x < pixels; x += in_planes) {
		x = x < pixels - in_planes ? x : pixels - in_planes;
		const uint8_t *at = src + 3 * (ptrdiff_t)x;
		V p = halves(at, at + 8), q = halves(at + 24, at + 32);
		uint8_t *out = dst + (ptrdiff_t)x * size;
		store(out, _mm256_shuffle_epi8(p, r), &c[0], _mm256_shuffle_epi8(q, r), &c[0], to, exact);
		store(out + plane, _mm256_shuffle_epi8(p, g), &c[1], _mm256_shuffle_epi8(q, g), &c[1], to, exact);
		store(out + 2 * plane, _mm256_shuffle_epi8(p, b), &c[2], _mm256_shuffle_epi8(q, b), &c[2], to, exact);
	}
}

INLINE void planes_or_less(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane, const int to,
                           const int exact) {
	if (pixels >= in_planes) {
		planes(o, src, pixels, dst, plane, to, exact);
		return;
	}
	int size = to == HR_FLOAT32 ? 4 : 2;
	uint8_t in[in_planes * 3] = {0}, out[in_planes * 3 * 4];
	memcpy(in, src, 3 * pixels);
	planes(o, in, in_planes, out, in_planes * size, to, exact);
	for (int c = 0; c < 3; c++)
		memcpy(dst + c * plane, out + c * in_planes * size, pixels * size);
}

#define KERNELS(name, to, exact)                                                                                           \
	TARGET static void turns_##name(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane) { \
		(void)plane;                                                                                               \
		turns_or_less(o, src, pixels, dst, to, exact);                                                             \
	}                                                                                                                  \
	TARGET static void planes_##name(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane) { \
		planes_or_less(o, src, pixels, dst, plane, to, exact);                                                     \
	}

KERNELS(float32, HR_FLOAT32, 1)
KERNELS(float16, HR_FLOAT16, 1)
KERNELS(bfloat16, HR_BFLOAT16, 1)
KERNELS(float16_in_one_step, HR_FLOAT16, 0)
KERNELS(bfloat16_in_one_step, HR_BFLOAT16, 0)

enum { in_split = 32 };

// Sixteen pixels in each half of three vectors.
INLINE V third(V a, V b, V c, V from_a, V from_b, V from_c) {
	return _mm256_or_si256(_mm256_or_si256(_mm256_shuffle_epi8(a, from_a), _mm256_shuffle_epi8(b, from_b)),
	                       _mm256_shuffle_epi8(c, from_c));
}

INLINE void split(const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane) {
#define BOTH(...) _mm256_broadcastsi128_si256(_mm_setr_epi8(__VA_ARGS__))
	const V ra = BOTH(0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
	const V rb = BOTH(-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1);
	const V rc = BOTH(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13);
	const V ga = BOTH(1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
	const V gb = BOTH(-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1);
	const V gc = BOTH(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14);
	const V ba = BOTH(2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
	const V bb = BOTH(-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1);
	const V bc = BOTH(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15);
	for (int x = 0; x < pixels; x += in_split) {
		x = x < pixels - in_split ? x : pixels - in_split;
		const uint8_t *at = src + 3 * (ptrdiff_t)x;
		V a = halves(at, at + 48), b = halves(at + 16, at + 64), c = halves(at + 32, at + 80);
		_mm256_storeu_si256((V *)(dst + x), third(a, b, c, ra, rb, rc));
		_mm256_storeu_si256((V *)(dst + plane + x), third(a, b, c, ga, gb, gc));
		_mm256_storeu_si256((V *)(dst + 2 * plane + x), third(a, b, c, ba, bb, bc));
	}
}

TARGET static void split8(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane) {
	(void)o;
	if (pixels >= in_split) {
		split(src, pixels, dst, plane);
		return;
	}
	uint8_t in[in_split * 3] = {0}, out[in_split * 3];
	memcpy(in, src, 3 * pixels);
	split(in, in_split, out, in_split);
	for (int c = 0; c < 3; c++)
		memcpy(dst + c * plane, out + c * in_split, pixels);
}

// Whether a kernel writes the very numbers that it should, for all values.
static int is_right(const hr_output *o, hr_output_row_kernel row) {
	uint8_t src[256 * 3] = {0}, dst[256 * 3 * 4];
	int channels = o->form.channels, size = o->form.to == HR_FLOAT32 ? 4 : 2;
	for (int i = 0; i < 256 * channels; i++)
		src[i] = i / channels;
	row(o, src, 256, dst, 256 * size);
	ptrdiff_t pixel = o->form.planar ? size : size * channels, channel = o->form.planar ? 256 * size : size;
	for (int c = 0; c < channels; c++)
		for (int v = 0; v < 256; v++)
			if (memcmp(dst + c * channel + v * pixel, &o->number[c][v], size) != 0)
				return 0;
	return 1;
}

hr_output_row_kernel hr_output_avx2(const hr_output *o) {
	static const hr_output_row_kernel all[][2][2] = {
	    {{turns_float32, planes_float32}, {turns_float32, planes_float32}},
	    {{turns_float16_in_one_step, planes_float16_in_one_step}, {turns_float16, planes_float16}},
	    {{turns_bfloat16_in_one_step, planes_bfloat16_in_one_step}, {turns_bfloat16, planes_bfloat16}},
	};
	const hr_output_form *f = &o->form;
	int planar = f->planar && f->channels == 3;
	if (f->from != HR_UINT8 || f->channels == 4)
		return NULL;
	if (f->to == HR_UINT8)
		return planar ? split8 : NULL;
	for (int exact = 0; exact < 2; exact++) {
		hr_output_row_kernel row = all[f->to - HR_FLOAT32][exact][planar];
		if (is_right(o, row))
			return row;
	}
	return NULL;
}
#endif
