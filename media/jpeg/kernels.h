// The inner loops, once for each set of instructions. All sets give the same bytes.
#ifndef HEADRACE_JPEG_KERNELS_H
#define HEADRACE_JPEG_KERNELS_H

#include "scan.h"

// Bytes that kernels may read and write behind a row, and read before a row of a plane.
enum { HJ_PAD = 64 };

// Quantisation as the inverse transform needs it.
typedef struct {
	int16_t step[64];
	int16_t limit[64]; // of a coefficient before it is multiplied: HJ_NORM / step
} hj_quant;

// The most that the coefficients of a block may come to, as the root of the sum of their
// squares. The transform keeps that sum, so that a block of 8-bit samples has 1024 at
// most, before rounding. Up to this bound nothing in the transform leaves 16 bits, and
// every way to compute it gives the same samples: 16 coefficients, those of two columns,
// have a sum of 4 · 1475 at most, and 1.39 · 4 times that is the largest of the numbers
// that the second half works on.
enum { HJ_NORM = 1475 };

typedef int hj_transform(int16_t *blocks, const hj_quant *q, int last, uint8_t *to, ptrdiff_t stride);

typedef struct hj_kernels {
	const char *name;
	hj_decode_mcus *keep, *skip;
	hj_decode_dc *dc, *dc_bit;
	hj_decode_ac *ac, *ac_bit;
	// Multiplies and transforms two blocks, puts their samples beside each other, and
	// makes the blocks zero. last is the place of the last coefficient in either. Returns
	// 0 where a block is beyond HJ_NORM.
	hj_transform *transform;
	// The same, to 4×4, 2×2 and 1×1 samples. The last looks at nothing but the first
	// coefficient.
	hj_transform *reduced[3];
	// Interpolates n samples of a plane to 2n, with the neighbours on both sides: of a
	// row, or of the nearer and the farther of two rows.
	void (*across)(const uint8_t *in, uint8_t *out, int n);
	void (*both)(const uint8_t *nearer, const uint8_t *farther, uint8_t *out, int n);
	// Interpolates between two rows. The lower row of a pair rounds halves up, the upper
	// one down.
	void (*down)(const uint8_t *nearer, const uint8_t *farther, uint8_t *out, int n, int is_lower);
	// Converts n pixels, and writes no more.
	void (*ycc)(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *rgb, int n);
} hj_kernels;

// Those for a set of media/turbo.
const hj_kernels *hj_kernels_named(const char *name);

hj_transform hj_transform1;

extern const hj_kernels hj_plain;
#if defined(__x86_64__)
extern const hj_kernels hj_sse41, hj_avx2;
#elif defined(__aarch64__)
extern const hj_kernels hj_neon;
#endif

// The place of the last coefficient that is among the first four of four rows, in zigzag
// order.
enum { HJ_CORNER = 9 };

// Multipliers of the inverse transform in 8192ths: those of the algorithm of Loeffler,
// Ligtenberg and Moschytz as libjpeg rounds them, multiplied out, so that each output is
// a sum of products. All are exact in 32 bits, hence in any order.
enum {
	HJ_E2 = 10703,                                                     // 0.541196100 + 0.765366865
	HJ_E6 = 4433,                                                      // 0.541196100
	HJ_E62 = -10704,                                                   // 0.541196100 - 1.847759065
	HJ_01 = 2260, HJ_03 = -6436, HJ_05 = 9633, HJ_07 = -11363,         // of the odd rows, for the fourth pair of outputs
	HJ_11 = 6437, HJ_13 = -11362, HJ_15 = 2261, HJ_17 = 9633,          // the third
	HJ_21 = 9633, HJ_23 = -2259, HJ_25 = -11362, HJ_27 = -6436,        // the second
	HJ_31 = 11363, HJ_33 = 9633, HJ_35 = 6437, HJ_37 = 2260,           // the first
};

// Those of the transforms to 4 and to 2 samples, as libjpeg rounds them: an even row
// counts a half and a quarter less there.
enum {
	HJ_4E2 = 15137, HJ_4E6 = -6270,                                    // 1.847759065, -0.765366865
	HJ_401 = 20995, HJ_403 = 7373, HJ_405 = -4926, HJ_407 = -4176,     // the first pair of outputs
	HJ_411 = 8697, HJ_413 = -17799, HJ_415 = 11893, HJ_417 = -1730,    // the second
	HJ_21_1 = 29692, HJ_21_3 = -10426, HJ_21_5 = 6967, HJ_21_7 = -5906,
};

// Colour conversion in 65536ths, rounded: 1.402 - 1, 1.772 - 2, -0.344136, 1 - 0.714136.
enum { HJ_CR_R = 26345, HJ_CB_B = -14942, HJ_CB_G = -22554, HJ_CR_G = 18734 };

#endif
