// The kernels for SSE4.1 and AVX2 are one text, included twice. The includer defines
// LANES (the number of 128-bit lanes), the type V, and the operations on it; lanes are
// independent of each other in all of them.
//
// Products are exact in 16-bit multiplications because a weight is split in two: weight
// = high·2¹⁵ + low, with 0 ≤ low < 2¹⁵.

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

// For rows of one channel: four taps of four output pixels per lane, which stand side
// by side. pick01 and pick23 say which bytes of the lane's input the first and the
// second pair of them are.
typedef struct {
	V pick01, pick23, low01, high01, low23, high23;
} fours;

typedef struct {
	V fits; // all bits, or none
	fours four[];
} fours_of_axis;

enum { bundle = 4 * LANES };

// The input pixel with which the input of four output pixels begins: spans run one way,
// up or down.
static inline int first4(const hr_axis *x, int i) {
	int last = x->n - 1, a = x->spans[i < last ? i : last].start, b = x->spans[i + 3 < last ? i + 3 : last].start;
	return a < b ? a : b;
}

// Whether the input of every four pixels fits into a lane: up to a scale of four.
static int fits1(const hr_axis *x) {
	for (int i = 0; i < x->n; i++)
		if (x->spans[i].start - first4(x, i - i % 4) + 4 > 16)
			return 0;
	return 1;
}

static size_t packed1(const hr_axis *x) {
	if (!fits1(x))
		return sizeof(fours_of_axis);
	return sizeof(fours_of_axis) + sizeof(fours) * ((x->n + bundle - 1) / bundle) * ((x->taps + 3) / 4);
}

static void pack1(const hr_axis *x, void *p) {
	const int quads = (x->taps + 3) / 4;
	memset(p, 0, packed1(x));
	if (!fits1(x))
		return;
	memset(p, 255, sizeof(V));
	for (int i = 0; i < x->n; i++) {
		const hr_span s = x->spans[i];
		const int offset = s.start - first4(x, i - i % 4);
		fours *to = ((fours_of_axis *)p)->four + (ptrdiff_t)(i / bundle) * quads;
		for (int k = 0; k < quads * 4; k++) {
			const int32_t w = k < s.len ? x->weights[s.at + k] : 0;
			const int word = i % bundle * 2 + (k & 1); // of 16 bits
			fours *q = to + k / 4;
			uint8_t *pick = (uint8_t *)(k & 2 ? &q->pick23 : &q->pick01) + 2 * word;
			pick[0] = offset + k % 4;
			pick[1] = 0x80; // makes a zero
			((int16_t *)(k & 2 ? &q->low23 : &q->low01))[word] = w & 0x7FFF;
			((int16_t *)(k & 2 ? &q->high23 : &q->high01))[word] = w >> 15;
		}
	}
}

TARGET static void rows1(const hr_axis *x, const void *p, const uint8_t *const *src, uint8_t *const *dst, int n) {
	if (!*(const uint8_t *)p) { // stronger reductions are those of pictures that could not be decoded smaller: they are rare
		hr_plain.rows1(x, p, src, dst, n);
		return;
	}
	const int quads = (x->taps + 3) / 4;
	const fours *q = ((const fours_of_axis *)p)->four;
	for (int i = 0; i < x->n; i += bundle, q += quads) {
		const ptrdiff_t at = first4(x, i) - x->lo, at2 = first4(x, i + 4 * (LANES - 1)) - x->lo;
		for (int row = 0; row < n; row++) {
			V low = SET1(HR_HALF), high = ZERO();
			for (int k = 0; k < quads; k++) {
				V in = LOAD_PIXELS(src[row] + at + 4 * k, src[row] + at2 + 4 * k);
				V a = SHUFFLE(in, q[k].pick01), b = SHUFFLE(in, q[k].pick23);
				low = ADD(low, ADD(MADD(a, q[k].low01), MADD(b, q[k].low23)));
				high = ADD(high, ADD(MADD(a, q[k].high01), MADD(b, q[k].high23)));
			}
			V sum = SHIFT_RIGHT(ADD(low, SHIFT_LEFT(high, 15)), HR_BITS);
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
