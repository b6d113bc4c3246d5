// Gaussian blurs, in place. What they compute is defined by media/gaussian_blur.go; every
// set of kernels gives the same bytes.
#ifndef HEADRACE_BLUR_H
#define HEADRACE_BLUR_H

#include "kernels.h"

// As there.
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

#endif
