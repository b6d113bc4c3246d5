// A decoder of JPEG of another make that takes libjpeg's place up to rows of pixels, or
// of planes. What follows is the same for both.
#ifndef HEADRACE_FRONT_H
#define HEADRACE_FRONT_H

#include <stddef.h>
#include <stdint.h>
#include "shape.h"

// A row of MCUs of a picture's planes.
typedef struct {
	const uint8_t *rows[3][32]; // with HR_PAD readable bytes behind each
	int row[3], n[3];           // which row of the plane comes first, and how many there are
	int from[3];                // the sample that rows begin with
} hr_band;

// Samples of planes that are needed: of the first, and of the two others.
typedef struct {
	int x[2], y[2], width[2], height[2];
} hr_region;

// A picture is described by a header, of which only these functions know what it is. They
// return 0 where there is any doubt: then libjpeg begins anew, and its word counts.
typedef struct {
	// Makes what decodes one picture after the other, with memory from take. Returns NULL
	// if there is none.
	void *(*create)(void *(*take)(size_t), void (*release)(void *));
	void (*destroy)(void *front);
	// Begins a part of a picture, in pixels, with the kernels of that name.
	int (*begin)(void *front, const void *header, const char *kernels, const uint8_t *src, size_t n, int left, int top, int cols, int rows);
	// Writes the next n rows of RGB.
	int (*rows)(void *front, uint8_t *const *rows, int n);
	// Says what planes there are at so many eighths of the size.
	int (*shape)(const void *header, int eighths, hr_shape *shape);
	// Begins the planes, and hands over one band after the other.
	int (*begin_planes)(void *front, const void *header, const char *kernels, const uint8_t *src, size_t n, int eighths, const hr_region *needed);
	int (*band)(void *front, hr_band *band);
	// Gives memory back that only a large picture needed.
	void (*end)(void *front);
} hr_front;

#endif
