// The kernels for SSE4.1 and AVX2 are one text, included twice. The includer defines LANES (the number of 128-bit lanes), the
// type V, and the operations on it; lanes are independent of each other in all of them.
//
// Products are exact in 16-bit multiplications because a weight is split in two: weight = high·2¹⁵ + low, with 0 ≤ low < 2¹⁵.

typedef struct {
	V low01, high01, low23, high23; // weights of four taps, the pairs repeated for R, G and B; one output pixel per lane
} quad;

static size_t packed(const hr_axis *x) {
	return sizeof(quad) * ((x->n + LANES - 1) / LANES) * ((x->taps + 3) / 4);
}

static void pack(const hr_axis *x, void *p) {
	int quads = (x->taps + 3) / 4;
	memset(p, 0, packed(x));
	for (int i = 0; i < x->n; i++) {
		const hr_span s = x->spans[i];
		quad *to = (quad *)p + (ptrdiff_t)(i / LANES) * quads;
		for (int k = 0; k < s.len; k++) {
			int32_t w = x->weights[s.at + k];
			int16_t *low = (int16_t *)(k & 2 ? &to[k / 4].low23 : &to[k / 4].low01) + i % LANES * 8 + (k & 1);
			int16_t *high = (int16_t *)(k & 2 ? &to[k / 4].high23 : &to[k / 4].high01) + i % LANES * 8 + (k & 1);
			for (int c = 0; c < 3; c++) {
				low[2 * c] = w & 0x7FFF;
				high[2 * c] = w >> 15;
			}
		}
	}
}

TARGET static void rows(const hr_axis *x, const void *p, const uint8_t *const *src, uint8_t *const *dst, int n) {
	const V pick01 = REPEAT(_mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
	const V pick23 = REPEAT(_mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
	const int quads = (x->taps + 3) / 4;
	const quad *q = p;
	for (int i = 0; i < x->n; i += LANES, q += quads) {
		ptrdiff_t at = (ptrdiff_t)(x->spans[i].start - x->lo) * 3;
		ptrdiff_t at2 = LANES == 2 && i + 1 < x->n ? (ptrdiff_t)(x->spans[i + 1].start - x->lo) * 3 : at;
		for (int row = 0; row < n; row++) {
			V low = SET1(HR_HALF), high = ZERO();
			for (int k = 0; k < quads; k++) {
				V in = LOAD_PIXELS(src[row] + at + 12 * k, src[row] + at2 + 12 * k);
				V a = SHUFFLE(in, pick01), b = SHUFFLE(in, pick23);
				low = ADD(low, ADD(MADD(a, q[k].low01), MADD(b, q[k].low23)));
				high = ADD(high, ADD(MADD(a, q[k].high01), MADD(b, q[k].high23)));
			}
			V sum = SHIFT_RIGHT(ADD(low, SHIFT_LEFT(high, 15)), HR_BITS);
			V bytes = PACK8(PACK16(sum, sum), PACK16(sum, sum)); // 4 bytes per lane
			STORE_PIXELS(dst[row] + 3 * i, bytes);
		}
	}
}

TARGET static void column(uint8_t *dst, int bytes, const uint8_t *const *rows, const int32_t *weights, int taps) {
	enum { step = 16 * LANES };
	for (int at = 0; at < bytes; at += step) {
		V low0 = SET1(HR_HALF), low1 = low0, low2 = low0, low3 = low0;
		V high0 = ZERO(), high1 = high0, high2 = high0, high3 = high0;
		for (int k = 0; k < taps; k += 2) {
			int pair = k + 1 < taps;
			int32_t w = weights[k], w2 = pair ? weights[k + 1] : 0;
			V wl = SET1((int32_t)((uint32_t)(w2 & 0x7FFF) << 16 | (w & 0x7FFF)));
			V wh = SET1((int32_t)((uint32_t)(w2 >> 15) << 16 | ((w >> 15) & 0xFFFF)));
			V a = LOAD(rows[k] + at), b = LOAD(rows[k + pair] + at);
			V ab = UNPACK_LOW8(a, b), ab2 = UNPACK_HIGH8(a, b);
			V v0 = UNPACK_LOW8(ab, ZERO()), v1 = UNPACK_HIGH8(ab, ZERO());
			V v2 = UNPACK_LOW8(ab2, ZERO()), v3 = UNPACK_HIGH8(ab2, ZERO());
			low0 = ADD(low0, MADD(v0, wl)), high0 = ADD(high0, MADD(v0, wh));
			low1 = ADD(low1, MADD(v1, wl)), high1 = ADD(high1, MADD(v1, wh));
			low2 = ADD(low2, MADD(v2, wl)), high2 = ADD(high2, MADD(v2, wh));
			low3 = ADD(low3, MADD(v3, wl)), high3 = ADD(high3, MADD(v3, wh));
		}
#define SUM(low, high) SHIFT_RIGHT(ADD(low, SHIFT_LEFT(high, 15)), HR_BITS)
		V out = PACK8(PACK16(SUM(low0, high0), SUM(low1, high1)), PACK16(SUM(low2, high2), SUM(low3, high3)));
#undef SUM
		if (bytes - at >= step) {
			STORE(dst + at, out);
		} else {
			uint8_t tail[step];
			STORE(tail, out);
			memcpy(dst + at, tail, bytes - at);
		}
	}
}

// For rows of one channel: the weights of eight taps, one output pixel per lane. Four times as many pixels as there are lanes are computed at
// once; a lane has four of them that stand side by side.
typedef struct {
	V low, high;
} octet;

enum { bundle = 4 * LANES };

static size_t packed1(const hr_axis *x) {
	return sizeof(octet) * 4 * ((x->n + bundle - 1) / bundle) * ((x->taps + 7) / 8);
}

static void pack1(const hr_axis *x, void *p) {
	int octets = (x->taps + 7) / 8;
	memset(p, 0, packed1(x));
	for (int i = 0; i < x->n; i++) {
		const hr_span s = x->spans[i];
		int lane = i % bundle / 4;
		octet *to = (octet *)p + ((ptrdiff_t)(i / bundle) * 4 + i % 4) * octets;
		for (int k = 0; k < s.len; k++) {
			int32_t w = x->weights[s.at + k];
			((int16_t *)&to[k / 8].low)[lane * 8 + k % 8] = w & 0x7FFF;
			((int16_t *)&to[k / 8].high)[lane * 8 + k % 8] = w >> 15;
		}
	}
}

TARGET static void rows1(const hr_axis *x, const void *p, const uint8_t *const *src, uint8_t *const *dst, int n) {
	const int octets = (x->taps + 7) / 8, last = x->n - 1;
	const octet *q = p;
	for (int i = 0; i < x->n; i += bundle, q += 4 * octets) {
		ptrdiff_t at[4], at2[4];
		for (int j = 0; j < 4; j++) {
			int a = i + j, b = i + 4 * (LANES - 1) + j;
			at[j] = x->spans[a < last ? a : last].start - x->lo;
			at2[j] = x->spans[b < last ? b : last].start - x->lo;
		}
		for (int row = 0; row < n; row++) {
			V low[4], high[4];
			for (int j = 0; j < 4; j++) {
				low[j] = high[j] = ZERO();
				for (int k = 0; k < octets; k++) {
					V in = LOAD_WIDE(src[row] + at[j] + 8 * k, src[row] + at2[j] + 8 * k);
					low[j] = ADD(low[j], MADD(in, q[j * octets + k].low));
					high[j] = ADD(high[j], MADD(in, q[j * octets + k].high));
				}
			}
			V l = ADD_PAIRS(ADD_PAIRS(low[0], low[1]), ADD_PAIRS(low[2], low[3]));
			V h = ADD_PAIRS(ADD_PAIRS(high[0], high[1]), ADD_PAIRS(high[2], high[3]));
			V sum = SHIFT_RIGHT(ADD(ADD(l, SET1(HR_HALF)), SHIFT_LEFT(h, 15)), HR_BITS);
			V bytes = PACK8(PACK16(sum, sum), PACK16(sum, sum)); // 4 bytes per lane
			STORE_FOURS(dst[row] + i, bytes);
		}
	}
}

// Sixteen pixels: bytes of R, G and B become RGB.
TARGET static inline void interleave(__m128i r, __m128i g, __m128i b, uint8_t *rgb) {
#define PICK(v, ...) _mm_shuffle_epi8(v, _mm_setr_epi8(__VA_ARGS__))
	__m128i first = _mm_or_si128(_mm_or_si128(PICK(r, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5),
	                                          PICK(g, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1)),
	                             PICK(b, -1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1));
	__m128i second = _mm_or_si128(_mm_or_si128(PICK(r, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1),
	                                           PICK(g, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10)),
	                              PICK(b, -1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1));
	__m128i third = _mm_or_si128(_mm_or_si128(PICK(r, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1),
	                                          PICK(g, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1)),
	                             PICK(b, 10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15));
#undef PICK
	_mm_storeu_si128((__m128i *)rgb, first);
	_mm_storeu_si128((__m128i *)(rgb + 16), second);
	_mm_storeu_si128((__m128i *)(rgb + 32), third);
}

TARGET static inline void ycc16(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *rgb) {
	V r[2 / LANES], g[2 / LANES], b[2 / LANES];
	for (int i = 0; i < 2 / LANES; i++) {
		V l = ADD16(SHIFT_LEFT16(LOAD_WORDS(y + 8 * i), HR_YCC_BITS), SET16(1 << (HR_YCC_BITS - 1)));
		V blue = SUB16(SHIFT_LEFT16(LOAD_WORDS(cb + 8 * i), HR_YCC_BITS), SET16(128 << HR_YCC_BITS));
		V red = SUB16(SHIFT_LEFT16(LOAD_WORDS(cr + 8 * i), HR_YCC_BITS), SET16(128 << HR_YCC_BITS));
		r[i] = SHIFT_RIGHT16(ADD16(ADD16(l, red), TIMES(red, SET16(HR_CR_R))), HR_YCC_BITS);
		g[i] = SHIFT_RIGHT16(SUB16(SUB16(l, TIMES(blue, SET16(HR_CB_G))), TIMES(red, SET16(HR_CR_G))), HR_YCC_BITS);
		b[i] = SHIFT_RIGHT16(ADD16(ADD16(l, blue), TIMES(blue, SET16(HR_CB_B))), HR_YCC_BITS);
	}
	interleave(WORDS_TO_BYTES(r), WORDS_TO_BYTES(g), WORDS_TO_BYTES(b), rgb);
}

TARGET static void ycc(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *rgb, int pixels) {
	for (int i = 0; i < pixels; i += 16) {
		if (pixels - i >= 16) {
			ycc16(y + i, cb + i, cr + i, rgb + 3 * i);
			continue;
		}
		uint8_t tail[48];
		ycc16(y + i, cb + i, cr + i, tail);
		memcpy(rgb + 3 * i, tail, 3 * (pixels - i));
	}
}
