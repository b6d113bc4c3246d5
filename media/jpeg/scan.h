// The entropy-coded data of a scan, MCU after MCU.
#ifndef HEADRACE_JPEG_SCAN_H
#define HEADRACE_JPEG_SCAN_H

#include <stddef.h>
#include "huffman.h"

// A block of coefficients in the order of rows; what is behind the 64 is written to by
// codes that lead beyond a block, and never read.
enum { HJ_BLOCK = 80 };

// MCUs that are decoded before they are transformed: two, so that every component has
// pairs of blocks beside each other.
enum { HJ_GROUP = 2 };

// Bytes that an MCU can have at most: 64 coefficients a block, each with a code of 16
// bits and a number of 11.
enum { HJ_MCU_BYTES = HJ_MCU_BLOCKS * 64 * 27 / 8 };

// Unstuffed data are kept in pieces of this size, which stay in the first-level cache.
enum { HJ_PIECE = 8192, HJ_SLACK = HJ_MCU_BYTES + 64 };

// What ends the data that are unstuffed.
enum { HJ_MORE, HJ_MARKER, HJ_FILE };

typedef struct {
	const uint8_t *src, *src_end; // what is still to be unstuffed
	uint8_t *data;                // HJ_PIECE bytes of unstuffed data, and HJ_SLACK zeros
	const uint8_t *next, *end;    // byte that is loaded next, and end of those that there are
	uint64_t bits;                // loaded bits from the most significant on
	uint32_t count;               // how many at least
	int ends;

	int32_t restart, left, number; // MCUs between restart markers, MCUs until the next, and its number
	int32_t dc[HJ_COMPONENTS];     // of the block before

	int blocks; // of an MCU
	struct {
		const hj_table *dc, *ac;
		int16_t *to;   // where coefficients of the first MCU of a group go; zero before
		int step;      // from there to those of the next MCU
		uint8_t *last; // set to the place of the last coefficient, in zigzag order, and of the next MCU last_step further
		int component, last_step, only_first; // nothing but the first coefficient is kept
	} block[HJ_MCU_BLOCKS];
} hj_scan;

// Begins with the first MCU.
void hj_scan_begin(hj_scan *s, const uint8_t *src, const uint8_t *end, int restart);
// Provides for one more MCU, and for a restart marker before it. Returns 0 if there is a
// doubt.
int hj_scan_need(hj_scan *s);
// Whether no more was decoded than there are data.
int hj_scan_is_within(const hj_scan *s);
// Whether the data end with what was decoded, and the marker there is behind them.
int hj_scan_ends_at(hj_scan *s, const uint8_t *marker);

// Decodes n MCUs, and keeps the coefficients of HJ_GROUP at most; skip keeps nothing.
// They return 0 where there is any doubt about the data.
typedef int hj_decode_mcus(hj_scan *s, int n);
hj_decode_mcus hj_keep_plain, hj_skip_plain;
#if defined(__x86_64__)
hj_decode_mcus hj_keep_bmi2, hj_skip_bmi2;
#endif

// What a progressive scan of AC coefficients works on.
typedef struct {
	const hj_table *table;
	int from, to, low;
	uint32_t run; // blocks to come that have nothing more
} hj_band;

// Decode n MCUs of a progressive scan, or n blocks of a component: the first bits of
// coefficients, or one bit more.
typedef int hj_decode_dc(hj_scan *s, int n, int low);
typedef int hj_decode_ac(hj_scan *s, hj_band *band, int16_t *to, uint64_t *set, int n);
hj_decode_dc hj_dc_plain, hj_dc_bit_plain;
hj_decode_ac hj_ac_plain, hj_ac_bit_plain;
#if defined(__x86_64__)
hj_decode_dc hj_dc_bmi2, hj_dc_bit_bmi2;
hj_decode_ac hj_ac_bmi2, hj_ac_bit_bmi2;
#endif

#endif
