// Resampling of rows as they come: each is made narrow at once, while it is in the first-level cache, and the rows of the
// result are written as soon as all that they need has come.
#ifndef HEADRACE_STREAM_H
#define HEADRACE_STREAM_H

#include "kernels.h"
#include "memory.h"

// Rows handed to a stream at once, at most.
#define HR_ROWS 4

typedef struct {
	const hr_kernels *kernels;
	hr_axis x, y;
	uint64_t version; // of the axis that packed was made from
	uint8_t *dst;
	ptrdiff_t stride;
	int first; // input row that comes first
	int last;  // input row after the last that is needed
	int next;  // input row that comes next
	int out;   // spans of y that are done
	// Rows between the passes: a ring of as many as the longest span and one delivery need.
	int ring, width;
	hr_buffer packed, between, taps;
} hr_stream;

// Begins a picture. Returns 0 if there is no memory.
int hr_stream_begin(hr_stream *s, const hr_kernels *k, hr_axis x, hr_axis y, uint8_t *dst, ptrdiff_t stride);
// Takes the next n rows, with HR_PAD readable bytes behind each.
void hr_stream_rows(hr_stream *s, const uint8_t *const *rows, int n);
void hr_stream_trim(hr_stream *s);
void hr_stream_free(hr_stream *s);

#endif
