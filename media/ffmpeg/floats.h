#ifndef HEADRACE_FFMPEG_FLOATS_H
#define HEADRACE_FFMPEG_FLOATS_H

#include <stddef.h>
#include <stdint.h>

// hr_floats writes n samples as floats from -1 to 1, each a stride after the one before.
// Type is one of Go's Sample.
void hr_floats(float *to, size_t stride, const void *from, size_t n, int type);

// hr_pairs writes those of two channels in turns.
void hr_pairs(float *to, const void *left, const void *right, size_t n, int type);

#endif
