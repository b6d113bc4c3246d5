// Decoding of progressive scans, T.81 G.1.2, a text that is compiled for several
// instruction sets behind entropy.h. The includer defines NTH(bits, n) as well: the nth
// bit that is set, as a mask, or 0.

// Provides for a block, as hj_scan_need does for an MCU.
INLINE int NAME(provide)(hj_scan *s, hj_band *band) {
	if (__builtin_expect(!s->restart && s->end - s->next >= HJ_MCU_BYTES + 8, 1))
		return 1;
	if (s->restart && s->left == 0 && band && band->run)
		return 0;
	return hj_scan_need(s);
}

TARGET int NAME(dc)(hj_scan *s, int n, int low) {
	for (int mcu = 0; mcu < n; mcu++) {
		if (!NAME(provide)(s, NULL))
			return 0;
		NAME(reader) r = {s->next, s->bits, s->count};
		int is_sound = 1;
		for (int i = 0; i < s->blocks; i++) {
			const int32_t value = NAME(first)(&r, s, i, &is_sound) * (1 << low);
			is_sound &= value == (int16_t)value;
			s->block[i].to[mcu * s->block[i].step] = value;
		}
		s->next = r.next;
		s->bits = r.bits;
		s->count = r.count & 63;
		if (!is_sound)
			return 0;
	}
	return 1;
}

TARGET int NAME(dc_bit)(hj_scan *s, int n, int low) {
	for (int mcu = 0; mcu < n; mcu++) {
		if (!NAME(provide)(s, NULL))
			return 0;
		NAME(reader) r = {s->next, s->bits, s->count};
		NAME(load)(&r);
		for (int i = 0; i < s->blocks; i++) {
			s->block[i].to[mcu * s->block[i].step] |= (r.bits >> 63) << low;
			NAME(use)(&r, 1);
		}
		s->next = r.next;
		s->bits = r.bits;
		s->count = r.count & 63;
	}
	return 1;
}

// The length of a run of blocks that have nothing more: so many bits, below a one.
INLINE uint32_t NAME(run)(NAME(reader) * r, int bits) {
	NAME(load)(r);
	const uint32_t below = bits ? r->bits >> (64 - bits) : 0;
	NAME(use)(r, bits);
	return (1u << bits) + below;
}

TARGET int NAME(ac)(hj_scan *s, hj_band *band, int16_t *to, uint64_t *set, int n) {
	const uint32_t last = band->to;
	for (int i = 0; i < n; i++, to += 64, set++) {
		if (band->run && !s->restart) { // pass over as many as there are
			const int more = band->run < (uint32_t)(n - i) ? (int)band->run : n - i;
			band->run -= more;
			i += more - 1;
			to += 64 * (more - 1);
			set += more - 1;
			continue;
		}
		if (!NAME(provide)(s, band))
			return 0;
		if (band->run) {
			band->run--;
			continue;
		}
		NAME(reader) r = {s->next, s->bits, s->count};
		uint32_t k = band->from - 1;
		uint64_t found = 0;
		hj_entry e;
		do {
			NAME(load)(&r);
			e = NAME(look)(&r, band->table);
			if (DISTANCE(e) != HJ_LONG) { // there are enough bits for another
				NAME(use)(&r, e);
				k += DISTANCE(e);
				if (k > last)
					break;
				to[NAME(place)[k]] = NUMBER(e) * (1 << band->low);
				found |= (uint64_t)(NUMBER(e) != 0) << k;
				if (k == last)
					break;
				e = NAME(look)(&r, band->table);
			}
			if (DISTANCE(e) == HJ_LONG)
				e = NAME(longer)(band->table, r.bits, e);
			NAME(use)(&r, e);
			k += DISTANCE(e);
			if (k > last)
				break;
			to[NAME(place)[k]] = NUMBER(e) * (1 << band->low);
			found |= (uint64_t)(NUMBER(e) != 0) << k;
		} while (k < last);
		if (k >= HJ_END)
			band->run = NAME(run)(&r, NUMBER(e)) - 1;
		else if (k > last)
			return 0;
		*set |= found;
		s->next = r.next;
		s->bits = r.bits;
		s->count = r.count & 63;
	}
	return 1;
}

// Reads a bit for each of the coefficients, and makes those larger that have a one.
INLINE void NAME(correct)(NAME(reader) * r, int16_t *to, uint64_t which, int low) {
	while (which) {
		NAME(load)(r);
		uint32_t n = 0;
		for (; which && n < 48; n++, which &= which - 1) {
			int16_t *const at = to + NAME(place)[__builtin_ctzll(which)];
			const int sign = *at >> 15, bit = (r->bits << n) >> 63;
			*at += (((1 << low) ^ sign) - sign) & -bit;
		}
		NAME(use)(r, n);
	}
}

TARGET int NAME(ac_bit)(hj_scan *s, hj_band *band, int16_t *to, uint64_t *set, int n) {
	const uint64_t all = (~0ull >> (63 - band->to)) & (~0ull << band->from);
	for (int i = 0; i < n; i++, to += 64, set++) {
		if (band->run && !s->restart && !(*set & all)) {
			band->run--;
			continue;
		}
		if (!NAME(provide)(s, band))
			return 0;
		NAME(reader) r = {s->next, s->bits, s->count};
		uint64_t left = all, found = 0; // places of the band that are still to come
		while (!band->run && left) {
			NAME(load)(&r);
			hj_entry e = NAME(look)(&r, band->table);
			if (__builtin_expect(DISTANCE(e) == HJ_LONG, 0))
				e = NAME(longer)(band->table, r.bits, e);
			NAME(use)(&r, e);
			if (DISTANCE(e) >= HJ_NONE) {
				if (DISTANCE(e) != HJ_END)
					return 0;
				band->run = NAME(run)(&r, NUMBER(e));
				break;
			}
			// Its distance counts places that were zero before this scan.
			const uint64_t at = NTH(left & ~*set, DISTANCE(e));
			if (!at || NUMBER(e) < -1 || NUMBER(e) > 1)
				return 0;
			NAME(correct)(&r, to, left & *set & (at - 1), band->low);
			if (NUMBER(e)) {
				to[NAME(place)[__builtin_ctzll(at)]] = NUMBER(e) * (1 << band->low);
				found |= at;
			}
			left &= ~(at | (at - 1));
		}
		if (band->run) {
			NAME(correct)(&r, to, left & *set, band->low);
			band->run--;
		}
		*set |= found;
		s->next = r.next;
		s->bits = r.bits;
		s->count = r.count & 63;
	}
	return 1;
}
