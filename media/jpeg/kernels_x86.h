// What SSE4.1 and AVX2 compute alike, for the text of kernels_simd.h.

#define PAIR(a, b) SET1((int32_t)((uint32_t)(b) << 16 | ((a) & 0xFFFF)))
#define PRODUCTS_LOW(a, b, times_a, times_b) MADD(UNPACK_LOW16(a, b), PAIR(times_a, times_b))
#define PRODUCTS_HIGH(a, b, times_a, times_b) MADD(UNPACK_HIGH16(a, b), PAIR(times_a, times_b))
#define SQUARES(a) MADD(a, a)
#define TWICE_HIGH(a, factor) MULTIPLY_HIGH(ADD16(a, a), SET16(factor))

// Puts pixels out of their three colours.
TARGET static inline __attribute__((always_inline)) void store_pixels(uint8_t *rgb, V reds, V greens, V blues) {
#define PLACES(a, b, c)                                                                                                         \
	OR(OR(SHUFFLE(reds, REPEAT(_mm_setr_epi8 a)), SHUFFLE(greens, REPEAT(_mm_setr_epi8 b))), SHUFFLE(blues, REPEAT(_mm_setr_epi8 c)))
	const V first = PLACES((0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5), (-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1),
	                       (-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1));
	const V second = PLACES((-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1), (5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10),
	                        (-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1));
	const V third = PLACES((-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1), (-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1),
	                       (10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15));
#undef PLACES
	STORE_THREE(rgb, first, second, third);
}
#define STORE_PIXELS store_pixels
