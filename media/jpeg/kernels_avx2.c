#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include "kernels.h"

#define TARGET __attribute__((target("avx2,bmi2")))
#define NAME(x) hj_##x##_bmi2
#include "entropy.h"
#define NTH(bits, n) _pdep_u64(1ull << ((n) - 1), bits)
#include "progressive.h"

#define LANES 2
#define V __m256i
#define REPEAT(v) _mm256_broadcastsi128_si256(v)
#define ZERO() _mm256_setzero_si256()
#define SET1(x) _mm256_set1_epi32(x)
#define SET16(x) _mm256_set1_epi16(x)
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define ADD _mm256_add_epi32
#define SUB _mm256_sub_epi32
#define ADD16 _mm256_add_epi16
#define SUB16 _mm256_sub_epi16
#define MADD _mm256_madd_epi16
#define MULTIPLY _mm256_mullo_epi16
#define MULTIPLY_HIGH _mm256_mulhi_epi16
#define ABSOLUTE _mm256_abs_epi16
#define SUBTRACT_TO_ZERO _mm256_subs_epu16
#define GREATER _mm256_cmpgt_epi32
#define OR _mm256_or_si256
#define XOR _mm256_xor_si256
#define IS_ZERO(v) _mm256_testz_si256(v, v)
#define SWAP_HALVES(v) _mm256_shuffle_epi32(v, 0x4E)
#define SWAP_QUARTERS(v) _mm256_shuffle_epi32(v, 0xB1)
#define SHUFFLE _mm256_shuffle_epi8
#define SHIFT_RIGHT _mm256_srai_epi32
#define SHIFT_RIGHT16 _mm256_srai_epi16
#define SHIFT16 _mm256_srli_epi16
#define SHIFT_LEFT16 _mm256_slli_epi16
#define PACK16 _mm256_packs_epi32
#define PACK8 _mm256_packus_epi16
#define PACK8S _mm256_packs_epi16
#define IN_ORDER(v) _mm256_permute4x64_epi64(v, 0xD8)
#define UNPACK_LOW8 _mm256_unpacklo_epi8
#define UNPACK_HIGH8 _mm256_unpackhi_epi8
#define UNPACK_LOW16 _mm256_unpacklo_epi16
#define UNPACK_HIGH16 _mm256_unpackhi_epi16
#define UNPACK_LOW32 _mm256_unpacklo_epi32
#define UNPACK_HIGH32 _mm256_unpackhi_epi32
#define LOAD_WORDS(p) _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(p)))
#define LOAD_ROW(p) REPEAT(_mm_loadu_si128((const __m128i *)(p)))
#define TWO(p, q)                                                                                                             \
	_mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(p))), _mm_loadu_si128((const __m128i *)(q)), 1)
#define LOAD_BLOCKS(p) TWO(p, (p) + HJ_BLOCK)
#define STORE_BLOCKS(p, v)                                                                                                    \
	do {                                                                                                                   \
		_mm_storeu_si128((__m128i *)(p), _mm256_castsi256_si128(v));                                                   \
		_mm_storeu_si128((__m128i *)((p) + HJ_BLOCK), _mm256_extracti128_si256(v, 1));                                 \
	} while (0)
// Two rows of two blocks become two rows.
#define STORE_SAMPLES(v, to, stride)                                                                                          \
	for (int i = 0; i < 4; i++) {                                                                                          \
		const V rows = IN_ORDER(v[i]);                                                                                 \
		_mm_storeu_si128((__m128i *)((to) + 2 * i * (stride)), _mm256_castsi256_si128(rows));                          \
		_mm_storeu_si128((__m128i *)((to) + (2 * i + 1) * (stride)), _mm256_extracti128_si256(rows, 1));               \
	}
#define STORE_THREE(p, a, b, c)                                                                                               \
	do {                                                                                                                   \
		STORE(p, _mm256_permute2x128_si256(a, b, 0x20));                                                               \
		STORE((p) + 32, _mm256_permute2x128_si256(c, a, 0x30));                                                        \
		STORE((p) + 64, _mm256_permute2x128_si256(b, c, 0x31));                                                        \
	} while (0)

#include "kernels_x86.h"
#include "kernels_simd.h"

const hj_kernels hj_avx2 = {"avx2", hj_keep_bmi2, hj_skip_bmi2, hj_dc_bmi2, hj_dc_bit_bmi2, hj_ac_bmi2, hj_ac_bit_bmi2, transform, {transform4, transform2, hj_transform1}, across, both, down, ycc};
#else
typedef int nothing;
#endif
