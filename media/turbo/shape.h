#ifndef HEADRACE_SHAPE_H
#define HEADRACE_SHAPE_H

#include <stdint.h>

// What a JPEG is like that is to be decoded to planes, at a size reduced by the inverse
// transform.
typedef struct {
	int32_t planes;                          // 1 or 3; 0: it has to be decoded otherwise
	int32_t width[2], height[2];             // of the first plane, and of the two others
	int32_t across[2], down[2];              // samples of each for so many pixels of the picture:
	int32_t pixels_across, pixels_down;
	int32_t kind;                            // HR_YCC, HR_RGB or HR_GRAY
} hr_shape;

enum { HR_YCC, HR_RGB, HR_GRAY }; // what planes are

#endif
