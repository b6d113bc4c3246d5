#include "huffman.h"

#include <string.h>

// Largest sizes of numbers in a baseline picture of 8 bits, ITU-T T.81, tables F.1 and
// F.2.
enum { dc_most = 11, ac_most = 10 };

static int is_sound(int symbol, int kind) {
	if (kind == HJ_DC)
		return symbol <= dc_most;
	const int run = symbol >> 4, size = symbol & 15;
	return size ? size <= ac_most : run == 0 || run == 15 || kind == HJ_PROGRESSIVE;
}

// The number that so many bits stand for, F.2.2.1: those that begin with 0 are negative.
static int number(int bits, int size) { return size && !(bits >> (size - 1)) ? bits - (1 << size) + 1 : bits; }

static hj_entry hj_long(int least) { return (hj_entry)least << 16 | HJ_LONG << 8; }

// The entry of a code of this length, followed by these bits of the HJ_LOOK.
static hj_entry entry(int symbol, int length, int rest, int kind) {
	const int run = kind == HJ_DC ? 0 : symbol >> 4, size = kind == HJ_DC ? symbol : symbol & 15, left = HJ_LOOK - length;
	if (size > left)
		return hj_long(length);
	if (kind != HJ_DC && size == 0 && run < 15)
		return (hj_entry)run << 16 | HJ_END << 8 | length;
	const int value = number(rest >> (left - size), size), distance = run + 1;
	return (hj_entry)(uint16_t)value << 16 | (hj_entry)distance << 8 | (length + size);
}

// The pair that begins with these HJ_LOOK bits.
static hj_pair pair(const hj_entry *look, int bits) {
	const hj_entry first = look[bits], length = first & 63, distance = first >> 8 & 0xFF;
	const hj_pair both = (hj_pair)length << 40 | (hj_pair)distance << 32;
	const hj_entry second = look[bits << length & ((1 << HJ_LOOK) - 1)], distance2 = second >> 8 & 0xFF;
	if (distance >= HJ_NONE || distance2 == HJ_LONG || length + (second & 63) > HJ_LOOK)
		return (hj_pair)(first >> 16) << 48 | both | first;
	return (hj_pair)(second >> 16) << 48 | both | (first & 0xFFFF0000) | (distance + distance2) << 8 | (length + (second & 63));
}

void hj_table_make(hj_table *t, const hj_code *code, int kind) {
	t->code = *code;
	t->kind = kind;
	t->is_sound = 1;
	memcpy(t->symbol, code->symbol, sizeof(t->symbol));
	for (int i = 0; i < 1 << HJ_LOOK; i++)
		t->look[i] = hj_long(HJ_LOOK + 1);

	int next = 0, at = 0; // the next code of this length, and its symbol
	t->limit[0] = 0;
	for (int length = 1; length <= 16; length++, next <<= 1) {
		t->offset[length] = at - next;
		for (int i = 0; i < code->count[length - 1]; i++, next++, at++) {
			if (next >= 1 << length || at > 255) {
				t->is_sound = 0;
				return;
			}
			const int symbol = code->symbol[at];
			t->is_sound &= is_sound(symbol, kind);
			if (length > HJ_LOOK)
				continue;
			const int left = HJ_LOOK - length;
			for (int rest = 0; rest < 1 << left; rest++)
				t->look[next << left | rest] = entry(symbol, length, rest, kind);
		}
		t->limit[length] = next << (16 - length);
	}
	t->limit[17] = 1 << 16; // beyond all: there is no code
	for (int i = 0; i < 1 << HJ_LOOK && kind == HJ_AC; i++)
		t->pair[i] = pair(t->look, i);
}

const hj_table *hj_tables_get(hj_tables *kept, const hj_code *code, int kind) {
	hj_table *const tables = kept->tables + kind * HJ_KEPT, *oldest = tables;
	kept->clock++;
	for (hj_table *t = tables; t < tables + HJ_KEPT; t++) {
		if (t->asked && !memcmp(&t->code, code, sizeof(*code))) {
			t->asked = kept->clock;
			return t;
		}
		if (t->asked < oldest->asked)
			oldest = t;
	}
	hj_table_make(oldest, code, kind);
	oldest->asked = kept->clock;
	return oldest;
}
