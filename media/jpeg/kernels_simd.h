// The kernels for SSE4.1, AVX2 and NEON are one text. The includer defines LANES (the
// number of 128-bit lanes), the type V, and the operations on it; lanes are independent
// of each other in all of them. A lane holds a block. PRODUCTS_LOW and PRODUCTS_HIGH are
// a times one factor plus b times another, in 32 bits, of either half of the lanes.

// One half of the transform, of all columns at once: row i of the block is in[i]. few:
// rows from the fourth on are zero. few_across: so are columns.
#define SUMS(half, part)                                                                                                       \
	{                                                                                                                      \
		V odd0 = PRODUCTS_##half(in[1], in[3], HJ_31, HJ_33), odd1 = PRODUCTS_##half(in[1], in[3], HJ_21, HJ_23);      \
		V odd2 = PRODUCTS_##half(in[1], in[3], HJ_11, HJ_13), odd3 = PRODUCTS_##half(in[1], in[3], HJ_01, HJ_03);      \
		const V fourth = few ? ZERO() : in[4], sixth = few ? ZERO() : in[6];                                           \
		if (!few) {                                                                                                    \
			odd0 = ADD(odd0, PRODUCTS_##half(in[5], in[7], HJ_35, HJ_37));                                         \
			odd1 = ADD(odd1, PRODUCTS_##half(in[5], in[7], HJ_25, HJ_27));                                         \
			odd2 = ADD(odd2, PRODUCTS_##half(in[5], in[7], HJ_15, HJ_17));                                         \
			odd3 = ADD(odd3, PRODUCTS_##half(in[5], in[7], HJ_05, HJ_07));                                         \
		}                                                                                                              \
		const V sum = ADD(PRODUCTS_##half(in[0], fourth, 8192, 8192), rounding);                                       \
		const V difference = few ? sum : ADD(PRODUCTS_##half(in[0], fourth, 8192, -8192), rounding);                   \
		const V outer = PRODUCTS_##half(in[2], sixth, HJ_E2, HJ_E6), inner = PRODUCTS_##half(in[2], sixth, HJ_E6, HJ_E62); \
		const V even0 = ADD(sum, outer), even1 = ADD(difference, inner);                                               \
		const V even2 = SUB(difference, inner), even3 = SUB(sum, outer);                                               \
		part[0] = SHIFT_RIGHT(ADD(even0, odd0), shift), part[7] = SHIFT_RIGHT(SUB(even0, odd0), shift);                \
		part[1] = SHIFT_RIGHT(ADD(even1, odd1), shift), part[6] = SHIFT_RIGHT(SUB(even1, odd1), shift);                \
		part[2] = SHIFT_RIGHT(ADD(even2, odd2), shift), part[5] = SHIFT_RIGHT(SUB(even2, odd2), shift);                \
		part[3] = SHIFT_RIGHT(ADD(even3, odd3), shift), part[4] = SHIFT_RIGHT(SUB(even3, odd3), shift);                \
	}

TARGET static inline __attribute__((always_inline)) void half(V *in, const int shift, const int few, const int few_across) {
	const V rounding = SET1(1 << (shift - 1));
	V low[8], high[8];
	SUMS(LOW, low)
	if (few_across) {
		for (int i = 0; i < 8; i++)
			in[i] = PACK16(low[i], ZERO());
		return;
	}
	SUMS(HIGH, high)
	for (int i = 0; i < 8; i++)
		in[i] = PACK16(low[i], high[i]);
}

// Exchanges rows and columns of each lane.
TARGET static inline __attribute__((always_inline)) void transpose(V *v) {
	V a[8], b[8];
	for (int i = 0; i < 4; i++) {
		a[2 * i] = UNPACK_LOW16(v[i], v[i + 4]);
		a[2 * i + 1] = UNPACK_HIGH16(v[i], v[i + 4]);
	}
	for (int i = 0; i < 4; i++) {
		b[2 * i] = UNPACK_LOW16(a[i], a[i + 4]);
		b[2 * i + 1] = UNPACK_HIGH16(a[i], a[i + 4]);
	}
	for (int i = 0; i < 4; i++) {
		v[2 * i] = UNPACK_LOW16(b[i], b[i + 4]);
		v[2 * i + 1] = UNPACK_HIGH16(b[i], b[i + 4]);
	}
}

// Turns columns of 16 bits into samples: v[i] gets rows 2i and 2i+1.
TARGET static inline __attribute__((always_inline)) void samples(V *v) {
	const V level = SET1(0x80808080);
	const V v04 = XOR(PACK8S(v[0], v[4]), level), v15 = XOR(PACK8S(v[1], v[5]), level);
	const V v26 = XOR(PACK8S(v[2], v[6]), level), v37 = XOR(PACK8S(v[3], v[7]), level);
	const V v01 = UNPACK_LOW8(v04, v15), v45 = UNPACK_HIGH8(v04, v15);
	const V v23 = UNPACK_LOW8(v26, v37), v67 = UNPACK_HIGH8(v26, v37);
	const V upper = UNPACK_LOW16(v01, v23), upper2 = UNPACK_LOW16(v45, v67);
	const V lower = UNPACK_HIGH16(v01, v23), lower2 = UNPACK_HIGH16(v45, v67);
	v[0] = UNPACK_LOW32(upper, upper2), v[1] = UNPACK_HIGH32(upper, upper2);
	v[2] = UNPACK_LOW32(lower, lower2), v[3] = UNPACK_HIGH32(lower, lower2);
}

// Multiplies rows of blocks, and makes them zero. It adds to beyond what is beyond any
// picture.
#define MULTIPLY_ROWS(v, rows)                                                                                                 \
	V norm = ZERO(), beyond = ZERO();                                                                                      \
	for (int i = 0; i < (rows); i++) {                                                                                     \
		const V in = LOAD_BLOCKS(blocks + 8 * i);                                                                      \
		const V all = MULTIPLY(in, LOAD_ROW(q->step + 8 * i));                                                         \
		beyond = OR(beyond, SUBTRACT_TO_ZERO(ABSOLUTE(in), LOAD_ROW(q->limit + 8 * i)));                               \
		norm = ADD(norm, SQUARES(all));                                                                                \
		v[i] = all;                                                                                                    \
		STORE_BLOCKS(blocks + 8 * i, ZERO());                                                                          \
	}                                                                                                                      \
	norm = ADD(norm, SWAP_HALVES(norm));                                                                                   \
	norm = ADD(norm, SWAP_QUARTERS(norm));                                                                                 \
	beyond = OR(beyond, GREATER(norm, SET1(HJ_NORM * HJ_NORM)))

TARGET static inline __attribute__((always_inline)) int transform_rows(int16_t *blocks, const hj_quant *q, const int few, uint8_t *to, ptrdiff_t stride) {
	V v[8];
	MULTIPLY_ROWS(v, few ? 4 : 8);
	half(v, 11, few, few);
	transpose(v);
	half(v, 18, few, 0);
	samples(v);
	STORE_SAMPLES(v, to, stride);
	return IS_ZERO(beyond);
}

static int clamp(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }

// One half of the transform to four rows.
#define SUMS4(half, part)                                                                                                      \
	{                                                                                                                      \
		V even0 = ADD(PRODUCTS_##half(in[0], in[2], 16384, HJ_4E2), rounding);                                         \
		V even1 = ADD(PRODUCTS_##half(in[0], in[2], 16384, -HJ_4E2), rounding);                                        \
		V odd0 = PRODUCTS_##half(in[1], in[3], HJ_401, HJ_403), odd1 = PRODUCTS_##half(in[1], in[3], HJ_411, HJ_413);  \
		if (!few) {                                                                                                    \
			const V sixth = PRODUCTS_##half(in[5], in[6], 0, HJ_4E6);                                              \
			even0 = ADD(even0, sixth), even1 = SUB(even1, sixth);                                                  \
			odd0 = ADD(odd0, PRODUCTS_##half(in[5], in[7], HJ_405, HJ_407));                                       \
			odd1 = ADD(odd1, PRODUCTS_##half(in[5], in[7], HJ_415, HJ_417));                                       \
		}                                                                                                              \
		part[0] = SHIFT_RIGHT(ADD(even0, odd0), shift), part[3] = SHIFT_RIGHT(SUB(even0, odd0), shift);                \
		part[1] = SHIFT_RIGHT(ADD(even1, odd1), shift), part[2] = SHIFT_RIGHT(SUB(even1, odd1), shift);                \
	}

TARGET static inline __attribute__((always_inline)) void half4(V *in, const int shift, const int few, const int low_alone) {
	const V rounding = SET1(1 << (shift - 1));
	V low[4], high[4];
	SUMS4(LOW, low)
	if (low_alone) {
		for (int i = 0; i < 4; i++)
			in[i] = PACK16(low[i], ZERO());
		return;
	}
	SUMS4(HIGH, high)
	for (int i = 0; i < 4; i++)
		in[i] = PACK16(low[i], high[i]);
}

TARGET static inline __attribute__((always_inline)) int transform4_rows(int16_t *blocks, const hj_quant *q, const int few, uint8_t *to, ptrdiff_t stride) {
	V v[8];
	MULTIPLY_ROWS(v, few ? 4 : 8);
	half4(v, 12, few, few);
	for (int i = 4; i < 8; i++)
		v[i] = ZERO();
	transpose(v);
	half4(v, 19, few, 1);

	const V v01 = UNPACK_LOW16(v[0], v[1]), v23 = UNPACK_LOW16(v[2], v[3]);
	const V rows = XOR(PACK8S(UNPACK_LOW32(v01, v23), UNPACK_HIGH32(v01, v23)), SET1(0x80808080));
	uint8_t all[16 * LANES];
	STORE(all, rows);
	for (int i = 0; i < LANES; i++)
		for (int y = 0; y < 4; y++)
			memcpy(to + y * stride + 4 * i, all + 16 * i + 4 * y, 4);
	return IS_ZERO(beyond);
}

// Columns become two rows here; few are left for the other half.
TARGET static inline __attribute__((always_inline)) int transform2_rows(int16_t *blocks, const hj_quant *q, const int few, uint8_t *to, ptrdiff_t stride) {
	V v[8];
	MULTIPLY_ROWS(v, few ? 4 : 8);
	const V rounding = SET1(1 << 12);
#define SUMS2(half, sum, difference)                                                                                           \
	V sum, difference;                                                                                                     \
	{                                                                                                                      \
		const V first = ADD(PRODUCTS_##half(v[0], v[0], 16384, 16384), rounding);                                      \
		V odd = PRODUCTS_##half(v[1], v[3], HJ_21_1, HJ_21_3);                                                         \
		if (!few)                                                                                                      \
			odd = ADD(odd, PRODUCTS_##half(v[5], v[7], HJ_21_5, HJ_21_7));                                         \
		sum = SHIFT_RIGHT(ADD(first, odd), 13), difference = SHIFT_RIGHT(SUB(first, odd), 13);                         \
	}
	SUMS2(LOW, sum, difference)
	SUMS2(HIGH, sum_high, difference_high)
#undef SUMS2
	int16_t rows[2][8 * LANES];
	STORE(rows[0], PACK16(sum, sum_high));
	STORE(rows[1], PACK16(difference, difference_high));
	for (int i = 0; i < LANES; i++)
		for (int y = 0; y < 2; y++) {
			const int16_t *const r = rows[y] + 8 * i;
			const int first = r[0] * 32768 + (1 << 19), odd = r[1] * HJ_21_1 + r[3] * HJ_21_3 + r[5] * HJ_21_5 + r[7] * HJ_21_7;
			to[y * stride + 2 * i] = clamp(((first + odd) >> 20) + 128);
			to[y * stride + 2 * i + 1] = clamp(((first - odd) >> 20) + 128);
		}
	return IS_ZERO(beyond);
}

// A block with nothing but its mean.
TARGET static inline __attribute__((always_inline)) int flat(int16_t *block, const hj_quant *q, uint8_t *to, ptrdiff_t stride) {
	const int dc = block[0] * q->step[0];
	block[0] = 0;
	const uint64_t all = (uint64_t)clamp(((dc + 4) >> 3) + 128) * 0x0101010101010101;
	for (int i = 0; i < 8; i++)
		memcpy(to + i * stride, &all, 8);
	return dc >= -HJ_NORM && dc <= HJ_NORM;
}

TARGET static int transform(int16_t *blocks, const hj_quant *q, int last, uint8_t *to, ptrdiff_t stride) {
	int is_sound = 1;
	if (last == 0) {
		is_sound = flat(blocks, q, to, stride);
		return is_sound & flat(blocks + HJ_BLOCK, q, to + 8, stride);
	}
	for (int i = 0; i < 2; i += LANES)
		is_sound &= last <= HJ_CORNER ? transform_rows(blocks + i * HJ_BLOCK, q, 1, to + 8 * i, stride)
		                              : transform_rows(blocks + i * HJ_BLOCK, q, 0, to + 8 * i, stride);
	return is_sound;
}

// The same to blocks of 4×4 or 2×2 samples.
#define TRANSFORM_REDUCED(size)                                                                                                \
	TARGET static int transform##size(int16_t *blocks, const hj_quant *q, int last, uint8_t *to, ptrdiff_t stride) {       \
		int is_sound = 1;                                                                                              \
		if (last == 0) {                                                                                               \
			uint8_t means[2];                                                                                      \
			is_sound = hj_transform1(blocks, q, 0, means, 0);                                                      \
			for (int y = 0; y < size; y++) {                                                                       \
				memset(to + y * stride, means[0], size);                                                       \
				memset(to + y * stride + size, means[1], size);                                                \
			}                                                                                                      \
			return is_sound;                                                                                       \
		}                                                                                                              \
		for (int i = 0; i < 2; i += LANES)                                                                             \
			is_sound &= last <= HJ_CORNER ? transform##size##_rows(blocks + i * HJ_BLOCK, q, 1, to + size * i, stride) \
			                              : transform##size##_rows(blocks + i * HJ_BLOCK, q, 0, to + size * i, stride); \
		return is_sound;                                                                                               \
	}

TRANSFORM_REDUCED(4)
TRANSFORM_REDUCED(2)

// Kernels for planes work on words, 8 to a lane.
TARGET static void across(const uint8_t *in, uint8_t *out, int n) {
	for (int i = 0; i < n; i += 8 * LANES) {
		const V before = LOAD_WORDS(in + i - 1), here = LOAD_WORDS(in + i), after = LOAD_WORDS(in + i + 1);
		const V here3 = ADD16(here, ADD16(here, here));
		const V even = SHIFT16(ADD16(ADD16(here3, before), SET16(1)), 2), odd = SHIFT16(ADD16(ADD16(here3, after), SET16(2)), 2);
		STORE(out + 2 * i, OR(even, SHIFT_LEFT16(odd, 8)));
	}
}

#define SUM31(nearer, farther) ADD16(ADD16(nearer, ADD16(nearer, nearer)), farther)

TARGET static void both(const uint8_t *nearer, const uint8_t *farther, uint8_t *out, int n) {
	for (int i = 0; i < n; i += 8 * LANES) {
		const V before = SUM31(LOAD_WORDS(nearer + i - 1), LOAD_WORDS(farther + i - 1));
		const V here = SUM31(LOAD_WORDS(nearer + i), LOAD_WORDS(farther + i));
		const V after = SUM31(LOAD_WORDS(nearer + i + 1), LOAD_WORDS(farther + i + 1));
		const V even = SHIFT16(ADD16(SUM31(here, before), SET16(8)), 4), odd = SHIFT16(ADD16(SUM31(here, after), SET16(7)), 4);
		STORE(out + 2 * i, OR(even, SHIFT_LEFT16(odd, 8)));
	}
}

TARGET static void down(const uint8_t *nearer, const uint8_t *farther, uint8_t *out, int n, int is_lower) {
	for (int i = 0; i < n; i += 16 * LANES) {
		const V a = SHIFT16(ADD16(SUM31(LOAD_WORDS(nearer + i), LOAD_WORDS(farther + i)), SET16(1 + is_lower)), 2);
		const V b = SHIFT16(ADD16(SUM31(LOAD_WORDS(nearer + i + 8 * LANES), LOAD_WORDS(farther + i + 8 * LANES)), SET16(1 + is_lower)), 2);
		STORE(out + i, IN_ORDER(PACK8(a, b)));
	}
}

// Colours of 8 pixels to a lane, as words.
TARGET static inline __attribute__((always_inline)) void colours(V y, V blue, V red, V *r, V *g, V *b) {
	const V one = SET16(1), halves = SET1(32768), blue2 = ADD16(blue, blue);
	*r = ADD16(ADD16(y, red), SHIFT_RIGHT16(ADD16(TWICE_HIGH(red, HJ_CR_R), one), 1));
	*b = ADD16(ADD16(y, blue2), SHIFT_RIGHT16(ADD16(TWICE_HIGH(blue, HJ_CB_B), one), 1));
	const V low = SHIFT_RIGHT(ADD(PRODUCTS_LOW(blue, red, HJ_CB_G, HJ_CR_G), halves), 16);
	const V high = SHIFT_RIGHT(ADD(PRODUCTS_HIGH(blue, red, HJ_CB_G, HJ_CR_G), halves), 16);
	*g = ADD16(SUB16(y, red), PACK16(low, high));
}

TARGET static inline __attribute__((always_inline)) void pixels(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *rgb) {
	const V centre = SET16(128);
	V r[2], g[2], b[2];
	const V ys = LOAD(y), cbs = LOAD(cb), crs = LOAD(cr);
	colours(UNPACK_LOW8(ys, ZERO()), SUB16(UNPACK_LOW8(cbs, ZERO()), centre), SUB16(UNPACK_LOW8(crs, ZERO()), centre), &r[0], &g[0], &b[0]);
	colours(UNPACK_HIGH8(ys, ZERO()), SUB16(UNPACK_HIGH8(cbs, ZERO()), centre), SUB16(UNPACK_HIGH8(crs, ZERO()), centre), &r[1], &g[1], &b[1]);
	STORE_PIXELS(rgb, PACK8(r[0], r[1]), PACK8(g[0], g[1]), PACK8(b[0], b[1]));
}

TARGET static void ycc(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *rgb, int n) {
	enum { step = 16 * LANES };
	for (; n >= step; n -= step, y += step, cb += step, cr += step, rgb += 3 * step)
		pixels(y, cb, cr, rgb);
	if (n > 0) {
		uint8_t tail[3 * step];
		pixels(y, cb, cr, tail);
		memcpy(rgb, tail, 3 * (size_t)n);
	}
}
