#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include "kernels.h"

#define TARGET __attribute__((target("avx2")))
#define LANES 2
#define V __m256i
#define REPEAT(v) _mm256_broadcastsi128_si256(v)
#define ZERO() _mm256_setzero_si256()
#define SET1(x) _mm256_set1_epi32(x)
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define ADD _mm256_add_epi32
#define MADD _mm256_madd_epi16
#define SHUFFLE _mm256_shuffle_epi8
#define SHIFT_LEFT _mm256_slli_epi32
#define SHIFT_RIGHT _mm256_srai_epi32
#define PACK16 _mm256_packs_epi32
#define PACK8 _mm256_packus_epi16
#define UNPACK_LOW8 _mm256_unpacklo_epi8
#define UNPACK_HIGH8 _mm256_unpackhi_epi8
#define LOAD_PIXELS(p, q)                                                                                                  \
	_mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(p))),                             \
	                        _mm_loadu_si128((const __m128i *)(q)), 1)
#define STORE_PIXELS(p, v)                                                                                                 \
	do {                                                                                                               \
		int32_t pixel = _mm256_cvtsi256_si32(v), pixel2 = _mm256_extract_epi32(v, 4);                              \
		memcpy(p, &pixel, 4);                                                                                      \
		memcpy((p) + 3, &pixel2, 4);                                                                               \
	} while (0)
#define STORE_FOURS(p, v)                                                                                                  \
	do {                                                                                                               \
		int32_t four = _mm256_cvtsi256_si32(v), four2 = _mm256_extract_epi32(v, 4);                                \
		memcpy(p, &four, 4);                                                                                       \
		memcpy((p) + 4, &four2, 4);                                                                                \
	} while (0)
#define LOAD_WORDS(p) _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(p)))
#define SET16 _mm256_set1_epi16
#define ADD16 _mm256_add_epi16
#define SUB16 _mm256_sub_epi16
#define TIMES _mm256_mulhrs_epi16
#define SHIFT_LEFT16 _mm256_slli_epi16
#define SHIFT_RIGHT16 _mm256_srai_epi16
#define WORDS_TO_BYTES(v) _mm_packus_epi16(_mm256_castsi256_si128((v)[0]), _mm256_extracti128_si256((v)[0], 1))

#include "kernels_x86.h"

const hr_kernels hr_avx2 = {"avx2", packed, pack, rows, column, packed1, pack1, rows1, ycc};
#endif
