// Rows of two images mixed: media.MixBytes and media.MixFloats say what comes out.
#ifndef HEADRACE_MIX_H
#define HEADRACE_MIX_H

#include "kernels.h"

void hr_mix_bytes(const hr_kernels *set, uint8_t *to, const uint8_t *a, const uint8_t *b, int64_t n, int w);
void hr_mix_floats(const hr_kernels *set, float *to, const float *a, const float *b, int64_t n, float of, float rest);

#endif
