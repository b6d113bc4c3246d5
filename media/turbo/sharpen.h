// The effect adjust_sharpness.
#ifndef HEADRACE_SHARPEN_H
#define HEADRACE_SHARPEN_H

#include "kernels.h"

// Changes pixels in place. rows has memory for three rows of them.
void hr_sharpen_picture(const hr_kernels *set, float factor, uint8_t *pixels, int channels, int width, int height, ptrdiff_t stride,
                        uint8_t *rows);

#endif
