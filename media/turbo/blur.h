// Gaussian blurs, in place. What they compute is defined by
// github.com/headrace/headrace/media/internal/blur; every set of kernels gives the same bytes.
#ifndef HEADRACE_BLUR_H
#define HEADRACE_BLUR_H

#include "kernels.h"

// As in package blur.
enum { HR_BLUR_MOST = 127, HR_BLUR_BITS = 14, HR_BLUR_BETWEEN = 6 };

// Weights by their distance from the middle. Kernels take those of two distances at once,
// from the first on.
typedef struct {
	int16_t at[HR_BLUR_MOST / 2 + 1];
	int reach;
} hr_blur_weights;

// Numbers that rows of the scratch memory are padded to.
enum { HR_BLUR_STEP = 32 };

// Numbers of 16 bits that are needed beside the picture.
size_t hr_blur_scratch(int channels, int width, int height, int reach);

void hr_blur_picture(const hr_kernels *k, const hr_blur_weights *w, uint8_t *pixels, int channels, int width, int height,
                     ptrdiff_t stride, int16_t *scratch);

// Rows at the same distance from the one in the middle, lo[0]; one more of each than the
// reach may be read.
typedef struct {
	const int16_t *lo[HR_BLUR_MOST / 2 + 2], *hi[HR_BLUR_MOST / 2 + 2];
} hr_blur_rows;

// The kernels read and write in steps of HR_BLUR_STEP: rows have room for that, pixels have
// not.
typedef struct {
	void (*across)(const hr_blur_weights *w, const hr_blur_rows *rows, int16_t *to, int n);
	void (*down)(const hr_blur_weights *w, const hr_blur_rows *rows, uint8_t *to, int n);
} hr_blur_kernels;

extern const hr_blur_kernels hr_blur_plain;
#if defined(__x86_64__)
extern const hr_blur_kernels hr_blur_avx2;
#endif

#endif
