#ifndef HEADRACE_SOUND_RUN_H
#define HEADRACE_SOUND_RUN_H

#include <stdint.h>

// Samples of one channel that come out, a stride apart, from place n on: count of them. In is what comes in from `first` on. There are `up`
// sets of coefficients, of as many as taps, a multiple of 16; that for place n lies `before` samples before it. wide: the processor has AVX2.
typedef struct {
	const float *sets;
	int64_t up, down, before, taps;
} hr_filter;

void hr_sound_run(float *to, const float *in, hr_filter f, int64_t n, int64_t first, int64_t count, int64_t stride, int wide);

// Each sample that comes out is the mean of a pair: n of them.
void hr_sound_mean(float *to, const float *pairs, int64_t n);

#endif
