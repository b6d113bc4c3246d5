// colours with AVX2. Included by convert.c.
#include <immintrin.h>

#define TARGET __attribute__((target("avx2"))) static inline

// interleave writes 16 pixels.
TARGET void interleave(__m128i red, __m128i green, __m128i blue, uint8_t *to) {
	static const int8_t order[9][16] = { // of each register's bytes in each 16 bytes of pixels
		{0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5},
		{-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1},
		{-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1},
		{-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1},
		{5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10},
		{-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1},
		{-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1},
		{-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1},
		{10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15},
	};
	const __m128i *o = (const __m128i *)order;
	for (int i = 0; i < 3; i++) {
		__m128i r = _mm_shuffle_epi8(red, _mm_loadu_si128(o + 3 * i)), g = _mm_shuffle_epi8(green, _mm_loadu_si128(o + 3 * i + 1)), b = _mm_shuffle_epi8(blue, _mm_loadu_si128(o + 3 * i + 2));
		_mm_storeu_si128((__m128i *)(to + 16 * i), _mm_or_si128(_mm_or_si128(r, g), b));
	}
}

// Two samples beside each other and their factors, which fit into 16 bits with a sign, as samples do once their middle is 0.
TARGET __m256i pair(int64_t first, int64_t second) { return _mm256_set1_epi32((int32_t)((uint32_t)(uint16_t)first | (uint32_t)second << 16)); }

// levels16 has a colour of 16 pixels, whose sums are in two halves of each lane.
TARGET __m256i levels16(__m256i low, __m256i high, __m256i bias, __m128i point) {
	return _mm256_packs_epi32(_mm256_sra_epi32(_mm256_add_epi32(low, bias), point), _mm256_sra_epi32(_mm256_add_epi32(high, bias), point));
}

TARGET __m256i bytes32(__m256i a, __m256i b) { return _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xd8); }

TARGET void colours_avx2(const hr_yuv_job *j, const uint16_t *y, const uint16_t *u, const uint16_t *v, uint8_t *to) {
	const int32_t middle = 1 << (j->depth + 3), luma = j->luma;
	const __m256i centre = _mm256_set1_epi16((int16_t)middle), zero = _mm256_setzero_si256();
	const __m256i of_red = pair(luma, j->red_v), of_blue = pair(luma, j->blue_u), of_green = pair(j->green_u, j->green_v), of_luma = pair(luma, 0);
	const __m256i red_bias = _mm256_set1_epi32((int32_t)(j->red + (luma + j->red_v) * middle));
	const __m256i green_bias = _mm256_set1_epi32((int32_t)(j->green + (luma + j->green_u + j->green_v) * middle));
	const __m256i blue_bias = _mm256_set1_epi32((int32_t)(j->blue + (luma + j->blue_u) * middle));
	const __m128i point = _mm_cvtsi32_si128(j->point);

	for (int at = 0; at < j->width; at += 32) {
		__m256i red[2], green[2], blue[2];
		for (int k = 0; k < 2; k++) {
			const int i = at + 16 * k;
			const __m256i l = _mm256_sub_epi16(_mm256_slli_epi16(_mm256_loadu_si256((const __m256i *)(y + i)), 4), centre);
			const __m256i b = _mm256_sub_epi16(_mm256_loadu_si256((const __m256i *)(u + i)), centre);
			const __m256i r = _mm256_sub_epi16(_mm256_loadu_si256((const __m256i *)(v + i)), centre);
			const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(l, zero), of_luma), high = _mm256_madd_epi16(_mm256_unpackhi_epi16(l, zero), of_luma);
			red[k] = levels16(_mm256_madd_epi16(_mm256_unpacklo_epi16(l, r), of_red), _mm256_madd_epi16(_mm256_unpackhi_epi16(l, r), of_red), red_bias, point);
			blue[k] = levels16(_mm256_madd_epi16(_mm256_unpacklo_epi16(l, b), of_blue), _mm256_madd_epi16(_mm256_unpackhi_epi16(l, b), of_blue), blue_bias, point);
			green[k] = levels16(_mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(b, r), of_green)),
			                    _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(b, r), of_green)), green_bias, point);
		}
		const __m256i r = bytes32(red[0], red[1]), g = bytes32(green[0], green[1]), b = bytes32(blue[0], blue[1]);
		const int left = j->width - at;
		uint8_t last[96], *out = left < 32 ? last : to + 3 * (ptrdiff_t)at;
		interleave(_mm256_castsi256_si128(r), _mm256_castsi256_si128(g), _mm256_castsi256_si128(b), out);
		interleave(_mm256_extracti128_si256(r, 1), _mm256_extracti128_si256(g, 1), _mm256_extracti128_si256(b, 1), out + 48);
		if (left < 32)
			memcpy(to + 3 * (ptrdiff_t)at, last, 3 * (size_t)left);
	}
}
