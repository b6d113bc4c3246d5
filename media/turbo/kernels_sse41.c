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
#define LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define ADD _mm_add_epi32
#define MADD _mm_madd_epi16
#define SHUFFLE _mm_shuffle_epi8
#define SHIFT_LEFT _mm_slli_epi32
#define SHIFT_RIGHT _mm_srai_epi32
#define PACK16 _mm_packs_epi32
#define PACK8 _mm_packus_epi16
#define UNPACK_LOW8 _mm_unpacklo_epi8
#define UNPACK_HIGH8 _mm_unpackhi_epi8
#define LOAD_PIXELS(p, q) ((void)(q), LOAD(p))
#define STORE_PIXELS(p, v)                                                                                                 \
	do {                                                                                                               \
		int32_t pixel = _mm_cvtsi128_si32(v);                                                                      \
		memcpy(p, &pixel, 4);                                                                                      \
	} while (0)
#define STORE_FOURS(p, v)                                                                                                  \
	do {                                                                                                               \
		int32_t four = _mm_cvtsi128_si32(v);                                                                       \
		memcpy(p, &four, 4);                                                                                       \
	} while (0)
#define LOAD_WORDS(p) _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(p)))
#define SET16 _mm_set1_epi16
#define ADD16 _mm_add_epi16
#define SUB16 _mm_sub_epi16
#define TIMES _mm_mulhrs_epi16
#define SHIFT_LEFT16 _mm_slli_epi16
#define SHIFT_RIGHT16 _mm_srai_epi16
#define WORDS_TO_BYTES(v) _mm_packus_epi16((v)[0], (v)[1])

#include "kernels_x86.h"

const hr_kernels hr_sse41 = {"sse4.1", packed, pack, rows, column, packed1, pack1, rows1, ycc};
#endif
