// Tables that decode a Huffman code and the number behind it in one look.
#ifndef HEADRACE_JPEG_HUFFMAN_H
#define HEADRACE_JPEG_HUFFMAN_H

#include "header.h"

// Bits that one look sees. More find more at once, but tables have to stay in the
// first-level cache.
enum { HJ_LOOK = 10 };

// An entry of the table: a coefficient that is complete within HJ_LOOK bits.
//
//	bits 0–5    how many bits it has, code and number together
//	bits 8–15   how far it is from the coefficient before, or one of the distances below
//	bits 16–31  the number
//
// An entry that is not complete has HJ_LONG, no bits, and for a number the least length
// that the code can have.
typedef uint32_t hj_entry;

// Distances that lead beyond a block from anywhere within it, and to places of their own:
// what is no code, the end of a block, what is not complete. So one comparison finds them
// all, after the coefficient was put where it belongs.
enum { HJ_NONE = 64, HJ_END = 128, HJ_LONG = 192 };

// Two entries in one, of coefficients that follow each other and are complete within
// HJ_LOOK bits together; the second may be the end of the block. An entry that is alone
// is its own second.
//
//	bits 0–5    how many bits both have
//	bits 8–15   how far the second is from the coefficient before the first
//	bits 16–31  the first number
//	bits 32–39  how far the first is
//	bits 40–45  how many bits it has
//	bits 48–63  the second number
typedef uint64_t hj_pair;

typedef struct {
	hj_entry look[1 << HJ_LOOK];
	hj_pair pair[1 << HJ_LOOK]; // of HJ_AC
	int32_t limit[18];  // the first 16 bits that begin no code of this length or a shorter one
	int32_t offset[17]; // of the symbol of a code of this length
	uint8_t symbol[256];
	hj_code code; // that it was made from
	int kind, is_sound;
	uint64_t asked; // when it was asked for last; 0: it is empty
} hj_table;

// What a code is of. In progressive scans, symbols without a number end a run of blocks;
// then the number of an entry says how many bits follow.
enum { HJ_AC, HJ_DC, HJ_PROGRESSIVE, HJ_KINDS };

// Makes the table of a code. It is not sound if the code has symbols that no 8-bit
// picture needs, or is none.
void hj_table_make(hj_table *t, const hj_code *code, int kind);

// Tables of pictures past: most files share a few.
enum { HJ_KEPT = 8 };

typedef struct {
	hj_table *tables; // HJ_KEPT of each kind; zero at first
	uint64_t clock;
} hj_tables;

// The table of a code, made now if it is not kept. It stays until HJ_KEPT others of its
// kind were asked for, which is more than a scan has.
const hj_table *hj_tables_get(hj_tables *kept, const hj_code *code, int kind);

#endif
