// The effect gaussian_noise.
#ifndef HEADRACE_NOISE_H
#define HEADRACE_NOISE_H

#include "kernels.h"

// Adds to each value but alpha the level of a draw of noise: four draws are in a word.
void hr_noise_picture(const hr_kernels *set, const int16_t levels[4096], uint64_t seed, uint8_t *pixels, int channels, int width, int height,
                      ptrdiff_t stride);

#endif
