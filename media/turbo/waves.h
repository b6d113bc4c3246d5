// Waves that move pixels. What they are is defined by media/waves.go; the kernels give the
// same numbers.
#ifndef HEADRACE_WAVES_H
#define HEADRACE_WAVES_H

#include "kernels.h"

// Numbers that may be written after the field.
enum { HR_WAVE_BEYOND = 16 };

// Numbers of 16 bits that are needed beside the field, which has two for each pixel.
size_t hr_wave_scratch(int width, int height, int across);

// Weights are by the distance, from the middle on; with none of them nothing is mixed.
void hr_wave_field(uint64_t seed, const int16_t *across, int across_n, const int16_t *down, int down_n, int width, int height, int16_t *field,
                   int16_t *scratch);

#endif
