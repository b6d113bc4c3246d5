#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include "adjust.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))
#define LANES 16
#define V __m512i
#define F __m512
#define M __mmask16
#define SET1 _mm512_set1_epi32
#define SET8(a, b, c, d, e, f, g, h) _mm512_setr_epi32(a, b, c, d, e, f, g, h, 0, 0, 0, 0, 0, 0, 0, 0)
#define REPEAT4(a, b, c, d) _mm512_setr_epi32(a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d)
#define STORE _mm512_storeu_si512
#define ADD _mm512_add_epi32
#define MADD _mm512_madd_epi16
#define AND _mm512_and_si512
#define OR _mm512_or_si512
#define SHIFT_LEFT _mm512_slli_epi32
#define SHIFT_RIGHT _mm512_srli_epi32
#define SHUFFLE _mm512_shuffle_epi8
#define PERMUTE(table, i) _mm512_permutexvar_epi32(i, table)
#define TO_FLOAT _mm512_cvtepi32_ps
#define TO_INT _mm512_cvttps_epi32
#define TRUNC(x) _mm512_roundscale_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define SET1F _mm512_set1_ps
#define ADDF _mm512_add_ps
#define SUBF _mm512_sub_ps
#define MULF _mm512_mul_ps
#define DIVF _mm512_div_ps
#define FMADD _mm512_fmadd_ps
#define FNMADD _mm512_fnmadd_ps
#define MINF _mm512_min_ps
#define MAXF _mm512_max_ps
#define EQUAL(a, b) _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)
#define LESS(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define LESS_OR_EQUAL(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
#define IS_ODD(i) _mm512_test_epi32_mask(i, _mm512_set1_epi32(1))
#define OR_M(a, b) ((M)((a) | (b)))
#define XOR_M(a, b) ((M)((a) ^ (b)))
#define NOT_M(a) ((M) ~(a))
#define SELECT(m, yes, no) _mm512_mask_blend_ps(m, no, yes)
// Keeps the compiler from fusing what comes before with what comes after.
#define KEEP(x) __asm__("" : "+v"(x))

#define FIRST_48 0xffffffffffff
#define EVEN 0x5555555555555555
#define LOAD_RGB(p) _mm512_maskz_loadu_epi8(FIRST_48, p)
#define BY_PIXEL(a, b) PIXELS4(a, b, 36), PIXELS4(a, b, 24), PIXELS4(a, b, 12), PIXELS4(a, b, 0)
#define PIXELS4(a, b, at) PIXEL(a, b, at + 9), PIXEL(a, b, at + 6), PIXEL(a, b, at + 3), PIXEL(a, b, at)
#define PIXEL(a, b, at) ((at + b) << 16 | (at + a))
#define TO_RG(v) _mm512_maskz_permutexvar_epi8(EVEN, _mm512_set_epi32(BY_PIXEL(0, 1)), v)
#define TO_BG(v) _mm512_maskz_permutexvar_epi8(EVEN, _mm512_set_epi32(BY_PIXEL(2, 1)), v)
#define STORE_RGB store_rgb
#define STORE_GRAY(p, v) _mm_storeu_si128((__m128i *)(p), _mm512_cvtepi32_epi8(v))

// Where bytes of pixels in 32 bits each come to lie.
#define THREE(at) at, at + 1, at + 2
#define TWELVE(at) THREE(at), THREE(at + 4), THREE(at + 8), THREE(at + 12)
static const uint8_t without_gaps[64] = {TWELVE(0), TWELVE(16), TWELVE(32), TWELVE(48)};

TARGET static inline __attribute__((always_inline)) void store_rgb(uint8_t *rgb, V pixels) {
	V v = _mm512_permutexvar_epi8(_mm512_loadu_si512(without_gaps), pixels);
	_mm256_storeu_si256((__m256i *)rgb, _mm512_castsi512_si256(v)); // some processors take long for a masked store
	_mm_storeu_si128((__m128i *)(rgb + 32), _mm512_extracti32x4_epi32(v, 2));
}

#include "adjust_x86.h"

typedef struct {
	V quarter[4];
} table;

INLINE V look_up64(const table *t, V v) {
	V low = _mm512_permutex2var_epi8(t->quarter[0], v, t->quarter[1]);
	V high = _mm512_permutex2var_epi8(t->quarter[2], v, t->quarter[3]);
	return _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high);
}

TARGET static void look_up(const uint8_t *values, uint8_t *row, int bytes) {
	table t;
	for (int i = 0; i < 4; i++)
		t.quarter[i] = _mm512_loadu_si512(values + 64 * i);
	for (; bytes >= 64; bytes -= 64, row += 64)
		STORE(row, look_up64(&t, _mm512_loadu_si512(row)));
	__mmask64 rest = ((__mmask64)1 << bytes) - 1;
	_mm512_mask_storeu_epi8(row, rest, look_up64(&t, _mm512_maskz_loadu_epi8(rest, row)));
}

// Which bytes of 64 are of a channel, if the first one is of channel 0.
#define THIRDS 0x9249249249249249
#define QUARTERS 0x1111111111111111

TARGET static void look_up3(const uint8_t tables[3][256], uint8_t *row, int channels, int pixels) {
	table t[3];
	for (int i = 0; i < 12; i++)
		t[i / 4].quarter[i % 4] = _mm512_loadu_si512(tables[i / 4] + 64 * (i % 4));
	int bytes = channels * pixels, first = 0; // the channel of the first byte
	for (; bytes > 0; bytes -= 64, row += 64) {
		__mmask64 in = bytes >= 64 ? ~0ull : (1ull << bytes) - 1, of[3];
		for (int c = 0; c < 3; c++)
			of[c] = channels == 4 ? QUARTERS << c : THIRDS << (c + 3 - first) % 3;
		V v = _mm512_maskz_loadu_epi8(in, row), to = v;
		for (int c = 0; c < 3; c++)
			to = _mm512_mask_blend_epi8(of[c], to, look_up64(&t[c], v));
		_mm512_mask_storeu_epi8(row, in, to);
		first = (first + 1) % 3; // of three channels: there are 64 in a row, which is one more than a multiple
	}
}

TARGET static void blend(const hr_blend *b, uint8_t *row, int bytes) { look_up(b->table, row, bytes); }

const hr_adjust_kernels hr_adjust_avx512 = {blend, saturate, turn, grayscale, to_gray, lightness, look_up, look_up3};
#endif
