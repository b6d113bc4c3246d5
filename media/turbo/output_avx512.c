// Numbers of 16 and 32 bits are looked up byte by byte: a register holds 64 entries of
// a table, an instruction looks 64 values up in two of them.
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include "output.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))
#define INLINE TARGET static inline __attribute__((always_inline))
#define V __m512i
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)

enum { group = 64 }; // pixels

typedef struct {
	V a, b, c;
} pixels64;

INLINE pixels64 load(const uint8_t *src, const int channels) {
	V a = LOAD(src);
	return channels == 3 ? (pixels64){a, LOAD(src + 64), LOAD(src + 128)} : (pixels64){a, a, a};
}

// Bytes of the pixels: those of b follow those of a, those of c have the upper bit set.
INLINE V picked(pixels64 p, V pick, const int channels) {
	if (channels == 1)
		return _mm512_permutexvar_epi8(pick, p.a);
	return _mm512_mask_permutexvar_epi8(_mm512_permutex2var_epi8(p.a, pick, p.b), _mm512_movepi8_mask(pick), pick, p.c);
}

typedef struct {
	V quarter[4];
} table;

INLINE table table_of(const uint8_t *bytes) {
	return (table){{LOAD(bytes), LOAD(bytes + 64), LOAD(bytes + 128), LOAD(bytes + 192)}};
}

INLINE V look_up(const table *t, V v) {
	V low = _mm512_permutex2var_epi8(t->quarter[0], v, t->quarter[1]);
	V high = _mm512_permutex2var_epi8(t->quarter[2], v, t->quarter[3]);
	return _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high);
}

// Writes the numbers of one channel. The last group of a row overlaps the one before.
INLINE void plane(const hr_output *o, int c, const uint8_t *src, int pixels, uint8_t *dst, const int size, const int channels) {
	V pick = LOAD(o->pick[c]);
	table t[4];
	for (int b = 0; b < size && size > 1; b++)
		t[b] = table_of(o->bytes[c][b]);
	for (int x = 0; x < pixels; x += group) {
		x = x < pixels - group ? x : pixels - group;
		V v = picked(load(src + (ptrdiff_t)x * channels, channels), pick, channels);
		uint8_t *out = dst + (ptrdiff_t)x * size;
		if (size == 1) {
			STORE(out, v);
			continue;
		}
		V b0 = look_up(&t[0], v), b1 = look_up(&t[1], v);
		V low = _mm512_unpacklo_epi8(b0, b1), high = _mm512_unpackhi_epi8(b0, b1);
		if (size == 2) {
			STORE(out, low);
			STORE(out + 64, high);
			continue;
		}
		V b2 = look_up(&t[2], v), b3 = look_up(&t[3], v);
		V low2 = _mm512_unpacklo_epi8(b2, b3), high2 = _mm512_unpackhi_epi8(b2, b3);
		STORE(out, _mm512_unpacklo_epi16(low, low2));
		STORE(out + 64, _mm512_unpackhi_epi16(low, low2));
		STORE(out + 128, _mm512_unpacklo_epi16(high, high2));
		STORE(out + 192, _mm512_unpackhi_epi16(high, high2));
	}
}

INLINE void planes(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t next, const int size, const int channels) {
	if (pixels >= group) {
		for (int c = 0; c < channels; c++)
			plane(o, c, src, pixels, dst + c * next, size, channels);
		return;
	}
	uint8_t in[group * 3] = {0}, out[group * 4];
	memcpy(in, src, (size_t)pixels * channels);
	for (int c = 0; c < channels; c++) {
		plane(o, c, in, group, out, size, channels);
		memcpy(dst + c * next, out, (size_t)pixels * size);
	}
}

#define KERNEL(name, size, channels)                                                                                       \
	TARGET static void name(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t next) {        \
		planes(o, src, pixels, dst, next, size, channels);                                                         \
	}

KERNEL(planes8, 1, 3)
KERNEL(planes16, 2, 3)
KERNEL(planes32, 4, 3)
KERNEL(gray16, 2, 1)
KERNEL(gray32, 4, 1)

// Which pixel comes to stand where, so that they are in order after the bytes of their
// numbers were interleaved in each fourth of a register.
static int pixel_at(int i, int size) {
	int fourth = i / 16, in = i % 16;
	switch (size) {
	case 1:
		return i;
	case 2:
		return in / 8 * 32 + fourth * 8 + in % 8;
	}
	return in / 4 * 16 + fourth * 4 + in % 4;
}

static void set_pick(hr_output *o, int size) {
	for (int c = 0; c < o->form.channels; c++)
		for (int i = 0; i < group; i++)
			o->pick[c][i] = pixel_at(i, size) * o->form.channels + c;
}

hr_output_row_kernel hr_output_avx512(hr_output *o) {
	const hr_output_form *f = &o->form;
	if (f->from != HR_UINT8 || f->channels == 4 || f->channels == 3 && !f->planar)
		return NULL;
	if (f->to == HR_UINT8) {
		set_pick(o, 1);
		return f->channels == 3 ? planes8 : NULL;
	}
	set_pick(o, f->to == HR_FLOAT32 ? 4 : 2);
	if (f->to == HR_FLOAT32)
		return f->channels == 3 ? planes32 : gray32;
	return f->channels == 3 ? planes16 : gray16;
}
#endif
