// Decoding of blocks, a text that is compiled for several instruction sets. The includer
// defines NAME(x), and TARGET.

#include "scan.h"

// Where coefficients go, from zigzag order to rows (T.81, figure A.6). What leads beyond
// a block goes behind it.
#define BEYOND 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64
static const uint8_t NAME(place)[64 + HJ_LONG] = {
	0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
	BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND,
};

// The bits that are in work. Of count, the lower six bits count.
typedef struct {
	const uint8_t *next;
	uint64_t bits;
	uint32_t count;
} NAME(reader);

#define INLINE TARGET static inline __attribute__((always_inline))

// Loads until there are 56 bits, without a branch: bits that are there already are laid
// over themselves.
INLINE void NAME(load)(NAME(reader) * r) {
	uint64_t v;
	__builtin_memcpy(&v, r->next, 8);
	const uint32_t count = r->count & 63;
	r->bits |= __builtin_bswap64(v) >> count;
	r->next += (63 - count) >> 3;
	r->count = count | 56;
}

INLINE hj_entry NAME(look)(const NAME(reader) * r, const hj_table *t) { return t->look[r->bits >> (64 - HJ_LOOK)]; }

// Passes over the bits of an entry.
INLINE void NAME(use)(NAME(reader) * r, hj_entry e) {
	r->bits <<= e & 63;
	r->count -= e; // whose lower six bits are what is used
}

// The same entry, complete.
TARGET static __attribute__((noinline)) hj_entry NAME(longer)(const hj_table *t, uint64_t bits, hj_entry e) {
	const int32_t code = bits >> 48;
	int length = e >> 16;
	while (code >= t->limit[length])
		length++;
	if (length > 16)
		return HJ_NONE << 8;
	const int symbol = t->symbol[(t->offset[length] + (code >> (16 - length))) & 255];
	const int run = t->kind == HJ_DC ? 0 : symbol >> 4, size = t->kind == HJ_DC ? symbol : symbol & 15;
	if (size == 0 && t->kind != HJ_DC && run < 15)
		return (hj_entry)run << 16 | HJ_END << 8 | length;
	if (size == 0)
		return (run + 1) << 8 | length;
	int value = (bits << length) >> (64 - size);
	if (!(value >> (size - 1)))
		value -= (1 << size) - 1;
	return (hj_entry)(uint16_t)value << 16 | (hj_entry)(run + 1) << 8 | (length + size);
}

#define DISTANCE(e) ((e) >> 8 & 0xFF)
#define NUMBER(e) ((int16_t)((e) >> 16))

#define FIRST_DISTANCE(e) ((e) >> 32 & 0xFF)
#define FIRST_BITS(e) ((e) >> 40 & 63)

// Takes what one look finds: coefficients to their places, from before on, of which the
// second is k from here on.
#define TAKE_PAIR()                                                                                                            \
	do {                                                                                                                   \
		bits = r->bits;                                                                                                \
		before = k;                                                                                                    \
		e = t->pair[bits >> (64 - HJ_LOOK)];                                                                           \
		NAME(use)(r, e);                                                                                               \
		k += DISTANCE(e);                                                                                              \
		if (keep) {                                                                                                    \
			to[NAME(place)[before + FIRST_DISTANCE(e)]] = NUMBER(e);                                               \
			to[NAME(place)[k]] = e >> 48;                                                                          \
		}                                                                                                              \
	} while (0)

// Decodes what follows the first coefficient, and returns the place of the last: 63, or
// HJ_END beyond it.
INLINE uint32_t NAME(rest)(NAME(reader) * r, const hj_table *t, int16_t *to, int keep) {
	_Static_assert(3 * HJ_LOOK + 26 <= 56, "a load is enough for three looks and the largest coefficient");
	uint32_t k = 0, before;
	uint64_t bits;
	hj_pair e;
	for (;;) {
		NAME(load)(r);
		TAKE_PAIR();
		if (k < 63) {
			TAKE_PAIR();
			if (k < 63) {
				TAKE_PAIR();
				if (k < 63)
					continue;
			}
		}
		if (__builtin_expect(before + FIRST_DISTANCE(e) == 63, 0)) { // the second is of another block
			r->bits = bits << FIRST_BITS(e);
			r->count += (e & 63) - FIRST_BITS(e);
			return 63;
		}
		if (__builtin_expect(DISTANCE(e) != HJ_LONG, 1))
			return k;
		const hj_entry whole = NAME(longer)(t, r->bits, e);
		NAME(use)(r, whole);
		k += DISTANCE(whole) - HJ_LONG;
		if (keep)
			to[NAME(place)[k]] = NUMBER(whole);
		if (k >= 63)
			return k;
	}
}

// Decodes the first coefficient of a block, which is stated as the difference from that
// of the block before.
INLINE int32_t NAME(first)(NAME(reader) * r, hj_scan *s, int block, int *is_sound) {
	const int c = s->block[block].component;
	NAME(load)(r);
	hj_entry e = NAME(look)(r, s->block[block].dc);
	if (__builtin_expect(DISTANCE(e) == HJ_LONG, 0))
		e = NAME(longer)(s->block[block].dc, r->bits, e);
	NAME(use)(r, e);
	*is_sound &= DISTANCE(e) == 1;
	const int32_t dc = s->dc[c] + NUMBER(e);
	*is_sound &= dc == (int16_t)dc;
	s->dc[c] = (int16_t)dc;
	return dc;
}

INLINE int NAME(mcus)(hj_scan *s, int n, int keep) {
	for (int mcu = 0; mcu < n; mcu++) {
		if (!hj_scan_need(s))
			return 0;
		NAME(reader) r = {s->next, s->bits, s->count};
		int is_sound = 1;
		for (int i = 0; i < s->blocks; i++) {
			const int32_t dc = NAME(first)(&r, s, i, &is_sound);
			int16_t *const to = keep ? s->block[i].to + mcu * s->block[i].step : NULL;
			if (keep)
				to[0] = dc;
			const int all = keep && !s->block[i].only_first;
			const uint32_t k = all ? NAME(rest)(&r, s->block[i].ac, to, 1) : NAME(rest)(&r, s->block[i].ac, NULL, 0);
			is_sound &= (k & (HJ_END - 1)) <= 63;
			if (keep)
				s->block[i].last[mcu * s->block[i].last_step] = all ? k & 63 : 0;
		}
		s->next = r.next;
		s->bits = r.bits;
		s->count = r.count & 63;
		if (!is_sound)
			return 0;
	}
	return hj_scan_is_within(s);
}

TARGET int NAME(keep)(hj_scan *s, int n) { return NAME(mcus)(s, n, 1); }
TARGET int NAME(skip)(hj_scan *s, int n) { return NAME(mcus)(s, n, 0); }
