#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include "adjust.h"

#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define V __m256i
#define F __m256
#define M __m256
#define SET1 _mm256_set1_epi32
#define SET8 _mm256_setr_epi32
#define REPEAT4(a, b, c, d) _mm256_setr_epi32(a, b, c, d, a, b, c, d)
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define ADD _mm256_add_epi32
#define MADD _mm256_madd_epi16
#define AND _mm256_and_si256
#define OR _mm256_or_si256
#define SHIFT_LEFT _mm256_slli_epi32
#define SHIFT_RIGHT _mm256_srli_epi32
#define SHUFFLE _mm256_shuffle_epi8
#define PERMUTE(table, i) _mm256_permutevar8x32_epi32(table, i)
#define TO_FLOAT _mm256_cvtepi32_ps
#define TO_INT _mm256_cvttps_epi32
#define TRUNC(x) _mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define SET1F _mm256_set1_ps
#define ADDF _mm256_add_ps
#define SUBF _mm256_sub_ps
#define MULF _mm256_mul_ps
#define DIVF _mm256_div_ps
#define FMADD _mm256_fmadd_ps
#define FNMADD _mm256_fnmadd_ps
#define MINF _mm256_min_ps
#define MAXF _mm256_max_ps
#define EQUAL(a, b) _mm256_cmp_ps(a, b, _CMP_EQ_OQ)
#define LESS(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define LESS_OR_EQUAL(a, b) _mm256_cmp_ps(a, b, _CMP_LE_OQ)
#define IS_ODD(i) _mm256_castsi256_ps(_mm256_slli_epi32(i, 31))
#define OR_M _mm256_or_ps
#define XOR_M _mm256_xor_ps
#define NOT_M(a) _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1)))
#define SELECT(m, yes, no) _mm256_blendv_ps(no, yes, m)
// Keeps the compiler from fusing what comes before with what comes after.
#define KEEP(x) __asm__("" : "+x"(x))

// Pixels 0 to 3 lie at the beginning of one half, pixels 4 to 7 at the end of the
// other: nothing beyond them is read.
#define LOAD_RGB(p)                                                                                                        \
	_mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(p))),                             \
	                        _mm_loadu_si128((const __m128i *)((p) + 8)), 1)
#define TO_RG(v)                                                                                                           \
	_mm256_shuffle_epi8(v, _mm256_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1, /**/              \
	                                        4, -1, 5, -1, 7, -1, 8, -1, 10, -1, 11, -1, 13, -1, 14, -1))
#define TO_BG(v)                                                                                                           \
	_mm256_shuffle_epi8(v, _mm256_setr_epi8(2, -1, 1, -1, 5, -1, 4, -1, 8, -1, 7, -1, 11, -1, 10, -1, /**/             \
	                                        6, -1, 5, -1, 9, -1, 8, -1, 12, -1, 11, -1, 15, -1, 14, -1))
#define STORE_RGB store_rgb
#define STORE_GRAY store_gray

TARGET static inline __attribute__((always_inline)) void store_rgb(uint8_t *rgb, V pixels) {
	V v = _mm256_shuffle_epi8(pixels, _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, /**/
	                                                   -1, -1, -1, -1, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14));
	__m128i low = _mm256_castsi256_si128(v);
	_mm_storeu_si128((__m128i *)(rgb + 8), _mm256_extracti128_si256(v, 1));
	_mm_storel_epi64((__m128i *)rgb, low);
	_mm_storeu_si32(rgb + 8, _mm_srli_si128(low, 8));
}

TARGET static inline __attribute__((always_inline)) void store_gray(uint8_t *gray, V lightness) {
	V v = _mm256_shuffle_epi8(lightness, _mm256_set1_epi32(0x0c080400));
	_mm_storeu_si32(gray, _mm256_castsi256_si128(v));
	_mm_storeu_si32(gray + 4, _mm256_extracti128_si256(v, 1));
}

#include "adjust_x86.h"

INLINE V blend8(const uint8_t *at, F from, F factor) {
	return blended(from, TO_FLOAT(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)at))), factor);
}

TARGET static void blend(const hr_blend *b, uint8_t *row, int bytes) {
	F from = SET1F(b->from), factor = SET1F(b->factor);
	for (; bytes >= 32; bytes -= 32, row += 32) {
		V low = _mm256_packs_epi32(blend8(row, from, factor), blend8(row + 8, from, factor));
		V high = _mm256_packs_epi32(blend8(row + 16, from, factor), blend8(row + 24, from, factor));
		V all = _mm256_packus_epi16(low, high); // in fours: 0 2 4 6 1 3 5 7
		STORE(row, _mm256_permutevar8x32_epi32(all, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
	}
	for (int i = 0; i < bytes; i++)
		row[i] = b->table[row[i]];
}

// The upper half of a value says which of 16 parts of the table has it: a shuffle by what
// is left of it after 16 for each part before gives 0 for all others.
TARGET static void look_up(const uint8_t *values, uint8_t *row, int bytes) {
	V part[16];
	for (int i = 0; i < 16; i++)
		part[i] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(values + 16 * i)));
	const V most = _mm256_set1_epi8(0x70), next = _mm256_set1_epi8(16);
	for (; bytes >= 32; bytes -= 32, row += 32) {
		V v = _mm256_loadu_si256((const V *)row), all = _mm256_setzero_si256();
		for (int i = 0; i < 16; i++) {
			// From 16 on, or below 0, the sum has its upper bit, and the shuffle gives 0.
			all = _mm256_or_si256(all, _mm256_shuffle_epi8(part[i], _mm256_adds_epu8(v, most)));
			v = _mm256_sub_epi8(v, next);
		}
		STORE(row, all);
	}
	for (int i = 0; i < bytes; i++)
		row[i] = values[row[i]];
}

const hr_adjust_kernels hr_adjust_avx2 = {blend, saturate, turn, grayscale, to_gray, lightness, look_up, hr_look_up3};
#endif
