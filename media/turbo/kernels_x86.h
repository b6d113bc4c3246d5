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
