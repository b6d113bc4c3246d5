// Kernels for processors that permute bytes across a whole register and multiply bytes
// by fours (AVX-512 with VBMI and VNNI).
//
// vpdpbusd multiplies unsigned bytes by signed ones, so a weight is split into three
// signed digits: weight = d₂·2¹⁶ + d₁·2⁸ + d₀, each from −128 to 127. Three sums are
// kept and put together at the end: the result is exact.
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include "kernels.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")))
#define V __m512i

// Output pixels that share a register: as many as have their sums of 32 bits in it.
static inline int group_of(int channels) { return channels == 3 ? 5 : 16; }

// Four taps of a group of pixels.
typedef struct {
	uint8_t pick[64]; // byte of the input, counted from the group's first, for each product
	int8_t digit[3][64];
} quad;

// Sixteen taps of one pixel.
typedef struct {
	int8_t digit[3][16];
} sixteen;

static inline void split(int32_t w, int8_t digit[3]) {
	digit[0] = (int8_t)w;
	w = (w - digit[0]) >> 8;
	digit[1] = (int8_t)w;
	w = (w - digit[1]) >> 8;
	digit[2] = (int8_t)w;
}

static inline int first(const hr_axis *x, int i, int group) {
	int n = x->n - i < group ? x->n - i : group;
	int a = x->spans[i].start, b = x->spans[i + n - 1].start; // spans run one way, up or down
	return a < b ? a : b;
}

// Whether the input of every group fits into a register: up to a scale of about four.
static int fits(const hr_axis *x, int channels) {
	const int group = group_of(channels);
	for (int i = 0; i < x->n; i += group) {
		int n = x->n - i < group ? x->n - i : group;
		int width = x->spans[i].start - x->spans[i + n - 1].start;
		if (((width < 0 ? -width : width) + 4) * channels > 64)
			return 0;
	}
	return 1;
}

typedef struct {
	int32_t fits, quads, sixteens, unused[13];
} header;

static size_t packed_quads(const hr_axis *x, int channels) {
	const int group = group_of(channels);
	return sizeof(header) + sizeof(quad) * ((x->n + group - 1) / group) * ((x->taps + 3) / 4);
}

static size_t packed(const hr_axis *x) {
	if (fits(x, 3))
		return packed_quads(x, 3);
	return sizeof(header) + sizeof(sixteen) * x->n * ((x->taps + 15) / 16);
}

static void pack_quads(const hr_axis *x, quad *to, int quads, int channels) {
	const int group = group_of(channels);
	for (int i = 0; i < x->n; i++) {
		const hr_span s = x->spans[i];
		int offset = (s.start - first(x, i - i % group, group)) * channels;
		quad *q = to + (ptrdiff_t)(i / group) * quads;
		for (int k = 0; k < quads * 4; k++) {
			int8_t digit[3] = {0, 0, 0};
			if (k < s.len)
				split(x->weights[s.at + k], digit);
			for (int c = 0; c < channels; c++) {
				int lane = (i % group * channels + c) * 4 + k % 4;
				q[k / 4].pick[lane] = offset + k % 4 * channels + c;
				for (int d = 0; d < 3; d++)
					q[k / 4].digit[d][lane] = digit[d];
			}
		}
	}
}

static void pack_sixteens(const hr_axis *x, sixteen *to, int sixteens) {
	for (int i = 0; i < x->n; i++) {
		const hr_span s = x->spans[i];
		for (int k = 0; k < s.len; k++) {
			int8_t digit[3];
			split(x->weights[s.at + k], digit);
			for (int d = 0; d < 3; d++)
				to[i * sixteens + k / 16].digit[d][k % 16] = digit[d];
		}
	}
}

static void pack(const hr_axis *x, void *p) {
	memset(p, 0, packed(x));
	header *h = p;
	h->fits = fits(x, 3);
	h->quads = (x->taps + 3) / 4;
	h->sixteens = (x->taps + 15) / 16;
	if (h->fits)
		pack_quads(x, (quad *)(h + 1), h->quads, 3);
	else
		pack_sixteens(x, (sixteen *)(h + 1), h->sixteens);
}

TARGET static inline V together(V d0, V d1, V d2) {
	return _mm512_add_epi32(d0, _mm512_slli_epi32(_mm512_add_epi32(d1, _mm512_slli_epi32(d2, 8)), 8));
}

TARGET static inline __m128i to_bytes(V sum) {
	return _mm512_cvtusepi32_epi8(_mm512_max_epi32(_mm512_srai_epi32(sum, HR_BITS), _mm512_setzero_si512()));
}

// One group of pixels in four rows; most pictures need one step of four taps only, so
// that the loop over steps is known to be short.
TARGET static inline __attribute__((always_inline)) void rows_quads(const hr_axis *x, const quad *q, const int quads,
                                                                    const int channels, const uint8_t *const *src,
                                                                    uint8_t *const *dst, int n) {
	const int group = group_of(channels);
	for (int i = 0; i < x->n; i += group, q += quads) {
		ptrdiff_t at = (ptrdiff_t)(first(x, i, group) - x->lo) * channels;
		for (int row = 0; row < n; row++) {
			V d0 = _mm512_set1_epi32(HR_HALF), d1 = _mm512_setzero_si512(), d2 = d1;
			for (int k = 0; k < quads; k++) {
				V in = _mm512_permutexvar_epi8(_mm512_load_si512(q[k].pick),
				                               _mm512_loadu_si512(src[row] + at + 4 * channels * k));
				d0 = _mm512_dpbusd_epi32(d0, in, _mm512_load_si512(q[k].digit[0]));
				d1 = _mm512_dpbusd_epi32(d1, in, _mm512_load_si512(q[k].digit[1]));
				d2 = _mm512_dpbusd_epi32(d2, in, _mm512_load_si512(q[k].digit[2]));
			}
			_mm_storeu_si128((__m128i *)(dst[row] + channels * i), to_bytes(together(d0, d1, d2)));
		}
	}
}

TARGET static void rows_sixteens(const hr_axis *x, const sixteen *q, int sixteens, const uint8_t *const *src, uint8_t *const *dst,
                              int n) {
	// Lane c of 128 bits takes channel c of sixteen pixels; the fourth repeats the
	// third and is not used.
	uint8_t bytes[64];
	for (int i = 0; i < 64; i++)
		bytes[i] = i % 16 * 3 + (i / 16 < 2 ? i / 16 : 2);
	const V pick = _mm512_loadu_si512(bytes);
	const V gather = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	for (int i = 0; i < x->n; i++, q += sixteens) {
		ptrdiff_t at = (ptrdiff_t)(x->spans[i].start - x->lo) * 3;
		for (int row = 0; row < n; row++) {
			V d0 = _mm512_setzero_si512(), d1 = d0, d2 = d0;
			for (int k = 0; k < sixteens; k++) {
				V in = _mm512_permutexvar_epi8(pick, _mm512_loadu_si512(src[row] + at + 48 * k));
#define DIGIT(d) _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)q[k].digit[d]))
				d0 = _mm512_dpbusd_epi32(d0, in, DIGIT(0));
				d1 = _mm512_dpbusd_epi32(d1, in, DIGIT(1));
				d2 = _mm512_dpbusd_epi32(d2, in, DIGIT(2));
#undef DIGIT
			}
			V sum = together(d0, d1, d2);
			sum = _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_BADC));
			sum = _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_CDAB));
			sum = _mm512_add_epi32(_mm512_permutexvar_epi32(gather, sum), _mm512_set1_epi32(HR_HALF));
			int32_t pixel = _mm_cvtsi128_si32(to_bytes(sum));
			memcpy(dst[row] + 3 * i, &pixel, 4);
		}
	}
}

TARGET static void rows(const hr_axis *x, const void *p, const uint8_t *const *src, uint8_t *const *dst, int n) {
	const header *h = p;
	if (!h->fits)
		rows_sixteens(x, (const sixteen *)(h + 1), h->sixteens, src, dst, n);
	else if (h->quads == 1)
		rows_quads(x, (const quad *)(h + 1), 1, 3, src, dst, n);
	else
		rows_quads(x, (const quad *)(h + 1), h->quads, 3, src, dst, n);
}

// Weights of four taps, as digits for all lanes.
typedef struct {
	int32_t digit[3];
} four;

static inline four four_of(const int32_t *weights, int n) {
	four f = {{0, 0, 0}};
	for (int j = 0; j < n; j++) {
		int8_t digit[3];
		split(weights[j], digit);
		for (int d = 0; d < 3; d++)
			f.digit[d] |= (int32_t)((uint32_t)(uint8_t)digit[d] << 8 * j);
	}
	return f;
}

// Adds as many taps to a block of 64 bytes as there are weights in f; beyond the last,
// any row will do, as its weight is 0.
TARGET static inline __attribute__((always_inline)) void add_four(V a[4], V b[4], V c[4], const four *f, const uint8_t *const *rows,
                                                                  int n, ptrdiff_t at) {
	V in[4];
	for (int j = 0; j < 4; j++)
		in[j] = _mm512_loadu_si512(rows[j < n ? j : n - 1] + at);
	const V lo01 = _mm512_unpacklo_epi8(in[0], in[1]), hi01 = _mm512_unpackhi_epi8(in[0], in[1]);
	const V lo23 = _mm512_unpacklo_epi8(in[2], in[3]), hi23 = _mm512_unpackhi_epi8(in[2], in[3]);
	const V v[4] = {_mm512_unpacklo_epi16(lo01, lo23), _mm512_unpackhi_epi16(lo01, lo23), _mm512_unpacklo_epi16(hi01, hi23),
	                _mm512_unpackhi_epi16(hi01, hi23)};
	const V d0 = _mm512_set1_epi32(f->digit[0]), d1 = _mm512_set1_epi32(f->digit[1]), d2 = _mm512_set1_epi32(f->digit[2]);
	for (int i = 0; i < 4; i++) {
		a[i] = _mm512_dpbusd_epi32(a[i], v[i], d0);
		b[i] = _mm512_dpbusd_epi32(b[i], v[i], d1);
		c[i] = _mm512_dpbusd_epi32(c[i], v[i], d2);
	}
}

TARGET static void column(uint8_t *dst, int bytes, const uint8_t *const *rows, const int32_t *weights, int taps) {
	enum { kept = 16 }; // groups of four whose digits are worked out once; more taps than that are rare
	four fours[kept];
	for (int k = 0; k < taps && k < 4 * kept; k += 4)
		fours[k / 4] = four_of(weights + k, taps - k < 4 ? taps - k : 4);
	for (int at = 0; at < bytes; at += 64) {
		const V zero = _mm512_setzero_si512(), half = _mm512_set1_epi32(HR_HALF);
		V a[4] = {half, half, half, half}, b[4] = {zero, zero, zero, zero}, c[4] = {zero, zero, zero, zero};
		for (int k = 0; k < taps; k += 4) {
			const int n = taps - k < 4 ? taps - k : 4;
			const four f = k < 4 * kept ? fours[k / 4] : four_of(weights + k, n);
			add_four(a, b, c, &f, rows + k, n, at);
		}
#define SUM(i) _mm512_srai_epi32(together(a[i], b[i], c[i]), HR_BITS)
		const V out = _mm512_packus_epi16(_mm512_packs_epi32(SUM(0), SUM(1)), _mm512_packs_epi32(SUM(2), SUM(3)));
#undef SUM
		int left = bytes - at;
		_mm512_mask_storeu_epi8(dst + at, left >= 64 ? ~0ull : (1ull << left) - 1, out);
	}
}

static size_t packed1(const hr_axis *x) { return fits(x, 1) ? packed_quads(x, 1) : sizeof(header); }

static void pack1(const hr_axis *x, void *p) {
	memset(p, 0, packed1(x));
	header *h = p;
	h->fits = fits(x, 1);
	h->quads = (x->taps + 3) / 4;
	if (h->fits)
		pack_quads(x, (quad *)(h + 1), h->quads, 1);
}

// Stronger reductions than fit are those of pictures that could not be decoded smaller:
// they are rare.
TARGET static void rows1(const hr_axis *x, const void *p, const uint8_t *const *src, uint8_t *const *dst, int n) {
	const header *h = p;
	if (!h->fits)
		hr_plain.rows1(x, p, src, dst, n);
	else if (h->quads == 1)
		rows_quads(x, (const quad *)(h + 1), 1, 1, src, dst, n);
	else if (h->quads == 2)
		rows_quads(x, (const quad *)(h + 1), 2, 1, src, dst, n);
	else
		rows_quads(x, (const quad *)(h + 1), h->quads, 1, src, dst, n);
}

TARGET static void ycc(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *rgb, int pixels) {
#define PIXEL(i) i, i + 32, i + 64
#define PIXELS(i) PIXEL(i), PIXEL(i + 1), PIXEL(i + 2), PIXEL(i + 3), PIXEL(i + 4), PIXEL(i + 5), PIXEL(i + 6), PIXEL(i + 7)
	// Where each byte of RGB is in R, G and, in another register, B.
	static const uint8_t bytes[128] = {PIXELS(0), PIXELS(8), PIXELS(16), PIXELS(24)};
#undef PIXEL
#undef PIXELS
	const V pick = _mm512_loadu_si512(bytes), pick2 = _mm512_loadu_si512(bytes + 64);
	const V half = _mm512_set1_epi16(1 << (HR_YCC_BITS - 1)), middle = _mm512_set1_epi16(128 << HR_YCC_BITS);
	for (int i = 0; i < pixels; i += 32) {
#define WORDS(p) _mm512_slli_epi16(_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(p))), HR_YCC_BITS)
#define TIMES(v, factor) _mm512_mulhrs_epi16(v, _mm512_set1_epi16(factor))
#define BYTES(v) _mm512_cvtusepi16_epi8(_mm512_max_epi16(_mm512_srai_epi16(v, HR_YCC_BITS), _mm512_setzero_si512()))
		V l = _mm512_add_epi16(WORDS(y + i), half);
		V blue = _mm512_sub_epi16(WORDS(cb + i), middle), red = _mm512_sub_epi16(WORDS(cr + i), middle);
		__m256i r = BYTES(_mm512_add_epi16(_mm512_add_epi16(l, red), TIMES(red, HR_CR_R)));
		__m256i g = BYTES(_mm512_sub_epi16(_mm512_sub_epi16(l, TIMES(blue, HR_CB_G)), TIMES(red, HR_CR_G)));
		__m256i b = BYTES(_mm512_add_epi16(_mm512_add_epi16(l, blue), TIMES(blue, HR_CB_B)));
#undef WORDS
#undef TIMES
#undef BYTES
		V rg = _mm512_inserti64x4(_mm512_castsi256_si512(r), g, 1), b0 = _mm512_castsi256_si512(b);
		int left = 3 * (pixels - i);
		_mm512_mask_storeu_epi8(rgb + 3 * i, left >= 64 ? ~0ull : (1ull << left) - 1, _mm512_permutex2var_epi8(rg, pick, b0));
		if (left > 64)
			_mm512_mask_storeu_epi8(rgb + 3 * i + 64, left >= 96 ? (1ull << 32) - 1 : (1ull << (left - 64)) - 1,
			                        _mm512_permutex2var_epi8(rg, pick2, b0));
	}
}

const hr_kernels hr_avx512 = {"avx512", packed, pack, rows, column, packed1, pack1, rows1, ycc};
#endif
