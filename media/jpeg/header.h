// What is known of a picture before its scan: package jpeg reads it in Go, and checks it,
// so that C can take it as it is.
#ifndef HEADRACE_JPEG_HEADER_H
#define HEADRACE_JPEG_HEADER_H

#include <stdint.h>

enum { HJ_COMPONENTS = 3, HJ_MCU_BLOCKS = 10, HJ_PASSES = 64 };

// A Huffman code as the file states it: how many codes of each length there are, and
// their symbols.
typedef struct {
	uint8_t count[16];
	uint8_t symbol[256];
} hj_code;

// A scan of a progressive picture, or of a sequential one with a scan for each component:
// that has coefficients 0 to 63, and its second code is of those behind the first.
typedef struct {
	int32_t at, end;           // offsets of its entropy-coded data, and of the marker behind them
	int32_t restart;           // as below
	uint8_t components;        // 1, or all in order
	uint8_t component[3];
	uint8_t from, to;          // places of its coefficients in zigzag order: 0 and 0, or one component's behind them
	uint8_t high, low;         // the bit that it adds is low; 0 of high: it is the first scan with these coefficients
	hj_code code[3];           // of each component
} hj_pass;

typedef struct {
	int32_t width, height;
	int32_t components;                 // 1, or 3: Y, Cb, Cr
	int32_t restart;                    // MCUs between restart markers; 0: none
	int32_t scan;                       // offset of the entropy-coded data
	uint8_t across[3], down[3];         // sampling factors, 1–4, which divide the largest; 1 of a single component
	uint8_t dc[3], ac[3], quantised[3]; // which table each component uses
	int16_t quant[4][64];               // in the order of rows, 1–32767
	hj_code dc_code[4], ac_code[4];
	int32_t passes; // scans, where coefficients have to be held; 0: there is one
	hj_pass pass[HJ_PASSES];
} hj_header;

#endif
