// The kernels that AVX2 and AVX-512 have in common. Whoever includes it defines vectors
// of LANES numbers: V of integers, F of floats, M what a comparison gives, and what is
// done with them.
//
// Pixels are handled in groups of LANES. Of a group, R and G lie in the lower and the
// upper halves of one vector's numbers, B and G in another's.

typedef struct {
	V rg, bg;
} group;

#define INLINE TARGET static inline __attribute__((always_inline))

// Calls work(pixel) for each group; the rest of a row is worked on in a copy, so that
// nothing beyond it is touched.
#define EACH_GROUP(rgb, pixels, work)                                                                                      \
	do {                                                                                                               \
		for (; pixels >= LANES; pixels -= LANES, rgb += 3 * LANES)                                                 \
			work(rgb);                                                                                         \
		if (pixels > 0) {                                                                                          \
			uint8_t rest[3 * LANES] = {0};                                                                     \
			memcpy(rest, rgb, 3 * pixels);                                                                     \
			work(rest);                                                                                        \
			memcpy(rgb, rest, 3 * pixels);                                                                     \
		}                                                                                                          \
	} while (0)

INLINE group load_group(const uint8_t *rgb) {
	V bytes = LOAD_RGB(rgb);
	return (group){TO_RG(bytes), TO_BG(bytes)};
}

// The weight of G is twice 19235, because the factors of madd have signs.
INLINE V lightness_of(group p) {
	V sum = ADD(MADD(p.rg, SET1(19235 << 16 | 19595)), MADD(p.bg, SET1(19235 << 16 | 7471)));
	return SHIFT_RIGHT(ADD(sum, SET1(1 << 15)), 16);
}

INLINE V red(group p) { return AND(p.rg, SET1(0xff)); }
INLINE V green(group p) { return SHIFT_RIGHT(p.rg, 16); }
INLINE V blue(group p) { return AND(p.bg, SET1(0xff)); }

INLINE V pack_rgb(V r, V g, V b) { return OR(r, OR(SHIFT_LEFT(g, 8), SHIFT_LEFT(b, 16))); }

// from + factor · (to - from), of which the product is rounded before the sum is.
INLINE V blended(F from, F to, F factor) {
	F product = MULF(factor, SUBF(to, from));
	KEEP(product);
	return TO_INT(MAXF(MINF(ADDF(from, product), SET1F(255)), SET1F(0)));
}

INLINE void saturate_group(F factor, uint8_t *rgb) {
	group p = load_group(rgb);
	F l = TO_FLOAT(lightness_of(p));
	STORE_RGB(rgb, pack_rgb(blended(l, TO_FLOAT(red(p)), factor), blended(l, TO_FLOAT(green(p)), factor),
	                          blended(l, TO_FLOAT(blue(p)), factor)));
}

TARGET static void saturate(float factor, uint8_t *rgb, int pixels) {
	F f = SET1F(factor);
#define WORK(at) saturate_group(f, at)
	EACH_GROUP(rgb, pixels, WORK);
#undef WORK
}

// Sixths of the circle, where most is the greatest channel and missing what the middle
// one lacks of the way to it. Each sum is rounded once: where hues fall on a whole
// number, rounding decides.
INLINE F sixths(F r, F g, F b, F most, F missing) {
	M is_r = EQUAL(r, most), is_b = NOT_M(OR_M(is_r, EQUAL(g, most)));
	M up = LESS_OR_EQUAL(SELECT(is_b, r, b), SELECT(OR_M(is_r, is_b), g, r));
	F base = SELECT(is_b, SET1F(3), SET1F(1));
	F other = ADDF(base, SELECT(is_r, SET1F(-2), SET1F(2)));
	return ADDF(SELECT(up, base, other), SELECT(XOR_M(is_r, up), missing, SUBF(SET1F(0), missing)));
}

// Everything here is exact in float32 but for the quotients, whose rounding is the
// definition's.
INLINE void turn_group(F by, uint8_t *rgb) {
	group p = load_group(rgb);
	F r = TO_FLOAT(red(p)), g = TO_FLOAT(green(p)), b = TO_FLOAT(blue(p));
	F most = MAXF(MAXF(r, g), b), least = MINF(MINF(r, g), b), one = SET1F(1);
	F middle = SUBF(SUBF(ADDF(ADDF(r, g), b), most), least), span = SUBF(most, least);
	F x = sixths(r, g, b, most, DIVF(SUBF(most, middle), MAXF(span, one)));
	// x / 6, by multiplication with the inverse and what that lacks.
	const float sixth_of_one = 1.0f / 6, lacks = (float)(1.0 / 6 - (double)sixth_of_one);
	F circle = FMADD(x, SET1F(sixth_of_one), MULF(x, SET1F(lacks)));
	circle = SELECT(LESS(circle, SET1F(0)), ADDF(circle, one), circle);
	F h = ADDF(TRUNC(MULF(circle, SET1F(255))), by);
	h = SELECT(LESS(h, SET1F(256)), h, SUBF(h, SET1F(256)));
	F s = TRUNC(DIVF(MULF(span, SET1F(255)), MAXF(most, one)));
	// Quotients by 255 that shall be rounded down are taken in the middle between two,
	// where rounding errors do no harm.
	const float part = 1.0f / 255, half_part = 0.5f / 255;
	F six_h = MULF(h, SET1F(6)), sixth = TRUNC(FMADD(six_h, SET1F(part), SET1F(half_part)));
	F rest = FNMADD(sixth, SET1F(255), six_h);
	V i = TO_INT(sixth);
	rest = SELECT(IS_ODD(i), rest, SUBF(SET1F(255), rest));
	F value = FMADD(most, FNMADD(s, rest, SET1F(65025)), SET1F(32512));
	V between = TO_INT(MULF(value, SET1F(1.0f / 65025)));
	value = FMADD(most, SUBF(SET1F(255), s), SET1F(127));
	V lowest = TO_INT(FMADD(value, SET1F(part), SET1F(half_part)));
	// Which of the three a channel gets in each sixth; the seventh is the first again.
	V order = PERMUTE(SET8(0x03020100, 0x03020001, 0x03010002, 0x03000102, 0x03000201, 0x03010200, 0x03020100, 0), i);
	order = OR(order, REPEAT4(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
	STORE_RGB(rgb, SHUFFLE(pack_rgb(TO_INT(most), between, lowest), order));
}

TARGET static void turn(uint8_t by, uint8_t *rgb, int pixels) {
	F f = SET1F(by);
#define WORK(at) turn_group(f, at)
	EACH_GROUP(rgb, pixels, WORK);
#undef WORK
}

INLINE void grayscale_group(uint8_t *rgb) {
	V l = lightness_of(load_group(rgb));
	STORE_RGB(rgb, pack_rgb(l, l, l));
}

TARGET static void grayscale(uint8_t *rgb, int pixels) { EACH_GROUP(rgb, pixels, grayscale_group); }

TARGET static void to_gray(const uint8_t *rgb, uint8_t *gray, int pixels) {
	for (; pixels >= LANES; pixels -= LANES, rgb += 3 * LANES, gray += LANES)
		STORE_GRAY(gray, lightness_of(load_group(rgb)));
	if (pixels > 0) {
		uint8_t rest[3 * LANES] = {0};
		memcpy(rest, rgb, 3 * pixels);
		STORE_GRAY(rest, lightness_of(load_group(rest)));
		memcpy(gray, rest, pixels);
	}
}

TARGET static uint64_t lightness(const uint8_t *rgb, int pixels) {
	V sums = SET1(0); // a row has fewer pixels than would make one of them too large
	for (; pixels >= LANES; pixels -= LANES, rgb += 3 * LANES)
		sums = ADD(sums, lightness_of(load_group(rgb)));
	if (pixels > 0) {
		uint8_t rest[3 * LANES] = {0};
		memcpy(rest, rgb, 3 * pixels);
		sums = ADD(sums, lightness_of(load_group(rest)));
	}
	uint32_t each[LANES];
	STORE(each, sums);
	uint64_t sum = 0;
	for (int i = 0; i < LANES; i++)
		sum += each[i];
	return sum;
}
