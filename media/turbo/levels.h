// Changes of channels that depend on how often they have each value: media.Effect.Levels.
#ifndef HEADRACE_LEVELS_H
#define HEADRACE_LEVELS_H

#include "kernels.h"

// Counts the values of each channel but alpha.
void hr_count_levels(uint32_t counts[3][256], const uint8_t *pixels, int channels, int width, int height, ptrdiff_t stride);

// The least and the greatest value of each channel but alpha.
void hr_ends_of_levels(const hr_kernels *set, uint8_t least[3], uint8_t greatest[3], const uint8_t *pixels, int channels, int width,
                       int height, ptrdiff_t stride);

#endif
