#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include "kernels.h"

#define TARGET __attribute__((target("sse4.1")))
#define LANES 1
#define V __m128i
#define REPEAT(v) (v)
#define ZERO() _mm_setzero_si128()
#define SET1(x) _mm_set1_epi32(x)
#define SET16(x) _mm_set1_epi16(x)
#define LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define ADD _mm_add_epi32
#define SUB _mm_sub_epi32
#define ADD16 _mm_add_epi16
#define SUB16 _mm_sub_epi16
#define MADD _mm_madd_epi16
#define MULTIPLY _mm_mullo_epi16
#define MULTIPLY_HIGH _mm_mulhi_epi16
#define ABSOLUTE _mm_abs_epi16
#define SUBTRACT_TO_ZERO _mm_subs_epu16
#define GREATER _mm_cmpgt_epi32
#define OR _mm_or_si128
#define XOR _mm_xor_si128
#define IS_ZERO(v) _mm_testz_si128(v, v)
#define SWAP_HALVES(v) _mm_shuffle_epi32(v, 0x4E)
#define SWAP_QUARTERS(v) _mm_shuffle_epi32(v, 0xB1)
#define SHUFFLE _mm_shuffle_epi8
#define SHIFT_RIGHT _mm_srai_epi32
#define SHIFT_RIGHT16 _mm_srai_epi16
#define SHIFT16 _mm_srli_epi16
#define SHIFT_LEFT16 _mm_slli_epi16
#define PACK16 _mm_packs_epi32
#define PACK8 _mm_packus_epi16
#define PACK8S _mm_packs_epi16
#define IN_ORDER(v) (v)
#define UNPACK_LOW8 _mm_unpacklo_epi8
#define UNPACK_HIGH8 _mm_unpackhi_epi8
#define UNPACK_LOW16 _mm_unpacklo_epi16
#define UNPACK_HIGH16 _mm_unpackhi_epi16
#define UNPACK_LOW32 _mm_unpacklo_epi32
#define UNPACK_HIGH32 _mm_unpackhi_epi32
#define LOAD_WORDS(p) _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(p)))
#define LOAD_ROW(p) LOAD(p)
#define LOAD_BLOCKS(p) LOAD(p)
#define STORE_BLOCKS(p, v) STORE(p, v)
#define STORE_SAMPLES(v, to, stride)                                                                                          \
	for (int i = 0; i < 4; i++) {                                                                                          \
		_mm_storel_epi64((__m128i *)((to) + 2 * i * (stride)), v[i]);                                                  \
		_mm_storel_epi64((__m128i *)((to) + (2 * i + 1) * (stride)), _mm_unpackhi_epi64(v[i], v[i]));                  \
	}
#define STORE_THREE(p, a, b, c)                                                                                               \
	do {                                                                                                                   \
		STORE(p, a);                                                                                                   \
		STORE((p) + 16, b);                                                                                            \
		STORE((p) + 32, c);                                                                                            \
	} while (0)

#include "kernels_x86.h"
#include "kernels_simd.h"

const hj_kernels hj_sse41 = {"sse4.1", hj_keep_plain, hj_skip_plain, hj_dc_plain, hj_dc_bit_plain, hj_ac_plain, hj_ac_bit_plain, transform, {transform4, transform2, hj_transform1}, across, both, down, ycc};
#else
typedef int nothing;
#endif
