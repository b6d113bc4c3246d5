// Resampling along a map. What it computes is defined by media/warp_pixels.go; the kernels
// give the same bytes.
#ifndef HEADRACE_WARP_H
#define HEADRACE_WARP_H

#include "kernels.h"

// In the order of media/turbo/warp.go.
enum { HR_WARP_BILINEAR, HR_WARP_NEAREST, HR_WARP_BICUBIC };

typedef struct {
	double map[9], wave_x, wave_y;
	int32_t affine, fixed, filter;
	// Of the image before, and what of it is there.
	int32_t width, height, left, top, in_width, in_height;
	// As media.Fixed and media.Grid.
	int32_t fixed_x, fixed_y, x_by_x, x_by_y, y_by_x, y_by_y;
	int32_t x, y, right_x, right_y, down_x, down_y;
	int32_t wave_width; // of a row of waves; 0: there are none
	uint8_t fill[4];
} hr_warp;

// Whether there are kernels: for RGB, images with sides below 1<<15, and less than 1<<31
// bytes.
int hr_warp_can(const hr_kernels *k);

// Reads no more than the pixels of in, and writes all pixels of to.
// Weights are four for each of 2048 shares of a pixel, for bicubic.
void hr_warp_picture(const hr_warp *w, const int16_t *waves, const int16_t *weights, const uint8_t *in, ptrdiff_t in_stride, uint8_t *to, ptrdiff_t stride, int width,
                     int height);

#endif
