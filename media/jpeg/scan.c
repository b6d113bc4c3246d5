#include "scan.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

void hj_scan_begin(hj_scan *s, const uint8_t *src, const uint8_t *end, int restart) {
	s->src = src;
	s->src_end = end;
	s->next = s->end = s->data;
	s->bits = s->count = 0;
	s->ends = HJ_MORE;
	s->restart = s->left = restart;
	s->number = 0;
	memset(s->dc, 0, sizeof(s->dc));
}

// Takes the zeros out that follow bytes of 255, T.81 F.1.2.3, up to a marker, or as much
// as there is room for.
static uint8_t *unstuff(hj_scan *s, uint8_t *to, const uint8_t *to_end) {
	const uint8_t *from = s->src, *end = s->src_end;
	while (to < to_end) {
#if defined(__SSE2__)
		while (end - from >= 16 && to_end - to >= 16) {
			const __m128i v = _mm_loadu_si128((const __m128i *)from);
			const int full = _mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(-1)));
			_mm_storeu_si128((__m128i *)to, v);
			const int n = full ? __builtin_ctz(full) : 16;
			from += n;
			to += n;
			if (full)
				break;
		}
		if (to == to_end)
			break;
#endif
		if (from == end) {
			s->ends = HJ_FILE;
			break;
		}
		if (*from != 0xFF) {
			*to++ = *from++;
			continue;
		}
		const uint8_t *next = from + 1; // bytes of 255 may fill up to a marker
		while (next < end && *next == 0xFF)
			next++;
		if (next == end) {
			s->ends = HJ_FILE;
			break;
		}
		if (*next != 0 || next > from + 1) {
			s->ends = HJ_MARKER;
			break;
		}
		*to++ = 0xFF;
		from += 2;
	}
	s->src = from;
	return to;
}

// Goes on with the next piece. The bytes that are left of the one before come first.
static void next_piece(hj_scan *s) {
	const size_t left = s->end - s->next;
	memmove(s->data, s->next, left);
	uint8_t *const end = unstuff(s, s->data + left, s->data + HJ_PIECE);
	s->next = s->data;
	s->end = end;
	if (s->ends != HJ_MORE)
		memset(end, 0, HJ_SLACK);
}

// Bits that are not used yet; negative if more were used than there are.
static ptrdiff_t unused(const hj_scan *s) { return (s->end - s->next) * 8 + s->count; }

// Passes over the marker that has to be next, at the end of the last byte.
static int pass_restart(hj_scan *s) {
	if (s->ends == HJ_MORE)
		next_piece(s);
	const ptrdiff_t padding = unused(s);
	if (s->ends != HJ_MARKER || padding < 0 || padding > 7 || s->src[1] != 0xD0 + s->number)
		return 0;
	hj_scan next = *s;
	hj_scan_begin(&next, s->src + 2, s->src_end, s->restart);
	next.number = (s->number + 1) & 7;
	*s = next;
	return 1;
}

int hj_scan_is_within(const hj_scan *s) {
	switch (s->ends) {
	case HJ_MARKER:
		return unused(s) >= 0;
	case HJ_FILE: // libjpeg looks some bytes ahead, and refuses a file that ends there
		return s->end - s->next >= 16;
	}
	return 1;
}

int hj_scan_need(hj_scan *s) {
	if (s->restart) {
		if (s->left == 0 && !pass_restart(s))
			return 0;
		s->left--;
	}
	if (s->ends == HJ_MORE && s->end - s->next < HJ_MCU_BYTES + 8)
		next_piece(s);
	return hj_scan_is_within(s);
}

int hj_scan_ends_at(hj_scan *s, const uint8_t *marker) {
	if (s->ends == HJ_MORE)
		next_piece(s);
	return s->ends == HJ_MARKER && s->src == marker && unused(s) >= 0 && unused(s) <= 7;
}
