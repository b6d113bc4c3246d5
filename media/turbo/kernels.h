// The integer kernels that resample RGB rows. What they compute is defined by
// github.com/headrace/headrace/media/internal/resample; every set of kernels gives the same bytes.
#ifndef HEADRACE_KERNELS_H
#define HEADRACE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

// Bytes behind a row that kernels may read (input rows) or write (rows between the
// passes), at most.
#define HR_PAD 1024

#define HR_BITS 22
#define HR_HALF (1 << (HR_BITS - 1))

// A run of input pixels that makes one output pixel; its weights are weights[at …
// at+len-1].
typedef struct {
	int32_t start, len, at;
} hr_span;

typedef struct {
	const hr_span *spans;
	const int32_t *weights;
	int32_t n;        // number of spans
	int32_t taps;     // length of the longest
	int32_t lo;       // input pixel with which the rows handed to a kernel begin
	int32_t width;    // input pixels from there that are looked at
	int32_t identity; // every span is one pixel of weight 1: nothing is resized
	uint64_t version; // differs from that of every other axis, and is not 0
} hr_axis;

typedef struct {
	const char *name;
	// Bytes that pack writes for this axis.
	size_t (*packed)(const hr_axis *x);
	// Puts the weights of an axis in the order in which rows reads them. Packed memory
	// is aligned to 64 bytes.
	void (*pack)(const hr_axis *x, void *packed);
	// Horizontal pass over n rows.
	void (*rows)(const hr_axis *x, const void *packed, const uint8_t *const *src, uint8_t *const *dst, int n);
	// Vertical pass: one row out of those below each other. Writes exactly that many
	// bytes.
	void (*column)(uint8_t *dst, int bytes, const uint8_t *const *rows, const int32_t *weights, int taps);
	// The first three for rows of one channel.
	size_t (*packed1)(const hr_axis *x);
	void (*pack1)(const hr_axis *x, void *packed);
	void (*rows1)(const hr_axis *x, const void *packed, const uint8_t *const *src, uint8_t *const *dst, int n);
	// One row of RGB pixels out of rows of Y, Cb and Cr, which are read up to the next
	// multiple of 32. Writes exactly that many pixels.
	void (*ycc)(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *rgb, int pixels);
} hr_kernels;

// The conversion of YCbCr that ycc computes, in numbers of 16 bits: 64ths of a level,
// and the fractions of the factors in 32768ths. It is within a level of exact
// arithmetic.
#define HR_YCC_BITS 6
#define HR_CR_R 13173 // 1.402 - 1
#define HR_CB_B 25297 // 1.772 - 1
#define HR_CB_G 11277 // 0.344136
#define HR_CR_G 23401 // 0.714136

extern const hr_kernels hr_plain;
#if defined(__x86_64__)
extern const hr_kernels hr_sse41, hr_avx2, hr_avx512;
#elif defined(__aarch64__)
extern const hr_kernels hr_neon; // the functions of hr_plain: only media/jpeg has kernels for it
#endif

// Bytes behind an input row that kernels may read for this axis: they look at as many
// taps for a span that the edge cuts short as for the longest, in groups of up to 64
// bytes; their weights are 0, but the bytes must be there. It can be more than HR_PAD:
// then hr_plain alone will do.
static inline int64_t hr_reach(const hr_axis *x) { return 3 * (int64_t)x->taps + 96; }

// The number of sets this program has, and the i-th, the simplest first; NULL where
// this processor cannot run it.
int hr_kernel_sets(void);
const hr_kernels *hr_kernel_set(int i);

#endif
